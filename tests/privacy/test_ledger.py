"""The ledger counts every release, refuses what is not planned, and states what was spent so far."""

import pytest

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
