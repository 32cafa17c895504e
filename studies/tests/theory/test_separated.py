"""Separated mixtures, and the error of centers."""

import numpy as np
import pytest

from feddp_studies.theory.assumptions import separation_constant
from feddp_studies.theory.separated import center_errors, labels_of, same_partition, separated_mixture


def test_the_means_are_exactly_as_far_apart_as_asked():
    data = separated_mixture(0, n=500, k=3, dimension=2, constant=0.7, per_component=2)
    assert separation_constant(data.means, np.full(3, 1 / 3), 1.0, 500) == pytest.approx(0.7)
    assert data.points.shape == (500, 2)
    assert data.server.shape == (6, 2)
    assert data.sizes.sum() == data.facts.n_points == 500
    np.testing.assert_allclose(data.sizes @ data.sample_means, data.points.sum(axis=0))


def test_errors_are_those_of_the_best_matching_and_a_missed_mean_is_not_hidden():
    means = np.array([[0.0], [10.0]])
    assert center_errors(means, np.array([[11.0], [0.5]])).tolist() == [0.5, 1.0]
    assert center_errors(means, np.array([[0.0], [0.1]])).max() == pytest.approx(9.9)


def test_partitions_are_the_same_up_to_names():
    assert same_partition(np.array([0, 0, 1]), np.array([5, 5, 2]))
    assert not same_partition(np.array([0, 0, 1]), np.array([5, 2, 2]))
    assert labels_of(np.array([[0.0], [9.0]]), np.array([[10.0], [1.0]])).tolist() == [1, 0]
