"""A scene is what its docstrings say, and is drawn once."""

import numpy as np
import pytest

from feddp_studies.theory.lemma_scene import LemmaScene, cost

SCENE = LemmaScene(0, n=2000, per_component=10)


def test_the_projection_is_one_and_loses_no_less_than_the_best():
    np.testing.assert_allclose(SCENE.projection @ SCENE.projection, SCENE.projection, atol=1e-9)
    assert np.trace(SCENE.projection) == pytest.approx(4)
    assert (SCENE.loss >= 0).all()


def test_norms_and_costs_are_those_of_numpy():
    assert SCENE.spectral == pytest.approx(np.linalg.norm(SCENE.offsets, 2))
    assert SCENE.radius == pytest.approx(np.linalg.norm(SCENE.mixture.points, axis=1).max())
    assert cost(np.array([[0.0], [3.0]]), np.array([[1.0], [5.0]])) == 5.0


def test_every_client_point_is_counted_once():
    assert SCENE.weights(np.arange(7)).sum() == 2000


def test_the_same_seed_draws_the_same_noise_and_another_does_not():
    again, other = (LemmaScene(seed, n=2000, per_component=10) for seed in (0, 1))
    assert np.array_equal(again.frozen(), SCENE.frozen())
    np.testing.assert_array_equal(again.start, SCENE.start)
    assert not np.array_equal(other.start, SCENE.start)
    assert SCENE.noise("a").random() != SCENE.noise("b").random()


def test_part_1_with_little_noise_starts_near_the_means():
    sure = LemmaScene(0, n=2000, per_component=10, epsilon=1000.0)
    assert cost(sure.mixture.means, sure.start) < 4 < cost(SCENE.mixture.means, SCENE.start)
