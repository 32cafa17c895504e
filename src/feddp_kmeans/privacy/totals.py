"""What several runs on the same data guarantee together, and the limit that they must keep.

Two theorems: an odometer adds up runs whose budgets were fixed without seeing each other's results; a filter, which limits need, also holds
for budgets that were chosen after earlier results.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.accounting import accounting_work, filter_epsilon, runs_epsilon
from feddp_kmeans.privacy.entry import Entry
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit

LIMIT_DELTA = 1e-6
"""The default delta at which runs are added up."""

_MOST_WORK = 1e4
"""Runs with a larger total privacy loss are not added up: they guarantee nothing, and an accountant would take hours."""


@dataclass(frozen=True)
class Limit:
    """The most that all runs on the same data may spend together: one epsilon at one delta, whatever the deltas of the runs."""

    epsilon: float
    delta: float = LIMIT_DELTA

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not (isinstance(self.epsilon, int | float) and self.epsilon > 0):
            raise InputError(f"limit must be a positive epsilon, got {self.epsilon!r}.")
        if not (isinstance(self.delta, int | float) and 0 < self.delta < 1):
            raise InputError(f"limit_delta must be between 0 and 1, got {self.delta!r}.")


@dataclass(frozen=True)
class Total:
    """What all runs together guarantee to one kind of unit."""

    unit: PrivacyUnit
    epsilon: float
    delta: float
    runs: int
    why_unbounded: str = ""

    def within(self, limit: Limit) -> bool:
        """Return whether this is no more than the limit."""
        return not self.why_unbounded and self.epsilon <= limit.epsilon

    def __str__(self) -> str:
        """Return the total in one line."""
        if self.why_unbounded:
            return f"{self.unit.value}: no bound, {self.why_unbounded}"
        return f"{self.unit.value}: epsilon {self.epsilon:.4g} at delta {self.delta:g} over {self.runs} run{'s' * (self.runs != 1)}"


def totals(entries: Sequence[Entry], delta: float) -> list[Total]:
    """Return what the runs guarantee together, to points and to clients."""
    return [total_for(unit, entries, delta) for unit in PrivacyUnit]


def total_for(unit: PrivacyUnit, entries: Sequence[Entry], delta: float) -> Total:
    """Return what the runs guarantee together to one kind of unit, if their budgets were fixed without seeing each other's results.

    A client's data include its points, so a run that protects clients protects points equally well: all runs count for points. A run that
    protects points guarantees nothing to clients.
    """
    runs = [(e.plan.releases, e.plan.sampling_rate) for e in entries]
    why = _unbounded(unit, entries)
    if not why and accounting_work(_releases(entries), sampled=any(rate < 1 for _, rate in runs)) > _MOST_WORK:
        why = "too many releases had too little noise"
    epsilon = math.inf if why else runs_epsilon(runs, delta) + sum(r.sampler_epsilon for r in _releases(entries))
    return Total(unit, epsilon, delta, len(entries), why)


def by_table(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the runs that each named table was in. A run on several tables, or on one without a name, counts for every table."""
    names = dict.fromkeys(entry.table for entry in entries if entry.table)
    return {name: [entry for entry in entries if entry.table in {name, ""}] for name in names}


def apart(entries: Sequence[Entry], delta: float) -> list[Total]:
    """Return what the runs guarantee together if no unit is in two tables: the total of the table with the largest one.

    A unit meets only the runs on its own table, so it has that table's total (parallel composition). This rests on the user's word.
    """
    groups = list(by_table(entries).values()) or [list(entries)]
    return [max((total_for(unit, group, delta) for group in groups), key=lambda total: total.epsilon) for unit in PrivacyUnit]


def filter_for(unit: PrivacyUnit, entries: Sequence[Entry], delta: float) -> Total:
    """Return what the runs guarantee together even if the budget of each was chosen after the results of those before it."""
    why = _unbounded(unit, entries)
    releases = _releases(entries)
    epsilon = math.inf if why else filter_epsilon(releases, delta) + sum(r.sampler_epsilon for r in releases)
    return Total(unit, epsilon, delta, len(entries), why)


def _unbounded(unit: PrivacyUnit, entries: Sequence[Entry]) -> str:
    """Return why the runs guarantee nothing to this unit; empty if they do."""
    if open_runs := [e for e in entries if not e.private]:
        return f"{len(open_runs)} of {len(entries)} runs had no noise or a known seed, with which anyone can take the noise off"
    narrower = [e for e in entries if unit is PrivacyUnit.CLIENT and e.plan.unit is PrivacyUnit.POINT]
    return f"{len(narrower)} of {len(entries)} runs protect points only" if narrower else ""


def _releases(entries: Sequence[Entry]) -> list[Release]:
    return [release for entry in entries for release in entry.plan.releases]
