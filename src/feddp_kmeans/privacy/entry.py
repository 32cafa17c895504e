"""One run as the odometer holds it: an id, a plan, and whether its noise was secret."""

import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from feddp_kmeans._json import check_format, field_of
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

FORMAT = 2
"""Of a line. Older lines are read and counted in full (those of format 1 have no run id); newer ones are refused."""

_LEAST_MULTIPLIER = 0.01
"""Noise multiplier beneath which a release is as good as open, and no accountant needs to be asked."""

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
        what = "a line of the odometer"
        when, name = (field_of(given, field, str, what) for field in ("when", "what"))
        secure = field_of(given, "secure", bool, what)
        check_format(given, FORMAT, what)
        plan, run = Plan.from_dict(given), given.get("run", "")
        if not (isinstance(run, str) and len(run) <= _LONGEST_RUN and (run.isalnum() or not run)):
            raise InputError(f"run of {what} must be an id of letters and digits, got {run!r:.80}.")
        return cls(when, name, plan.unit, plan.epsilon, plan.delta, plan.sampling_rate, secure, plan.releases, run)
