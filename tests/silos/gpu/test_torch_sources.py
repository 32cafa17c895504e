"""Where points lie: which clients and rows a sum is given."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.gpu import torch_sources
from feddp_kmeans.silos.gpu.torch_sources import Source, joined, points_of, present_clients, present_rows, sources_of

CPU = torch.device("cpu")
POINTS = torch.arange(20.0).reshape(10, 2)


def test_clients_come_whole_and_none_that_the_cohort_leaves_out():
    source = Source(POINTS, np.array([0, 3, 3, 4, 10]), CPU)
    found = [(len(points), sizes.tolist()) for points, sizes in source.clients(4, 2, None, CPU)]
    assert found == [(3, [3, 0]), (1, [1]), (6, [6])]
    chosen = list(source.clients(100, 100, np.array([False, True, True, True]), CPU))
    assert [(points[:, 0].tolist(), sizes.tolist()) for points, sizes in chosen] == [(POINTS[3:, 0].tolist(), [0, 1, 6])]
    assert not list(source.clients(100, 1, np.zeros(4, dtype=bool), CPU))


def test_small_clients_are_joined_up_to_a_number_of_rows_and_of_clients():
    ones = [(POINTS[:1], np.array([1])), (POINTS[:0], np.array([0])), (POINTS[:9], np.array([4, 5]))]
    assert [sizes.tolist() for _, sizes in joined(ones, 10, 10)] == [[1, 0, 4, 5]]
    assert [sizes.tolist() for _, sizes in joined(ones, 9, 10)] == [[1, 0], [4, 5]]
    assert [sizes.tolist() for _, sizes in joined(ones, 1, 1)] == [[1], [0], [4, 5]]
    assert not list(joined([], 1, 1))
    whole = torch.tensor([[2**24 + 1, 1]])
    ((both, _),) = joined([(POINTS[:1], np.array([1])), (whole, np.array([1]))], 9, 9)
    assert both[1].tolist() == [2**24 + 1, 1]


def test_small_tensors_become_one_table_and_keep_their_order():
    whole, tall = POINTS.to(torch.int64), torch.empty((1 << 21, 2), device="meta")
    sources = sources_of([POINTS[:4], POINTS[4:4], POINTS[4:], whole, tall, POINTS], CPU)
    assert [source.sizes.tolist() for source in sources] == [[4, 0, 6], [10], [1 << 21], [10]]
    assert torch.equal(sources[0].points, POINTS)
    assert sources[2].points is tall


def test_small_tensors_stay_where_they_are_if_there_is_no_room_for_a_copy(monkeypatch):
    monkeypatch.setattr(torch_sources, "_MOST_COPIED", 2 * POINTS.nbytes - 1)
    assert len(sources_of([POINTS, POINTS], CPU)) == 2


def test_rows_with_gaps_are_left_out_of_their_client_unless_they_are_filled():
    points = POINTS.clone()
    points[2, 0], points[3], points[9, 1] = np.nan, np.inf, -np.inf
    assert Source(points, np.array([0, 10]), CPU).finite[:, 0].tolist() == [0, 2, 8, 10, 12, 14, 16]
    sizes = np.array([3, 0, 1, 6])
    assert present_clients(points, sizes, filled=False)[1].tolist() == [2, 0, 0, 5]
    assert present_clients(points, sizes, filled=True)[1].tolist() == [3, 0, 0, 6]
    assert len(present_rows(points, filled=True)) == 9
    assert present_rows(POINTS, filled=False) is POINTS


def test_points_are_taken_as_they_are_where_torch_can_read_them(tmp_path):
    np.save(tmp_path / "points.npy", POINTS.numpy())
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    assert points_of(mapped, "X").data_ptr() == mapped.ctypes.data
    assert points_of(POINTS, "X") is POINTS
    assert points_of(mapped, "X", "cpu").data_ptr() == mapped.ctypes.data
    assert points_of([[1, 2]], "X").dtype == torch.float64
    for wrong in (sparse.eye(3), [1.0], [["a", "b"]]):
        with pytest.raises(FedDPError, match="X must"):
            points_of(wrong, "X")
