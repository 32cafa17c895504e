"""The ledger counts every release, refuses what is not planned, and states what was spent so far."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.errors import BudgetError
from feddp_kmeans.privacy.accounting import composed_epsilon
from feddp_kmeans.privacy.ledger import Ledger
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

ONCE = Release("once", Mechanism.GAUSSIAN, 1.0, 1.0, 4.0, 2)
OFTEN = Release("often", Mechanism.GAUSSIAN, 1.0, 1.0, 8.0, 2, times=3)
PLAN = Plan(PrivacyUnit.POINT, 2.0, 1e-6, (ONCE, OFTEN))


def booked(*releases):
    ledger = Ledger(PLAN)
    for release in releases:
        ledger.book(release)
    return ledger


def test_every_repetition_counts_as_spent():
    assert Ledger(PLAN).epsilon_so_far == 0
    spent = [booked(*[OFTEN] * times).epsilon_so_far for times in (1, 2, 3)]
    for times, epsilon in enumerate(spent, 1):
        # Several Gaussians are one: as if made once, with the square root of their number less noise.
        assert epsilon == pytest.approx(composed_epsilon([Release("r", Mechanism.GAUSSIAN, 1.0, 1.0, 8.0 / times**0.5, 2)], PLAN.delta))
    assert booked(ONCE, OFTEN, OFTEN, OFTEN).epsilon_so_far == pytest.approx(composed_epsilon(PLAN.releases, PLAN.delta))


@given(st.lists(st.integers(1, 4), max_size=6))
def test_what_is_made_as_one_counts_and_costs_as_much_as_its_releases(parts):
    """The plan is never exceeded, nothing is counted twice, and the noise that was drawn costs what the rows state."""
    ledger, drawn = Ledger(PLAN), []
    for times in parts:
        left = ledger.not_made().get("often", 0)
        if times > left:
            with pytest.raises(BudgetError, match="'often' must be made at most 3 times"):
                ledger.book(OFTEN, times)
        else:
            ledger.book(OFTEN, times)
            drawn.append(OFTEN.as_one(times))
        assert sum(row["times"] for row in ledger.rows()) + sum(ledger.not_made().values()) == 4
    assert all(release.times == 1 for release in drawn)
    assert ledger.epsilon_so_far == pytest.approx(composed_epsilon(drawn, PLAN.delta), rel=1e-9)


@pytest.mark.parametrize("times", [0, -1, 4, 10**9, float("nan"), 1.0, None, "1"])
def test_only_a_planned_number_of_releases_is_booked(times):
    ledger = booked()
    with pytest.raises(BudgetError, match="'often' must be made at most 3 times, and was made 0 times already, got"):
        ledger.book(OFTEN, times)
    assert ledger.rows() == []


def test_rows_and_what_is_left_say_how_often_each_was_made():
    ledger = booked(OFTEN, OFTEN)
    assert [(row["release"], row["times"]) for row in ledger.rows()] == [("often", 2)]
    assert ledger.not_made() == {"once": 1, "often": 1}


def test_what_is_not_planned_or_was_made_is_refused():
    ledger = booked(ONCE)
    with pytest.raises(BudgetError, match=r"'once' .* was made 1 times already"):
        ledger.book(ONCE)
    with pytest.raises(BudgetError, match="'other' is not in the plan"):
        ledger.book(Release("other", Mechanism.GAUSSIAN, 1.0, 1.0, 8.0, 2))


def test_releases_are_made_in_no_more_sums_than_planned():
    pool = Release("pool", Mechanism.GAUSSIAN, 1.0, 1.0, 80.0, 2, times=10, sums=2)
    ledger = Ledger(Plan(PrivacyUnit.POINT, 2.0, 1e-6, (pool,)))
    assert ledger.sums_left == 2
    ledger.book(pool, 4, 1)
    ledger.book(pool, 1, 1)
    assert ledger.sums_left == 0
    with pytest.raises(BudgetError, match="'pool' must be made in at most 2 sums, and was made in 2 already, got 1"):
        ledger.book(pool, 1, 1)
    assert ledger.not_made() == {"pool": 5}
