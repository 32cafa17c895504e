"""One run as the odometer holds it: an id, a plan, and whether its noise was secret."""

import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from feddp_kmeans._json import check_format, field_of
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.plan import Plan

FORMAT = 2
"""Of a line. Older lines are read and counted in full (those of format 1 have no run id); newer ones are refused."""

_LEAST_MULTIPLIER = 0.01
"""A release with a smaller noise multiplier counts as open: no accountant needs to be asked."""

_LONGEST_RUN = 64


def new_run() -> str:
    """Return the id of a new run."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Entry:
    """One run, booked with its whole plan. Without secure noise it counts as not private."""

    plan: Plan
    what: str
    secure: bool
    run: str = ""
    """The id of the run; lines written by 0.1 have none."""
    when: str = ""
    table: str = ""
    """Name of the one table that the run read; empty for several tables, and where it is not known."""

    @classmethod
    def of(cls, plan: Plan, what: str, *, secure: bool, run: str, table: str = "") -> "Entry":
        """Return the entry of a run that is about to start."""
        return cls(plan, what, secure, run, datetime.now(UTC).isoformat(timespec="seconds"), table)

    @property
    def private(self) -> bool:
        """Return whether the run had a guarantee at all."""
        noisy = all(r.noise_multiplier >= _LEAST_MULTIPLIER for r in self.plan.releases)
        return self.secure and math.isfinite(self.plan.epsilon) and noisy

    def same_plan(self, other: "Entry") -> bool:
        """Return whether the other entry is of the same plan, with the same kind of noise."""
        names = {"when": "", "what": "", "run": "", "table": ""}
        return self.to_dict() | names == other.to_dict() | names

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return {
            "format": FORMAT,
            "run": self.run,
            "when": self.when,
            "what": self.what,
            "table": self.table,
            "privacy_unit": self.plan.unit.value,
            "epsilon": self.plan.epsilon if math.isfinite(self.plan.epsilon) else "inf",
            "delta": self.plan.delta,
            "sampling_rate": self.plan.sampling_rate,
            "secure": self.secure,
            "releases": self.plan.ledger_rows(),
        }

    @classmethod
    def from_dict(cls, given: Any) -> "Entry":
        """Return the entry that this plain data states; refuse anything else."""
        what = "a line of the odometer"
        when, name = (field_of(given, field, str, what) for field in ("when", "what"))
        table = field_of({"table": ""} | given, "table", str, what)
        secure = field_of(given, "secure", bool, what)
        check_format(given, FORMAT, what)
        run = given.get("run", "")
        if not (isinstance(run, str) and len(run) <= _LONGEST_RUN and (run.isalnum() or not run)):
            raise InputError(f"run of {what} must be an id of letters and digits, got {run!r:.80}.")
        return cls(Plan.from_dict(given), name, secure, run, when, table)
