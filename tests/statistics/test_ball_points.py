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
