"""The odometer: what all runs on the same data have spent together. Written before a run's first release, so it never counts too little."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from feddp_kmeans._errors import BudgetError, FedDPError
from feddp_kmeans._files import locked, write_whole
from feddp_kmeans._json import parse_json
from feddp_kmeans.privacy.accounting import accounting_work, runs_epsilon
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

_MOST_WORK = 1e4
"""Privacy losses beyond which runs are not added up: they guarantee nothing, and an accountant would be at it for hours."""

_LEAST_MULTIPLIER, _MOST_MULTIPLIER = 0.01, 1e15
"""Noise multipliers between which runs are added up. Beneath, a release is as good as open, and no accountant needs to be asked."""

_MOST_TIMES, _MOST_VALUES = 1_000_000, 1 << 53


@dataclass(frozen=True)
class Entry:
    """One run: what its plan releases, booked as a whole."""

    when: str
    what: str
    unit: PrivacyUnit
    epsilon: float
    delta: float
    sampling_rate: float
    secure: bool
    releases: tuple[Release, ...]

    @classmethod
    def of(cls, plan: Plan, what: str, *, secure: bool) -> "Entry":
        """Return the entry of a run that is about to start; without secure noise it counts as not private."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(now, what, plan.unit, plan.epsilon, plan.delta, plan.sampling_rate, secure, plan.releases)

    @property
    def private(self) -> bool:
        """Return whether the run had a guarantee at all."""
        return self.secure and math.isfinite(self.epsilon) and all(r.noise_multiplier >= _LEAST_MULTIPLIER for r in self.releases)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return {
            "when": self.when,
            "what": self.what,
            "privacy_unit": self.unit.value,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "delta": self.delta,
            "sampling_rate": self.sampling_rate,
            "secure": self.secure,
            "releases": [release.to_dict() for release in self.releases],
        }

    @classmethod
    def from_dict(cls, given: Any) -> "Entry":
        """Return the entry that this plain data states; refuse anything else."""
        try:
            releases = tuple(_release(row) for row in given["releases"])
            return cls(
                str(given["when"]),
                str(given["what"]),
                PrivacyUnit.parse(given["privacy_unit"]),
                float(given["epsilon"]),
                float(given["delta"]),
                _rate(given["sampling_rate"]),
                given["secure"] is True,
                releases,
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FedDPError(f"a line of the odometer must state a run, got {type(error).__name__}: {error}.") from None


@dataclass(frozen=True)
class Total:
    """What all runs together guarantee to one kind of unit."""

    unit: PrivacyUnit
    epsilon: float
    delta: float
    runs: int
    why_unbounded: str = ""

    def __str__(self) -> str:
        """Return the total in one line."""
        if self.why_unbounded:
            return f"{self.unit.value}: no bound, {self.why_unbounded}"
        return f"{self.unit.value}: epsilon {self.epsilon:.4g} at delta {self.delta:g} over {self.runs} run{'s' * (self.runs != 1)}"


class Odometer:
    """The runs on one data set, a line of JSON each in a file that only ever grows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> list[Entry]:
        """Return all runs booked so far; a damaged line is an error, since skipping it would count too little."""
        if not self.path.exists():
            return []
        entries = []
        for number, line in enumerate(self._content().split(b"\n"), 1):
            if line.strip():
                try:
                    entries.append(Entry.from_dict(parse_json(line)))
                except ValueError as error:
                    raise FedDPError(f"line {number} of {self.path.name} must be a run of the odometer: {error}") from None
        return entries

    def book(self, entry: Entry, *, limit: float | None = None, delta: float | None = None) -> None:
        """Write a run down, on disk before this returns. Refuse one that would take the total beyond ``limit``.

        Whoever books at the same time waits, so that no run is lost and two cannot both take the last of a budget.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.path.parent):
                if limit is not None:
                    self._check_limit(entry, limit, delta or entry.delta)
                before = self._content() if self.path.exists() else b""
                between = b"" if before.endswith(b"\n") or not before else b"\n"
                write_whole(self.path.resolve(), before + between + json.dumps(entry.to_dict()).encode() + b"\n", mode=self._mode())
        except OSError as error:
            raise FedDPError(f"the odometer must be writable before anything is released, got {error}; --odometer names another.") from None

    def _check_limit(self, entry: Entry, limit: float, delta: float) -> None:
        total = total_for(entry.unit, [*self.entries(), entry], delta)
        if total.why_unbounded or not total.epsilon <= limit:
            raise BudgetError(f"the budget of this data set must stay within epsilon {limit:g}; with this run it is {total}.")

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise FedDPError(f"the odometer must be a file that can be read, got {error}.") from None

    def _mode(self) -> int:
        return self.path.stat().st_mode & 0o777 if self.path.exists() else 0o644

    def check_booked(self, entry: Entry) -> None:
        """Refuse to go on with a run that is not on this odometer: its releases would be counted nowhere, or on other data."""
        releases = entry.to_dict()["releases"]
        if not any(booked.to_dict()["releases"] == releases for booked in self.entries()):
            raise BudgetError(
                f"a run that goes on must be booked, with this very plan, on the odometer of its data, {self.path.name}; it is not."
            )


def totals(entries: Sequence[Entry], delta: float) -> list[Total]:
    """Return what the runs guarantee together, to points and to clients."""
    return [total_for(unit, entries, delta) for unit in PrivacyUnit]


def total_for(unit: PrivacyUnit, entries: Sequence[Entry], delta: float) -> Total:
    """Return what the runs guarantee together to one kind of unit.

    A client is more than any of its points, so a run that protects clients protects points as well as it protects clients, and all
    runs count for points. A run that protects points bounds nothing for clients.
    """
    open_runs = [e for e in entries if not e.private]
    if open_runs:
        return Total(unit, math.inf, delta, len(entries), f"{len(open_runs)} of {len(entries)} runs had no noise or a known seed")
    narrower = [e for e in entries if unit is PrivacyUnit.CLIENT and e.unit is PrivacyUnit.POINT]
    if narrower:
        return Total(unit, math.inf, delta, len(entries), f"{len(narrower)} of {len(entries)} runs protect points only")
    if accounting_work([r for e in entries for r in e.releases], sampled=any(e.sampling_rate < 1 for e in entries)) > _MOST_WORK:
        return Total(unit, math.inf, delta, len(entries), "so many releases had so little noise")
    epsilon = runs_epsilon([(e.releases, e.sampling_rate) for e in entries], delta)
    return Total(unit, epsilon + sum(r.sampler_epsilon for e in entries for r in e.releases), delta, len(entries))


def _release(row: dict[str, Any]) -> Release:
    mechanism = Mechanism(row["mechanism"])
    sensitivity = float(row["l2_sensitivity" if mechanism is Mechanism.GAUSSIAN else "l1_sensitivity"])
    multiplier, times, values = float(row["noise_multiplier"]), int(row["times"]), int(row["values"])
    if not (1 <= times <= _MOST_TIMES and 1 <= values <= _MOST_VALUES and multiplier <= _MOST_MULTIPLIER):
        raise ValueError(f"times, values and noise must be those of a release, got {times:.6g}, {values:.6g} and {multiplier:g}")
    return Release(str(row["release"]), mechanism, sensitivity, 1.0, multiplier, values, times)


def _rate(given: Any) -> float:
    rate = float(given)
    if not 0 < rate <= 1:
        raise ValueError(f"sampling_rate must be above 0 and at most 1, got {rate}")
    return rate
