"""One run as the odometer holds it: an id, a plan, and whether its noise was secret."""

import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from feddp_kmeans._json import check_format
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

FORMAT = 2
"""Of a line. Older lines are read and counted in full (those of format 1 have no run id); newer ones are refused."""

_LEAST_MULTIPLIER, _MOST_MULTIPLIER = 0.01, 1e15
"""Noise multipliers between which runs are added up. Beneath, a release is as good as open, and no accountant needs to be asked."""

_MOST_TIMES, _MOST_VALUES = 1_000_000, 1 << 53
_LONGEST_RUN = 64


def new_run() -> str:
    """Return the id of a new run."""
    return secrets.token_hex(16)


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
    run: str = ""
    """The id of the run; lines written by 0.1 have none."""

    @classmethod
    def of(cls, plan: Plan, what: str, *, secure: bool, run: str) -> "Entry":
        """Return the entry of a run that is about to start; without secure noise it counts as not private."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(now, what, plan.unit, plan.epsilon, plan.delta, plan.sampling_rate, secure, plan.releases, run)

    @property
    def private(self) -> bool:
        """Return whether the run had a guarantee at all."""
        return self.secure and math.isfinite(self.epsilon) and all(r.noise_multiplier >= _LEAST_MULTIPLIER for r in self.releases)

    def same_plan(self, other: "Entry") -> bool:
        """Return whether the other entry is of the same plan, with the same kind of noise."""
        mine, others = self.to_dict(), other.to_dict()
        return all(mine[name] == others[name] for name in mine if name not in {"when", "what", "run"})

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return {
            "format": FORMAT,
            "run": self.run,
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
            check_format(given, FORMAT, "a line of the odometer")
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
                _run(given.get("run", "")),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FedDPError(f"a line of the odometer must state a run, got {type(error).__name__}: {error}.") from None


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


def _run(given: Any) -> str:
    if not (isinstance(given, str) and len(given) <= _LONGEST_RUN and (given.isalnum() or not given)):
        raise ValueError(f"run must be an id of letters and digits, got {given!r:.80}")
    return given
