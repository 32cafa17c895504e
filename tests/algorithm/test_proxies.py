"""Points that stand for the clients': directions, variances, candidates and their weights."""

import numpy as np
import pytest

from feddp_kmeans.algorithm import proxies


def test_a_noisy_direction_is_believed_as_far_as_it_points_the_right_way(rng):
    d, noise = 60, 0.05
    upper = np.triu(rng.standard_normal((d, d)), 1) / 2**0.5
    wigner = noise * (upper + upper.T + np.diag(rng.standard_normal(d)))
    truth = np.diag([3.0, 2.0] + [0.1] * (d - 2))
    shape = proxies.Shape.of(truth - np.eye(d) * np.trace(truth) / d + wigner, float(np.trace(truth)), noise, (0.0, 1e9))
    along = np.einsum("ij,ik,kj->j", shape.basis, truth, shape.basis)
    assert shape.along[:2] == pytest.approx(along[:2], rel=0.15)
    assert shape.rank(1) == 2
    assert shape.rank(5) == 5


def test_candidates_are_as_many_as_noise_allows_and_gather_where_the_weight_is(rng):
    assert proxies.n_candidates(1e5, 100.0, 10) == 1000
    assert proxies.n_candidates(1e4, 100.0, 10) == 100
    assert proxies.n_candidates(10.0, 100.0, 10) == 60
    first = proxies.first_candidates(rng, 500, np.array([4.0, 1.0]))
    weights = np.where(first[:, 0] > 1, 1.0, 0.0)
    assert proxies.resampled(rng, first, weights, np.array([4.0, 1.0]))[:, 0].mean() > 1
    assert proxies.credible_counts(np.array([1.0, -4, 90, 80]), 10.0, 2, 1.5).tolist() == [0, 0, 90, 80]
    assert (proxies.credible_counts(np.array([1.0, -4, 90, 80]), 10.0, 3, 1.5) > 0).all()
