"""Points that kernels encode as they go: the same numbers as those of encoded points."""

import numpy as np
import pytest

from feddp_kmeans.statistics.ball_points import BallPoints
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.nearest import score_error
from tests.statistics.engines import needs_kernels

pytestmark = needs_kernels


@pytest.fixture(params=[(0, 3), (1, 1), (77, 5), (300, 40)], ids=str)
def points(request, rng):
    """Points of which some are beyond the ball."""
    n, d = request.param
    return BallPoints(3 * rng.standard_normal((n, d)).astype(np.float32), Ball(np.full(d, 0.2), 3.0 * d**0.5))


@pytest.mark.parametrize("k", [1, 4, 33])
def test_points_are_labelled_and_added_as_if_they_were_encoded(points, k, rng):
    encoded, (n, d) = points.dense(), points.shape
    targets = np.rint(rng.standard_normal((k, d)) * 2.0**14)
    distances = np.square(encoded[:, None] - targets).sum(axis=2)
    found = points.labelled(targets, score_error(d))
    assert np.array_equal(found.labels, distances.argmin(axis=1))
    assert np.array_equal(found.squares, distances.min(axis=1))
    assert found.size == 2 * n
    chosen, weights = np.eye(k)[found.labels], rng.integers(0, 1 << 25, n).astype(np.float64)
    assert np.array_equal(points.nearest_sums(targets, score_error(d)), chosen.T @ encoded)
    assert np.array_equal(points.weighted_sums(weights, found.labels, k), (weights[:, None] * chosen).T @ encoded)
    assert np.array_equal(points.products_with(targets, found.labels), np.einsum("ij,ij->i", encoded, targets[found.labels]))


@pytest.mark.parametrize("bound", [0.5, 3.0, 2.0**14, 2.0**30])
@pytest.mark.parametrize(("count_weight", "square_weight"), [(0.5, 0.0), (2.0**12, 2.0**-9)])
def test_residuals_are_added_as_if_points_were_encoded(points, bound, count_weight, square_weight):
    d, most = points.shape[1], float(2**30 - 1)
    targets = np.resize(points.dense(), (5, d))
    sums, numbers = points.residual_sums(targets, score_error(d), (most, bound, count_weight, square_weight))
    residuals = points.dense()[:, None] - targets
    chosen = np.eye(5, dtype=np.int64)[np.square(residuals).sum(axis=2).argmin(axis=1)]
    squares = np.square(residuals).sum(axis=2).min(axis=1)
    factors = np.floor(most / np.maximum(bound, np.sqrt(squares + np.square(square_weight * squares) + count_weight**2)))
    weighted = np.column_stack([factors, np.trunc(factors * (square_weight * squares)), np.trunc(factors * count_weight)])
    assert np.array_equal(sums, chosen.T @ (factors.astype(np.int64)[:, None] * points.dense().astype(np.int64)))
    assert np.array_equal(numbers, chosen.T @ weighted.astype(np.int64))


def test_sums_of_many_equal_points_at_a_center_are_exact():
    points = BallPoints(np.full((999, 2), 0.7), Ball(np.zeros(2), 1.0))
    targets, factor = points.dense()[:1], 2**31 - 1
    sums, numbers = points.residual_sums(targets, score_error(2), (float(factor), 0.5, 1.0, 0.0))
    assert sums.tolist() == [[999 * factor * int(number) for number in targets[0]]]
    assert numbers.tolist() == [[999 * factor, 0, 999 * factor]]


def test_other_numbers_of_points_are_those_of_encoded_ones(points, rng):
    encoded, (n, d) = points.dense(), points.shape
    assert len(points) == n
    assert points.size == 0  # nothing is held in addition to the points
    assert np.array_equal(points[3:20].dense(), encoded[3:20])
    assert np.array_equal(points.squared_norms(), np.square(encoded).sum(axis=1))
    assert np.array_equal(points.gram(), encoded.T @ encoded)
    scales, matrix = rng.uniform(0, 2, n), rng.integers(-5, 5, (d, 2)).astype(np.float64)
    assert np.array_equal(points.scaled(scales), np.rint(encoded * scales[:, None]))
    assert np.array_equal(points @ matrix, encoded @ matrix)
