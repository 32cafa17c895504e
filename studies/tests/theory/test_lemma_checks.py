"""Each lemma's constant stays below 1 where the lemma holds, and exceeds it in a case that breaks it."""

from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import pytest

from feddp_studies.theory import lemma_checks as lemmas
from feddp_studies.theory.lemma_scene import LemmaScene

FAILING = {lemmas.private_averaging, lemmas.kept_weights_as_printed, lemmas.reduced_diameter}
"""Statements that do not hold as printed, or only with a larger constant; each has its own test."""


class WideScene(LemmaScene):
    """Components are 20 times as wide as is stated."""

    @cached_property
    def mixture(self):
        data = super().mixture
        means = np.repeat(data.means, self.per_component, axis=0)
        return replace(
            data,
            points=data.means[data.labels] + 20 * (data.points - data.means[data.labels]),
            server=means + 20 * (data.server - means),
        )


class BlindScene(LemmaScene):
    """The projection knows nothing of the data."""

    @cached_property
    def projection(self):
        vectors = np.linalg.qr(self.noise("blind").standard_normal((self.dimension, self.k)))[0]
        return vectors @ vectors.T


class UnluckyScene(LemmaScene):
    """The server has points of one component only; the others are nowhere near any mean."""

    @cached_property
    def mixture(self):
        data = super().mixture
        server = data.server.copy()
        server[self.per_component :] += 500.0
        return replace(data, server=server)


@pytest.fixture(scope="module")
def scene():
    return LemmaScene(0)


@pytest.mark.parametrize("check", [c for c in lemmas.CHECKS if c.constant not in FAILING], ids=lambda check: check.name)
def test_the_constant_is_at_most_1(check, scene):
    assert 0 < check.constant(scene) <= (1.2 if check.constant is lemmas.almost_pca else 1)


def test_private_averaging_lacks_the_length_of_gaussian_noise_in_many_dimensions():
    one, many = (lemmas.private_averaging(LemmaScene(0, n=4000, dimension=d, k=2)) for d in (2, 200))
    assert one < 1.2
    assert many > 4


def test_the_printed_threshold_freezes_points_that_have_too_few_client_points(scene):
    assert lemmas.kept_weights_as_printed(scene) > 1 >= lemmas.kept_weights(scene)


def test_halving_fails_where_sampling_alone_is_farther_off():
    few = LemmaScene(0, n=2000)
    assert lemmas.halving(few) > 1 > lemmas.halving_of_samples(few)


@pytest.mark.parametrize("seed", range(2))
def test_wide_components_are_noticed(seed):
    wide = WideScene(seed, n=4000)
    assert min(some(wide) for some in (lemmas.spectral_norm, lemmas.means_cost, lemmas.large_mass, lemmas.first_points)) > 1
    assert lemmas.good_clustering(wide) > 1
    assert lemmas.good_matching(wide) > lemmas.good_matching(LemmaScene(seed, n=4000))


@pytest.mark.parametrize("seed", range(2))
def test_a_blind_projection_is_noticed(seed):
    blind = BlindScene(seed, n=64_000)
    assert min(some(blind) for some in (lemmas.almost_pca, lemmas.projected_cost, lemmas.good_matching)) > 1


def test_server_points_far_from_all_means_are_noticed():
    unlucky = UnluckyScene(0, n=4000)
    assert min(lemmas.first_points(unlucky), lemmas.kept_points(unlucky)) > 1


def test_groups_are_moved_as_far_apart_as_the_constant_of_the_lemma_makes_them(scene, monkeypatch):
    far = lemmas.reduced_diameter(scene)
    monkeypatch.setattr(lemmas, "reduce_diameter", partial(lemmas.reduce_diameter, spacing=1.0))
    assert lemmas.reduced_diameter(scene) < 1 < far < 100


def test_conditions_out_of_reach_are_numbers_of_samples(scene):
    assert lemmas.projected_cost_samples(scene) > lemmas.good_matching_samples(scene) > 1e9
    assert lemmas.good_matching_samples(replace(scene, epsilon=1e9)) < scene.n
