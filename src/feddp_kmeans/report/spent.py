"""What was spent on the same data so far, from the odometer: by this run and by those before it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.odometer import Entry, Odometer, total_for
from feddp_kmeans.privacy.plan import Plan

_LISTED = 100
"""The latest runs, which are listed one by one; all of them are counted."""


def spent_so_far(odometer: Odometer | Path | str | None, plan: Plan) -> dict[str, Any] | None:
    """Return the runs on an odometer and what they guarantee together to the unit of this plan; None if there is none, or no run on it.

    Epsilons, deltas and times only: the commands of other runs stay where they are.
    """
    if odometer is None:
        return None
    odometer = odometer if isinstance(odometer, Odometer) else Odometer(Path(odometer))
    try:
        entries = odometer.entries()
    except InputError:  # a result that is finished is written, whatever has become of the odometer
        return None
    return spent_dict(entries, plan) if entries else None


def spent_dict(entries: Sequence[Entry], plan: Plan) -> dict[str, Any]:
    """Return these runs and what they guarantee together to the unit of this plan, at its delta."""
    total = total_for(plan.unit, entries, plan.delta)
    return {
        "runs": len(entries),
        "privacy_unit": total.unit.value,
        "epsilon": None if total.why_unbounded else total.epsilon,
        "delta": total.delta,
        "why_unbounded": total.why_unbounded,
        "listed": [
            {
                "when": entry.when,
                "privacy_unit": entry.plan.unit.value,
                "epsilon": entry.plan.epsilon,
                "delta": entry.plan.delta,
                "private": entry.private,
            }
            for entry in entries[-_LISTED:]
        ],
    }
