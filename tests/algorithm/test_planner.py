"""The planner: public facts in, a choice and its reason out."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.planner import choose
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.algorithm.tuning import REFINED

SERVER = np.random.default_rng(5).standard_normal((80, 6))


def steps_of(plan):
    return plan["lloyd sums"].times if "lloyd sums" in plan else 0


def test_without_a_public_number_of_points_the_default_is_taken():
    plan = prepare(Settings(4, 1.0), SERVER, 10).plan
    assert steps_of(plan) == REFINED.default_steps
    assert "not public" in plan.reasons[0]


@pytest.mark.parametrize("settings", [Settings(4, 1.0, n_points=50_000), Settings(4, 1.0, privacy_unit="client", client_size=5)])
def test_candidates_are_tried_on_server_data_and_the_reason_says_so(settings):
    prepared = prepare(settings, SERVER, 3000)
    assert prepared.lloyd_steps in REFINED.candidate_steps
    assert steps_of(prepared.plan) == prepared.lloyd_steps == prepared.plan.facts["lloyd_steps"]
    assert "simulated from server data" in prepared.plan.reasons[0]
    assert prepare(settings, SERVER, 3000).plan.to_dict() == prepared.plan.to_dict()


def test_the_least_simulated_cost_wins_if_it_is_clear(monkeypatch):
    costs = {(0, "balanced"): 10.0, (1, "balanced"): 9.0, (2, "balanced"): 5.0, (2, "more for sums"): 4.0, (1, "more for sums"): 8.99}
    monkeypatch.setattr("feddp_kmeans.algorithm.planner._simulated_cost", lambda steps, split, _n: costs[steps, split])
    said = []

    def make(steps, split, *reasons):
        said.extend(reasons)
        return steps, split

    assert choose(make, 100) == (2, "more for sums")
    assert "balanced: 5, more for sums: 4" in said[1]
    costs[2, "balanced"] = 8.99
    assert choose(make, 100) == (REFINED.default_steps, "balanced")


def test_splits_are_whole_budgets():
    for shares in REFINED.splits.values():
        assert sum(shares.values()) == pytest.approx(1.0)


def test_steps_that_are_asked_for_are_taken():
    assert steps_of(prepare(Settings(4, 1.0, lloyd_steps=3), SERVER, 10).plan) == 3


def test_a_public_client_size_saves_its_release():
    bought = prepare(Settings(4, 1.0, privacy_unit="client", lloyd_steps=0), SERVER, 10).plan
    given = prepare(Settings(4, 1.0, privacy_unit="client", client_size=8, lloyd_steps=0), SERVER, 10).plan
    assert "client sizes" in bought
    assert "client sizes" not in given
    assert given["sums"].noise_multiplier < bought["sums"].noise_multiplier
