"""A run owns its ledger, random bits, server seed and line on the odometer; the federation keeps nothing of it."""

import gc
import weakref

import numpy as np
import pytest

from feddp_kmeans.errors import BudgetError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Limit, Odometer
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.paper_sums import CLUSTER_SUMS
from feddp_kmeans.statistics.residual_sums import CLIENT_SIZES

PLAN = Plan(PrivacyUnit.POINT, 1.0, 1e-6, tuple(Release(name, Mechanism.GAUSSIAN, 1.0, RESOLUTION, 9.0, 2, 2) for name in ("a", "b")))
PUBLIC = {"center": np.zeros(2), "radius": 1.0, "centers": np.zeros((1, 2))}


def ask(run, name="a"):
    return run.noisy_sum(CLUSTER_SUMS, PLAN[name], **PUBLIC)


@pytest.fixture
def federation():
    return InMemoryFederation([np.full((3, 2), 0.1)])


class Spy(list):
    """All that a run asks its adder for."""

    def __init__(self):
        super().__init__()
        self.names = []

    def spy(self, run):
        whole = run._adder.noisy_sum
        run._adder.noisy_sum = lambda one: (self.append(one), whole(one))[1]


@pytest.fixture
def asked():
    return Spy()


@pytest.fixture
def odometer(tmp_path):
    return Odometer(tmp_path / "odometer.jsonl")


@pytest.mark.parametrize("seed", [None, 3])
def test_the_server_seed_is_drawn_once(federation, seed):
    with federation.open(PLAN, seed) as one, federation.open(PLAN, seed) as two:
        first = one.server_seed
        ask(one)
        assert one.server_seed == first
        assert (two.server_seed == first) == (seed is not None)  # without a seed alike by chance: 2**-32


def test_repeated_releases_have_noise_of_their_own_that_the_order_does_not_change(federation):
    with federation.open(PLAN, 0) as one, federation.open(PLAN, 0) as two:
        made = {(name, number): ask(one, name) for name in "ab" for number in range(2)}
        other = {(name, number): ask(two, name) for number in range(2) for name in "ba"}
    assert all(np.array_equal(made[key], other[key]) for key in made)
    assert len({values.tobytes() for values in made.values()}) == 4


def test_what_was_planned_and_not_made_is_reported(federation):
    with federation.open(PLAN, 0) as run:
        ask(run)
    report = run.report()
    assert report.not_made == report.to_dict()["not_made"] == {"a": 1, "b": 2}
    assert [(row["release"], row["times"]) for row in report.ledger] == [("a", 1)]
    assert repr(report).splitlines()[-1] == "planned and not made: a x 1, b x 2"
    with federation.open(PLAN, 0) as whole:
        for name in "aabb":
            ask(whole, name)
    assert whole.report().not_made == {}
    assert "not made" not in repr(whole.report())


def test_releases_made_as_one_are_one_sum_with_the_noise_of_their_mean(federation, asked):
    """One exact sum and one draw, which counts as four."""
    plan = Plan(PrivacyUnit.POINT, 1.0, 1e-6, (Release("a", Mechanism.GAUSSIAN, 1.0, RESOLUTION, 9.0, 2, 5),))
    with federation.open(plan, 0, asked.names.append) as run:
        asked.spy(run)
        run.noisy_sum(CLUSTER_SUMS, plan["a"], times=4, **PUBLIC)
        run.noisy_sum(CLUSTER_SUMS, plan["a"], **PUBLIC)
        with pytest.raises(BudgetError, match="'a' must be made at most 5 times, and was made 5 times already, got 1"):
            run.noisy_sum(CLUSTER_SUMS, plan["a"], **PUBLIC)
    assert asked.names == ["a", "a"]
    assert [(one.label, one.times, one.release.noise_multiplier) for one in asked] == [("a 0", 4, 4.5), ("a 4", 1, 9.0)]
    assert run.report().ledger == tuple(plan.ledger_rows())
    assert run.report().not_made == {}


@pytest.mark.parametrize("changed", [{"sampling_rate": 0.5}, {"mechanism": Mechanism.LAPLACE}])
def test_releases_whose_costs_do_not_add_up_are_made_one_by_one(federation, asked, changed):
    law, rate = changed.get("mechanism", Mechanism.GAUSSIAN), changed.get("sampling_rate", 1.0)
    plan = Plan(PrivacyUnit.CLIENT, 1.0, 1e-6, (Release("a", law, 1.0, 1.0, 9.0, 99, 4),), sampling_rate=rate)
    with federation.open(plan, 0) as run:
        asked.spy(run)
        mean = run.noisy_sum(CLIENT_SIZES, plan["a"], times=3)
        with pytest.raises(BudgetError, match="was made 3 times already, got 2"):
            run.noisy_sum(CLIENT_SIZES, plan["a"], times=2)
    with federation.open(plan, 0) as other:
        assert np.allclose(mean, np.mean([other.noisy_sum(CLIENT_SIZES, plan["a"]) for _ in range(3)], axis=0))
    assert [(one.label, one.times, one.release) for one in asked] == [(f"a {number}", 1, plan["a"].as_one()) for number in range(3)]
    assert run.report().not_made == {"a": 1}


@pytest.mark.parametrize("times", [0, -1, 3, float("nan"), 1.5])
def test_nobody_is_asked_for_a_number_of_releases_that_is_not_planned(federation, asked, odometer, times):
    federation.books = Books(odometer)
    with federation.open(PLAN, 0) as run:
        asked.spy(run)
        with pytest.raises(BudgetError, match="'a' must be made at most 2 times"):
            run.noisy_sum(CLUSTER_SUMS, PLAN["a"], times=times, **PUBLIC)
    assert asked == odometer.entries() == run.ledger.rows() == []


def test_a_closed_run_releases_nothing_and_lets_the_batches_go(federation):
    with federation.open(PLAN, 0) as run:
        ask(run)
        adder = weakref.ref(run._adder)
    with pytest.raises(BudgetError, match="a run must be open to release anything, got 'a' for one that is closed"):
        ask(run)
    gc.collect()
    assert adder() is None
    assert run.ledger.not_made() == {"a": 1, "b": 2}


def test_a_run_is_booked_once_under_its_own_id_and_not_before_it_asks(federation, odometer):
    federation.books = Books(odometer, Limit(2.0), "a test")
    with federation.open(PLAN) as run:
        assert odometer.entries() == []
        ask(run)
        ask(run)
    (entry,) = odometer.entries()
    assert (entry.run, entry.what, entry.secure) == (run.id, "a test", True)
    with federation.open(PLAN) as other:
        ask(other)
    assert [entry.run for entry in odometer.entries()] == [run.id, other.id]


def test_a_run_beyond_the_limit_asks_nobody(federation, odometer):
    federation.books = Books(odometer, Limit(1e-3))
    seen = []
    with pytest.raises(BudgetError, match="must stay within epsilon"), federation.open(PLAN, None, seen.append) as run:
        ask(run)
    assert seen == odometer.entries() == []


def test_books_are_those_of_the_data_however_they_are_recorded(federation, odometer, tmp_path):
    """A record around a federation whose runs are booked books them too, once each; so does one that is booked itself."""
    booked = federation.with_books(Books(odometer))
    recorded = RecordedFederation(booked, tmp_path / "one")
    with recorded.open(PLAN) as run:
        assert [entry.run for entry in odometer.entries()] == [run.id]
        ask(run)
    assert len(odometer.entries()) == 1
    with RecordedFederation(federation, tmp_path / "two").with_books(Books(odometer)).open(PLAN) as run:
        ask(run)
    assert len(odometer.entries()) == 2


def test_books_are_added_to_a_copy(federation, odometer):
    assert federation.with_books(Books(odometer)).books is not None
    assert federation.books is None
    with federation.open(PLAN) as run:
        ask(run)
    assert odometer.entries() == []
