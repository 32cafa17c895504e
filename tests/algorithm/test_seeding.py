"""Starting centers: those that scikit-learn draws."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from feddp_kmeans.algorithm.seeding import Seeding, seeding_of


@pytest.mark.parametrize(("n", "d", "k"), [(12, 1, 3), (60, 2, 1), (300, 7, 25), (600, 100, 10)])
@pytest.mark.parametrize("ties", [False, True])
def test_restarts_find_the_centers_that_they_find_with_scikit_learns_own(n, d, k, ties, rng):
    points = np.rint(rng.standard_normal((n, d)) * 3) if ties else 100 + rng.standard_normal((n, d))
    points[:k] += 9 * np.arange(k)[:, None]  # as many different ones as centers
    weights = rng.random(n) ** 3 + 1e-6
    for seed in range(5):
        ours, theirs = (
            KMeans(k, init=init, n_init=4, random_state=seed, max_iter=20).fit(points, sample_weight=weights)
            for init in (seeding_of(weights), "k-means++")
        )
        assert np.array_equal(ours.cluster_centers_, theirs.cluster_centers_)


def test_pairs_of_many_points_are_not_kept():
    assert isinstance(seeding_of(np.ones(2048)), Seeding)
    assert seeding_of(np.ones(2049)) == "k-means++"


def test_points_that_are_all_alike_can_be_drawn():
    assert Seeding(np.ones(4))(np.zeros((4, 2)), 3, np.random.RandomState(0)).shape == (3, 2)
