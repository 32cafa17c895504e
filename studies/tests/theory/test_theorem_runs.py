"""The theorems' algorithms against their bounds: what holds, what fails, and where it cannot be told."""

from dataclasses import replace

import numpy as np
import pytest

from feddp_studies.theory.stated_bounds import corollary_samples, practice_samples, theory_samples
from feddp_studies.theory.theorem_runs import Theorem, TheoremCase, run_case
from feddp_studies.theory.verdicts import Needed, growth, verdict

CASE = TheoremCase(Theorem.PRACTICE, n=20_000, epsilon=8.0)


def test_each_theorem_has_its_own_sample_size():
    facts = CASE.facts
    assert CASE.samples(facts) == practice_samples(4, 10, 8.0, facts)
    assert replace(CASE, theorem=Theorem.THEORY).samples(facts) == theory_samples(4, 10, 4, 8.0, 1e-6, facts)
    assert replace(CASE, theorem=Theorem.COROLLARY).samples(facts) == corollary_samples(4, 10, 8.0, facts)
    assert replace(CASE, epsilon=2.0).at(0.5).n == replace(CASE, epsilon=2.0).least_n // 2


@pytest.mark.parametrize("seed", range(3))
def test_above_the_least_n_all_conditions_are_met_and_the_clustering_is_found(seed):
    found = run_case(CASE, seed)
    assert found.missed == []
    assert len(found.conditions) == 3
    assert found.recovered
    assert found.constant < 3
    assert abs(found.error - found.sample_error) < 0.2


def test_far_below_the_least_n_the_condition_is_named_and_the_clustering_is_lost():
    few = [run_case(replace(CASE, n=64, epsilon=1.0), seed) for seed in range(5)]
    assert all("sample size" in found.missed for found in few)
    assert not all(found.recovered for found in few)


def test_cluster_at_its_least_n_is_within_a_small_constant_and_needs_a_large_one_where_groups_are_moved():
    case = TheoremCase(Theorem.THEORY, n=1000, epsilon=4.0, dimension=5, lloyd_steps=3).at(1)
    together, moved = (run_case(some, 0) for some in (case, replace(case, separation=3.0)))
    assert together.missed == moved.missed == []
    assert together.recovered
    assert 1 < together.constant < 10 < moved.constant


def swept(axis, places, **fixed):
    runs = [[run_case(replace(CASE, **fixed, **{axis: place}), seed) for seed in range(4)] for place in places]
    assert not any(run.missed for some in runs for run in some)
    return {
        name: [Needed(place, np.array([getattr(run, name) for run in some])) for place, some in zip(places, runs, strict=True)]
        for name in ("constant", "sample_constant", "sample_error")
    }


@pytest.mark.slow
@pytest.mark.parametrize(("axis", "places"), [("n", (5_000, 20_000, 80_000)), ("epsilon", (4.0, 8.0, 16.0))])
def test_the_practical_bound_holds_over_n_and_epsilon_with_one_constant_and_its_noise_falls_with_both(axis, places):
    found = swept(axis, places)
    assert verdict(axis, found["constant"]).startswith("holds")
    rate = growth(places, [some.constants for some in found["sample_error"]])
    assert rate.power == pytest.approx(-1, abs=0.2)  # The radius grows with log n.


@pytest.mark.slow
def test_no_constant_will_do_over_d_since_the_bound_lacks_the_length_of_gaussian_noise():
    assert verdict("d", swept("dimension", (10, 40, 160), lloyd_steps=8)["constant"]).startswith("does not hold with one constant")


@pytest.mark.slow
def test_no_constant_will_do_over_n_with_little_noise_since_the_bound_lacks_the_error_of_sampling_which_sample_means_do_not_have():
    found = swept("n", (10_000, 40_000, 160_000), epsilon=200.0, lloyd_steps=16, dimension=40)
    assert verdict("n", found["constant"]).startswith("does not hold with one constant")
    assert verdict("n", found["sample_constant"]).startswith("holds with constant")
