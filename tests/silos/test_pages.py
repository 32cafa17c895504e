"""Pages of mapped files are given back, and only theirs."""

import numpy as np

from feddp_kmeans.silos import pages
from feddp_kmeans.silos.pages import ReadPages, _mapped_file


def test_pages_are_given_back_only_where_the_file_holds_them(tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, np.ones((4, 2)))
    assert _mapped_file(np.asarray(np.load(path, mmap_mode="r"))[1:]) is not None
    changed = np.load(path, mmap_mode="c")
    changed[0] = 7.0
    assert _mapped_file(changed[1:]) is None
    assert _mapped_file(np.ones((4, 2))) is None


def test_pages_are_given_back_whenever_enough_were_read_and_the_numbers_stay(tmp_path, monkeypatch):
    np.save(tmp_path / "points.npy", np.arange(8.0).reshape(4, 2))
    table = np.load(tmp_path / "points.npy", mmap_mode="r")
    monkeypatch.setattr(pages, "_HELD_BYTES", 32)
    read, held = ReadPages(table), []
    for start in range(4):
        read.add(table[start : start + 1])
        held.append(read._held)
    assert held == [16, 0, 16, 0]
    assert table.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
