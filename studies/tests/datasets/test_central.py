"""Central data sets."""

import numpy as np
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets.central import central_data, digits, load_central


def save(path, **changes):
    stored = {"X": np.eye(3, dtype=np.float32), "k": 2, "lo": np.zeros(3), "hi": np.ones(3)} | changes
    np.savez(path, **{key: value for key, value in stored.items() if value is not None})
    return path


def test_a_file_with_a_box(tmp_path):
    data = load_central(save(tmp_path / "made.npz", center=np.full(3, 0.5)))
    assert np.array_equal(data.points, np.eye(3))
    assert data.points.dtype == np.float64
    assert (data.k, data.name) == (2, "made")
    assert (data.low.tolist(), data.high.tolist()) == ([0, 0, 0], [1, 1, 1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hi": None}, "made.npz must be an .npz file with the keys X, k, lo and hi"),
        ({"X": np.zeros(3)}, "X of made.npz must have two dimensions"),
        ({"hi": np.full(3, 0.5)}, "X of made.npz must lie in the box"),
        ({"X": np.full((2, 3), np.nan)}, "X of made.npz must lie in the box"),
        ({"lo": np.zeros(2)}, "lo and hi of made.npz must hold 3 numbers"),
        ({"X": np.array([[{}]], dtype=object)}, "made.npz must be an .npz file"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, changes, message):
    with pytest.raises(FedDPError, match=message):
        load_central(save(tmp_path / "made.npz", **changes))


def test_what_is_no_npz_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("text")
    np.save(tmp_path / "array.npy", np.zeros(3))
    for name in ("none.npz", "text.npz", "array.npy"):
        with pytest.raises(FedDPError, match=r"must be an \.npz file"):
            load_central(tmp_path / name)


def test_digits_lie_in_the_unit_cube():
    data = digits()
    assert data.points.shape == (1797, 64)
    assert (data.points.min(), data.points.max(), data.k, data.name) == (0, 1, 10, "digits")
    assert (data.low == 0).all()
    assert (data.high == 1).all()


def test_another_number_of_clusters_than_the_file_states_is_refused(tmp_path):
    (tmp_path / "central").mkdir()
    save(tmp_path / "central" / "made.npz")
    assert len(central_data(tmp_path, name="made", k=2, seed=0).clients) == 1
    with pytest.raises(FedDPError, match="k of made must be 2, as its file says, got 3"):
        central_data(tmp_path, name="made", k=3, seed=0)


@pytest.mark.parametrize(("name", "shape", "k"), [("gas", (36_733, 11), 10), ("letter", (20_000, 16), 10), ("s1", (5_000, 2), 15)])
def test_the_real_files(real, name, shape, k):
    data = load_central(real(f"central/{name}.npz"))
    assert (data.points.shape, data.k, data.name) == (shape, k, name)
