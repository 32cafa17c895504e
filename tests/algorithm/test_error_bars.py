"""Stated errors of centers: as large as noise, shrinkage and centers that have not come to rest make them."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.error_bars import blocks, center_variances, error_at_origins
from feddp_kmeans.algorithm.server import filtered
from feddp_kmeans.algorithm.tuning import ERROR_BARS

K, D = 8, 30


def test_blocks_cover_all_coordinates_once():
    for dimension in (1, 3, 10, 64):
        covered = [np.arange(dimension)[block] for block in blocks(dimension, 4)]
        assert np.array_equal(np.concatenate(covered), np.arange(dimension))


def look(seed, spread, noise):
    """Return a basis, the true errors of k origins and one noisy look at them, in the basis."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((D, D)))[0]
    errors = rng.standard_normal((K, D)) * spread
    return basis, errors, errors + rng.standard_normal((K, D)) * np.sqrt(noise)[:, None]


@pytest.mark.parametrize("spread", [0.03, 0.3, 1.0, 10.0, 100.0])
def test_stated_variances_hold_the_error_that_is_left(spread):
    """Fixed seeds: nothing is left to chance. Errors far below the noise are stated as a part of the noise, not as zero."""
    noise, left_over, stated = np.linspace(0.5, 2, K), 0.0, 0.0
    for seed in range(40):
        basis, errors, means = look(seed, spread, noise)
        moves, left = filtered(means, noise, K, np.full(D, np.inf))
        # The mean follows the center by a part of its move.
        rest = errors - (1 - ERROR_BARS.following) * moves
        left_over += np.square(rest @ basis.T).mean()
        stated += center_variances(means, noise, left, np.zeros((K, D)), basis, first=K).mean()
    assert stated > left_over * 0.95
    assert stated < 2.5 * left_over + 40 * noise.mean() / 4


def test_without_noise_only_what_the_mean_follows_is_left():
    basis, errors, _ = look(0, 1.0, np.zeros(K))
    stated = center_variances(errors, np.zeros(K), np.zeros((K, D)), np.zeros((K, D)), basis, first=K)
    assert 1 <= stated.mean() / (ERROR_BARS.following**2 * np.square(errors).mean()) < 1.3


def test_a_cluster_that_has_not_come_to_rest_stands_out():
    _, _, means = look(1, 0.0, np.ones(K))
    means[3] += 5.0
    found = error_at_origins(means, np.ones(K), np.zeros((K, D)), K).mean(axis=1)
    assert found[3] > 15
    assert np.delete(found, 3).max() < 5


def test_known_error_and_bias_are_stated():
    basis, _, means = look(2, 0.0, np.ones(K))
    known = np.full((K, D), 100.0)
    assert (error_at_origins(means, np.ones(K), known, K) >= 100).all()
    frozen = center_variances(means, np.ones(K), np.zeros((K, D)), known, basis, first=K)
    assert frozen.mean() == pytest.approx(100, rel=1e-9)
    biased = center_variances(means, np.ones(K), np.zeros((K, D)), known, basis, first=K, bias=30.0)
    assert biased - frozen == pytest.approx(30.0 / D)
