"""K-means of very many clusters: exact Lloyd steps, whatever is skipped, and centers that reach every cluster."""

from copy import copy

import numpy as np
import pytest
from scipy.spatial import distance

from feddp_kmeans.algorithm import many_centers as module
from feddp_kmeans.algorithm.breathing import breathe
from feddp_kmeans.algorithm.many_centers import Partition, many_centers


def whole_cost(points, weights, centers):
    return float(weights @ distance.cdist(points, centers, "sqeuclidean").min(axis=1))


def two_nearest(partition):
    return np.sort(distance.cdist(partition.points + partition._middle, partition.centers, "sqeuclidean"), axis=1)[:, :2]


@pytest.fixture(params=[(2, 0), (2, 10**6), (7, 0)], ids=["tree", "no tree", "columns"])
def partition(request, rng, monkeypatch):
    dimension, least = request.param
    monkeypatch.setattr(module, "_WORTH_A_TREE", least)
    points = 100 + rng.random((3000, dimension))
    return Partition(points, rng.random(3000), points[:60])


def test_the_two_nearest_centers_are_known_after_any_change(partition, rng):
    partition.settle()
    assert partition.distances == pytest.approx(two_nearest(partition), abs=1e-9)
    for _ in range(5):
        partition.add(partition.points[rng.choice(3000, 4, replace=False)])
        assert partition.distances == pytest.approx(two_nearest(partition), abs=1e-9)
        partition.remove(rng.choice(64, 4, replace=False))
        assert partition.distances == pytest.approx(two_nearest(partition), abs=1e-9)
        partition.settle()
        assert partition.distances == pytest.approx(two_nearest(partition), abs=1e-9)
    assert partition.cost == pytest.approx(whole_cost(partition.points + partition._middle, partition.weights, partition.centers), rel=1e-9)


def test_settled_centers_are_the_means_of_their_points(partition, monkeypatch):
    monkeypatch.setattr(partition, "_stop", -1.0)
    monkeypatch.setattr(module, "_MOST_STEPS", 1000)
    partition.settle()
    members = distance.cdist(partition.points, partition._centers).argmin(axis=1)
    for cluster in np.unique(members):
        own = members == cluster
        mean = np.average(partition.points[own], axis=0, weights=partition.weights[own])
        assert partition._centers[cluster] == pytest.approx(mean, abs=1e-9)


def test_a_center_without_points_stays_where_it_is():
    points = np.array([[0.0, 0], [1, 0], [0, 1], [9, 9]])
    partition = Partition(points, np.ones(4), np.array([[0.0, 0], [9, 9], [50, 50]]))
    partition.settle()
    assert partition.centers == pytest.approx(np.array([[1 / 3, 1 / 3], [9, 9], [50, 50]]))


def test_a_copy_changes_on_its_own(partition):
    before, cost = partition.centers, partition.cost
    other = copy(partition)
    other.add(other.points[:5])
    other.settle()
    other.remove(np.arange(3))
    assert np.array_equal(partition.centers, before)
    assert partition.cost == cost


@pytest.mark.parametrize("dimension", [2, 10])
def test_every_one_of_many_clusters_is_found(dimension):
    rng = np.random.default_rng(5)
    middles = rng.random((300, dimension)) if dimension > 2 else np.array([[x, y] for x in range(20) for y in range(15)], dtype=float)
    points = np.repeat(middles, 10, axis=0) + rng.normal(0, 0.03, (3000, dimension))
    found = many_centers(points, np.ones(3000), 300, 0)
    assert distance.cdist(middles, found).min(axis=1).max() < 0.1


def test_it_costs_no_more_than_moving_centers_with_all_distances():
    """The mean over seeds: single ones end in other local optima, up to a percent apart."""
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        points = rng.random((150, 2))[rng.integers(150, size=3000)] + rng.normal(0, 0.02, (3000, 2))
        weights = rng.random(3000)
        other = breathe(points, weights, points[rng.choice(3000, 150, replace=False)], seed)
        ratios.append(whole_cost(points, weights, many_centers(points, weights, 150, seed)) / whole_cost(points, weights, other))
    assert np.mean(ratios) < 1.01


def test_points_in_the_same_places_still_give_all_centers(rng):
    points = np.repeat(rng.random((140, 2)), 5, axis=0)
    found = many_centers(points, np.ones(700), 139, 1)
    assert found.shape == (139, 2)
    assert np.isfinite(found).all()
    assert np.array_equal(found, many_centers(points, np.ones(700), 139, 1))
