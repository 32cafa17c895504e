"""Exact sums of labelled points: on a GPU, the integers of numpy for any number of columns, labels and rows."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu.tallies import LabelledPoints
from feddp_kmeans.statistics.fixed_point import RESOLUTION

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


def on_gpu(points, labels):
    return LabelledPoints(
        torch.as_tensor(points.astype(np.float32), device="cuda"),
        torch.zeros(points.shape[1], dtype=torch.float64, device="cuda"),
        float(RESOLUTION),
        torch.as_tensor(labels.astype(np.int32), device="cuda"),
    )


def test_a_part_of_the_rows_has_their_labels():
    points = LabelledPoints(torch.arange(8).reshape(4, 2), torch.zeros(2), 1.0, torch.tensor([5, 6, 7, 8]))
    part = points.part(slice(1, 3))
    assert part.points.tolist() == [[2, 3], [4, 5]]
    assert part.labels.tolist() == [6, 7]
    assert (part.center is points.center, part.radius) == (True, 1.0)


@needs_gpu
@pytest.mark.parametrize(("d", "k"), [(1, 1), (3, 16), (33, 1024), (64, 100), (100, 4000), (768, 10), (130, 8000)])
@pytest.mark.parametrize("n", [1, 1023, 1025, 70_001])
def test_the_integers_are_those_of_numpy(n, d, k, rng):
    points, origins = rng.integers(-9000, 9001, (n, d)), rng.integers(-9000, 9001, (k, d))
    labels = rng.integers(0, k + 1, n) if n != 1025 else np.full(n, k - 1)  # those with the label k do not count
    weights = rng.integers(0, 50_000, n)
    there = on_gpu(points, labels)
    weighted = there.weighted_sums(torch.as_tensor(origins.astype(float), device="cuda"), torch.as_tensor(weights * 1.0, device="cuda"))
    squares = there.squares(torch.as_tensor(origins.astype(float), device="cuda")).cpu().numpy()
    counted = labels < k
    points, labels, weights, squares = points[counted], labels[counted], weights[counted], squares[counted]
    plain, residuals = np.zeros((2, k, d), dtype=np.int64)
    np.add.at(plain, labels, points)
    np.add.at(residuals, labels, weights[:, None] * (points - origins[labels]))
    assert np.array_equal(there.sums(k).cpu().numpy(), plain)
    assert np.array_equal(weighted.cpu().numpy(), residuals)
    assert np.array_equal(squares, np.square(points - origins[labels]).sum(axis=1))


@needs_gpu
@pytest.mark.parametrize("n", [3_000_001])
def test_sums_of_many_rows_are_flushed_in_time(n):
    """Every row adds as much as it may, and all of them to one number."""
    there = on_gpu(np.full((n, 2), float(RESOLUTION)), np.zeros(n))
    assert there.sums(1).tolist() == [[n * RESOLUTION, n * RESOLUTION]]
    origins, weights = (
        torch.zeros((1, 2), dtype=torch.float64, device="cuda"),
        torch.full((n,), 2.0**14, dtype=torch.float64, device="cuda"),
    )
    for sign in (1, -1):
        turned = LabelledPoints(sign * there.points, there.center, there.radius, there.labels)
        assert turned.weighted_sums(origins, weights).tolist() == [[sign * n * 2**30] * 2]
