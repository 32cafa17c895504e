"""Texts of many people as points."""

import numpy as np
import pytest

from feddp_kmeans.errors import InputError
from feddp_kmeans.text_tables import TextTables

HOW = {"most_listed": 10, "most": 3}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "a.csv").write_text("title\nvisa visa rome\n\nflight\n")
    (tmp_path / "people" / "b.csv").write_text("title\nrome\n")
    (tmp_path / "all.csv").write_text("who,title\n1,visa visa rome\n2,rome\n1,flight\n")
    (tmp_path / "public.csv").write_text("title\n" + "visa rome\nflight rome\nvisa flight\n" * 3)
    return tmp_path


def test_files_and_one_table_give_the_same_points(folder):
    files = TextTables.open(str(folder / "people"), folder / "public.csv", "title", None, "tfidf", None, None, **HOW)
    table = TextTables.open(str(folder / "all.csv"), folder / "public.csv", "title", "who", "tfidf", None, None, **HOW)
    assert files.both.n_clients == table.both.n_clients == 2
    assert files.vectors.dimension == len(files.columns) == files.both.dimension - 3
    assert files.words.listed == table.words.listed
    assert set(files.words.listed) == {"visa", "rome", "flight"}
    assert files.public.shape == (9, files.vectors.dimension)
    assert (files.public == table.public).all()
    assert np.isfinite(files.public).all()


def test_public_texts_without_common_words_are_refused(folder):
    (folder / "public.csv").write_text("title\nvisa\nrome\n")
    with pytest.raises(InputError, match="public texts must share some words"):
        TextTables.open(str(folder / "people"), folder / "public.csv", "title", None, "tfidf", None, None, **HOW)
