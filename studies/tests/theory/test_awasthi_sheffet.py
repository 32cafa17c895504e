"""Cluster(P) of Awasthi and Sheffet."""

import numpy as np
import pytest

from feddp_studies.theory.awasthi_sheffet import approximate_kmeans, awasthi_sheffet, is_clear, squared_distances, top_singular_vectors
from feddp_studies.theory.separated import same_partition, separated_mixture
from tests.variants import slow_after


@pytest.mark.parametrize("seed", slow_after(10, range(100)))
def test_a_separated_mixture_is_recovered_exactly_at_any_seed(seed):
    data = separated_mixture(seed, n=1000)
    assert same_partition(awasthi_sheffet(data.points, 4, seed=seed).labels, data.labels)


def test_one_third_is_the_default_margin_and_a_point_in_between_is_left_out():
    distances = squared_distances(np.array([[0.0], [1.0], [2.4], [2.6]]), np.array([[0.0], [10.0]]))
    labels = distances.argmin(axis=1)
    # |p| <= |10 - p| / 3 where p <= 2.5.
    assert is_clear(distances, labels, 1 / 3).tolist() == [True, True, True, False]
    assert is_clear(distances, labels, 1.0).all()
    assert is_clear(distances, labels, 0.0).tolist() == [True, False, False, False]


def test_the_margin_decides_which_points_part_2_averages():
    # Ten points at 0, one at 4 and ten at 10: with Lloyd's steps cut off, the point at 4 counts only without the margin.
    points = np.concatenate([np.zeros(10), [4.0], np.full(10, 10.0)])[:, None]
    strict, loose = (awasthi_sheffet(points, 2, margin=m, most_steps=0).centers.min() for m in (1 / 3, 1.0))
    assert strict == 0.0
    assert loose == pytest.approx(4 / 11)


def test_one_cluster_is_the_mean():
    points = np.random.default_rng(0).standard_normal((50, 3))
    found = awasthi_sheffet(points, 1)
    np.testing.assert_allclose(found.centers[0], points.mean(axis=0))
    assert (found.labels == 0).all()


def test_copies_of_one_point_give_that_point():
    found = awasthi_sheffet(np.ones((8, 2)), 3)
    np.testing.assert_allclose(found.centers, 1.0)


def test_singular_vectors_are_the_same_for_wide_and_tall_tables():
    rng = np.random.default_rng(1)
    table = rng.standard_normal((7, 12)) * np.arange(1, 13)
    wide = top_singular_vectors(table, 3)
    tall = top_singular_vectors(np.vstack([table, np.zeros((20, 12))]), 3)
    np.testing.assert_allclose(np.abs(wide.T @ tall), np.eye(3), atol=1e-8)


def test_the_short_k_means_for_small_clients_finds_planted_centers():
    data = separated_mixture(3, n=200, dimension=3)
    short, long = (approximate_kmeans(data.points, 4, 0, restarts) for restarts in (1, 30))
    np.testing.assert_allclose(np.sort(short, axis=0), np.sort(long, axis=0), atol=1e-9)
    assert np.abs(np.sort(long, axis=0) - np.sort(data.means, axis=0)).max() < 1
