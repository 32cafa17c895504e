"""Terms of a run: exact over the wire, and refused where a client's own policy says so."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.network.terms import Policy, Terms, Trust
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit

SERVER = np.random.default_rng(0).standard_normal((40, 3))
OPEN = Policy(PrivacyUnit.POINT, 1.0)


def plan(epsilon=1.0, **more):
    return prepare(Settings(2, epsilon, **more), SERVER, 5).plan


def terms(made=None, **more):
    given = {"run": "abc", "plan": made or plan(), "trust": Trust.SECURE_SUM, "secure": True, "threshold": 4, "colluders": 0} | more
    return Terms(**given)


BASE = terms()


def test_terms_come_over_the_wire_to_the_last_bit():
    for made in (terms(), terms(plan(math.inf)), terms(plan(method="paper"), trust=Trust.AGGREGATOR)):
        found = Terms.from_dict(json.loads(json.dumps(made.to_dict())))
        assert found.plan.releases == made.plan.releases
        assert found.digest == made.digest
        assert found.epsilon_spent == made.epsilon_spent


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"threshold": 2, "colluders": 2}, "colluders must be from 0 to below the threshold of 2, got 2"),
        ({"threshold": 0}, "colluders must be from 0 to below the threshold of 0"),
        ({"made": plan(method="paper")}, "noise must be 'gaussian' under secure-sum"),
        ({"made": plan(privacy_unit="client", sampling_rate=0.5)}, "sampling_rate must be 1 under secure-sum, got 0.5"),
        ({"made": replace(plan(), epsilon=0.5)}, "a plan must not spend more than it says: it says epsilon 0.5"),
    ],
)
def test_terms_that_cannot_be_kept_are_not_made(more, message):
    with pytest.raises((FedDPError, BudgetError), match=message):
        terms(**more)


@pytest.mark.parametrize(
    ("policy", "more", "message"),
    [
        (Policy(PrivacyUnit.CLIENT, 1.0), {}, "the plan must protect each client, got one that protects each point"),
        (Policy(PrivacyUnit.POINT, 0.9), {}, "epsilon must be at most 0.9, got a plan that spends"),
        (Policy(PrivacyUnit.POINT, 1.0, delta=1e-7), {}, "delta must be at most 1e-07, got 1e-06"),
        (OPEN, {"trust": Trust.AGGREGATOR}, "trust must be secure-sum"),
        (Policy(PrivacyUnit.POINT, 1.0, confirmed=True), {}, "lists of survivors must be confirmed"),
        (OPEN, {"secure": False}, "noise must be cryptographic, got a run with a known seed"),
        (OPEN, {"made": plan(math.inf)}, "epsilon must be at most 1, got a plan that spends inf"),
    ],
)
def test_a_client_refuses_what_its_policy_forbids(policy, more, message):
    with pytest.raises(BudgetError, match=message):
        policy.check(terms(**more))


@pytest.mark.parametrize(
    ("policy", "sites", "more", "message"),
    [
        ({"colluders": 2}, 5, {"colluders": 1}, "colluders must be at least 2, got 1"),
        ({}, 5, {"colluders": 0}, "colluders must be at least 1, got 0"),
        ({}, 31, {"colluders": 2, "threshold": 31}, "colluders must be at least 3, got 2"),
        ({"min_sites": 6}, 5, {}, "sites must be at least 6, got 5"),
        ({}, 5, {"colluders": 1, "threshold": 3}, "threshold must be at least 4 of 5 sites, got 3"),
        ({"threshold": 5}, 5, {"colluders": 1, "threshold": 4}, "threshold must be at least 5 of 5 sites, got 4"),
        ({"threshold": 1}, 5, {"colluders": 1, "threshold": 3}, "threshold must be at least 4 of 5 sites, got 3"),
        ({"colluders": 0}, 41, {"colluders": 0, "threshold": 20}, "threshold must be at least 21 of 41 sites, got 20"),
    ],
)
def test_a_client_refuses_a_secure_sum_that_its_sites_do_not_make_safe(policy, sites, more, message):
    with pytest.raises(BudgetError, match=message):
        Policy(PrivacyUnit.POINT, 1.0, **policy).check_sites(terms(**more), sites)


@given(st.integers(1, 200), st.integers(0, 50), st.integers(1, 200))
def test_any_two_groups_that_a_client_lets_open_a_sum_have_more_sites_in_common_than_collude(sites, colluders, threshold):
    if colluders >= threshold:
        return
    made = replace(BASE, threshold=threshold, colluders=colluders)
    safe = 2 * threshold > sites + colluders
    try:
        Policy(PrivacyUnit.POINT, 1.0, colluders=0).check_sites(made, sites)
    except BudgetError:
        assert not safe
    else:
        assert safe


def test_the_noise_counts_and_not_what_the_plan_says_of_itself():
    honest = plan(8.0)
    quiet = replace(honest, releases=tuple(replace(r, noise_multiplier=0.0) for r in honest.releases), epsilon=1.0)
    with pytest.raises(BudgetError, match="must not spend more than it says"):
        terms(quiet)
    with pytest.raises(BudgetError, match=r"epsilon must be at most 1, got a plan that spends 7\.99"):
        OPEN.check(terms(honest))


def test_runs_add_up_on_the_clients_own_odometer(tmp_path):
    policy, odometer = Policy(PrivacyUnit.POINT, 1.2, delta=1e-6), Odometer(tmp_path / "odometer.jsonl")
    policy.book(terms(), odometer)
    with pytest.raises(BudgetError, match=r"must stay within epsilon 1\.2; with this run it is point: epsilon 1\.4"):
        policy.book(terms(run="b"), odometer)
    assert [entry.what for entry in odometer.entries()] == ["run abc"]


def test_a_simulation_is_booked_as_one(tmp_path):
    odometer = Odometer(tmp_path / "odometer.jsonl")
    for number, secure in enumerate((True, False)):
        Policy(PrivacyUnit.POINT, math.inf).book(terms(run=f"r{number}", secure=secure), odometer)
    assert [entry.private for entry in odometer.entries()] == [True, False]


def test_more_shares_of_noise_cost_what_their_samplers_err():
    one, many = terms(threshold=1), terms(threshold=1000)
    assert many.epsilon_spent > one.epsilon_spent
    assert terms(threshold=1000, colluders=999).epsilon_spent == one.epsilon_spent


def test_a_sample_of_clients_buys_nothing_for_points():
    """The points beside it show whether a point's client is in the sample, so the noise must cover it as if all were."""
    sampled = plan(privacy_unit="client", sampling_rate=0.5)
    with pytest.raises(FedDPError, match=r"sampling_rate must be 1 where the privacy unit is a point, got 0\.5"):
        terms(replace(sampled, unit=PrivacyUnit.POINT), trust=Trust.AGGREGATOR)


def test_a_tiny_sample_does_not_keep_an_accountant_busy():
    stated = terms(plan(privacy_unit="client", sampling_rate=0.5), trust=Trust.AGGREGATOR).to_dict()
    stated |= {"sampling_rate": 1e-12, "releases": [stated["releases"][0] | {"noise_multiplier": 0.05}]}
    with pytest.raises(FedDPError, match="must state enough noise to add up"):
        Terms.from_dict(stated)


words = st.sampled_from(["", "abc", "x" * 80, "../up", "point", "client", "nan", "inf", "-1", "secure-sum", "gaussian", "tight"])
anything = st.none() | st.booleans() | st.integers() | st.floats() | words | st.lists(st.integers(), max_size=2)


@given(st.data())
def test_terms_from_the_network_are_terms_or_refused(data):
    stated = json.loads(json.dumps(terms().to_dict()))
    place = data.draw(st.sampled_from([*stated, *stated["releases"][0]]))
    (stated if place in stated else stated["releases"][0])[place] = data.draw(anything)
    try:
        found = Terms.from_dict(stated)
    except (FedDPError, BudgetError) as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert found.epsilon_spent <= found.plan.epsilon
