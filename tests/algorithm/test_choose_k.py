"""The elbow."""

import numpy as np
import pytest

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.algorithm.choose_k import elbow_curve, pick_elbow


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [3, 5, 8])
def test_planted_clusters_are_counted(k, seed):
    rng = np.random.default_rng(seed)
    means = 30 * rng.standard_normal((k, 6))
    points = np.repeat(means, 20, axis=0) + rng.standard_normal((20 * k, 6))
    costs = elbow_curve(points, np.ones(len(points)), range(1, 2 * k + 1), seed)
    assert (np.diff(costs) < 1e-9).all()
    assert pick_elbow(range(1, 2 * k + 1), costs) == k


def test_points_without_weight_have_no_say():
    points = np.array([[0.0], [1.0], [1000.0]])
    costs = elbow_curve(points, np.array([1.0, 1.0, 0.0]), [1, 2, 3], 0)
    assert costs == pytest.approx([0.25, 0.0, 0.0])


def test_two_numbers_have_no_elbow():
    with pytest.raises(FedDPError, match="cluster_numbers must be at least three"):
        pick_elbow([1, 2], np.array([2.0, 1.0]))
