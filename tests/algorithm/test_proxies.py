"""What a noisy second moment shows: directions and variances."""

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
    assert shape.visible == pytest.approx(sum(along[:2]) / shape.trace, abs=0.1)


def test_directions_of_usual_variance_are_not_in_the_subspace_however_little_noise_there_is():
    variances = np.array([3.0, 2.0] + [0.5] * 18)
    shape = proxies.Shape.of(np.diag(variances - variances.mean()), float(variances.sum()), 1e-6, (0.0, 1e9))
    assert shape.rank(2) == 2
    assert shape.visible == pytest.approx((5 - 2 * variances.mean()) / variances.sum(), rel=1e-3)
