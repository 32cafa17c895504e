"""SimplifyServerData: server data crowded at one cluster."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.server import weighted_kmeans
from feddp_studies.theory.separated import labels_of
from feddp_studies.theory.simplify import freezing_threshold, simplify_rounds, simplify_server_data

N, CROWD, K, EPSILON = 12_000, 2_000, 4, 1.0
MEANS = 60.0 * np.eye(K)
RNG = np.random.default_rng(7)
POINTS = MEANS[RNG.choice(K, N)] + RNG.standard_normal((N, K))
# 2,000 server points at the first cluster, one at each other.
CROWDED = np.vstack([MEANS[0] + RNG.standard_normal((CROWD, K)), MEANS[1:] + RNG.standard_normal((K - 1, K))])


def noisy_counts(candidates, scale, rng):
    exact = np.bincount(labels_of(POINTS, CROWDED[candidates]), minlength=len(candidates))
    return exact + rng.laplace(scale=scale, size=len(candidates))


def worst_gap(centers):
    """How far the worst-served mean is from its nearest center."""
    return np.linalg.norm(MEANS[:, None] - centers[None], axis=2).min(axis=1).max()


@pytest.mark.parametrize("seed", range(3))
def test_every_cluster_keeps_a_good_point_where_plain_weights_lose_the_crowded_one(seed):
    rng = np.random.default_rng(seed)
    rounds = simplify_rounds(len(CROWDED), EPSILON, 1 / K)
    threshold = freezing_threshold(rounds, len(CROWDED), N, EPSILON)
    frozen = simplify_server_data(
        len(CROWDED), lambda candidates: noisy_counts(candidates, (rounds + 2) / EPSILON, rng), rounds, threshold, seed
    )
    assert len(frozen) < 100
    assert worst_gap(CROWDED[frozen]) < 5
    weights = np.maximum(noisy_counts(frozen, (rounds + 2) / EPSILON, rng), 1e-9)
    assert worst_gap(weighted_kmeans(CROWDED[frozen], weights, K, seed)) < 5

    # The plain way: one noisy weight each, those below 2 log(n) / epsilon removed. All 2,000 of the crowd go.
    plain = noisy_counts(np.arange(len(CROWDED)), 1 / EPSILON, rng)
    heavy = plain > 2 * np.log(N) / EPSILON
    assert not heavy[:CROWD].any()
    assert worst_gap(weighted_kmeans(CROWDED, np.where(heavy, plain, 0.0), K, seed)) > 60


def test_without_noise_every_frozen_point_was_above_the_threshold_and_no_round_is_wasted():
    asked = []

    def exact(candidates):
        asked.append(len(candidates))
        return np.where(candidates < 3, 100.0, 1.0)

    assert simplify_server_data(3, exact, 50, 10.0, 0).tolist() == [0, 1, 2]
    assert asked == [3]
    assert simplify_server_data(40, exact, 50, 10.0, 0).tolist() == [0, 1, 2]
    assert len(asked) < 15


def test_rounds_and_threshold_of_the_paper():
    # T = 10 log(4 log 300 / (0.5 * 0.1)), rounded up.
    assert simplify_rounds(300, 0.5, 0.1) == int(np.ceil(10 * np.log(4 * np.log(300) / 0.05)))
    assert simplify_rounds(300, float("inf"), 0.1) == 1
    assert freezing_threshold(10, 300, 1000, 0.5) == pytest.approx(10 * np.log(3000) / 0.5)
    assert freezing_threshold(1, 2, 10**9, 1.0) == pytest.approx(2 * np.log(10**9))
