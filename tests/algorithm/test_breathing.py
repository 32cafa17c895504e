"""Breathing k-means: centers cross the space, and the cost never rises."""

import numpy as np
import pytest
from scipy.spatial import distance

from feddp_kmeans.algorithm.breathing import breathe

MIDDLES = np.array([[0.0, 0], [10, 0], [0, 10], [50, 50], [60, 50], [50, 60]])


def test_centers_that_start_in_the_wrong_place_reach_every_cluster(rng):
    points = np.repeat(MIDDLES, 20, axis=0) + rng.normal(0, 0.5, (120, 2))
    found = breathe(points, np.ones(120), MIDDLES[[0, 0, 1, 1, 2, 2]] + rng.normal(0, 0.1, (6, 2)), 0)
    assert distance.cdist(MIDDLES, found).min(axis=1).max() < 1


@pytest.mark.parametrize("seed", range(5))
def test_the_cost_does_not_rise(seed):
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(200, 3)), rng.random(200)
    start = points[:12]
    costs = [
        weights @ distance.cdist(points, centers, "sqeuclidean").min(axis=1) for centers in (start, breathe(points, weights, start, seed))
    ]
    assert costs[1] < costs[0]


def test_there_may_be_one_point_more_than_centers():
    found = breathe(np.array([[0.0], [1.0], [5.0]]), np.ones(3), np.array([[0.0], [1.0]]), 0)
    assert np.sort(found.ravel()) == pytest.approx([0.5, 5.0])
