"""Checks without chance of runs that learn knots: they ask what they pay for, and the knots follow from the releases alone."""

from collections.abc import Sequence

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.column_knots import FoundKnots, Range, find_knots, knots_plan
from feddp_kmeans.audit.books import plan_findings
from feddp_kmeans.audit.case import Seen, Watch
from feddp_kmeans.audit.finding import AuditFinding, all_right
from feddp_kmeans.audit.statistic_checks import sensitivity_finding
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

_RANGES: dict[str, Range | None] = {"without a range": None, "with a range": (0.0, 9.0)}


def knots_findings(unit: PrivacyUnit) -> list[AuditFinding]:
    """Return the findings of one run on two columns."""
    about, rng = f"knots, {unit.value}", np.random.default_rng(0)
    clients = [rng.lognormal(size=(5, 2)) for _ in range(400)]
    plan = knots_plan(unit, 4.0, 1e-6, len(clients), _RANGES)
    watch, found, ledger = _run(plan, clients)
    _, again, _ = _run(plan, [points[:0] for points in clients], watch.seen)
    return [
        all_right("ledger, plan and what was seen agree", about, [] if ledger == plan.ledger_rows() else ["the ledger"]),
        all_right("the outcome follows from the releases alone", about, [name for name in found if found[name] != again[name]]),
        *plan_findings(plan, about),
        *(sensitivity_finding(seen.query, f"{about}, look {number}", clients[:4]) for number, seen in enumerate(watch.seen, 1)),
    ]


def _run(
    plan: Plan, clients: list[FloatArray], answers: Sequence[Seen] | None = None
) -> tuple[Watch, dict[str, FoundKnots], list[dict[str, object]]]:
    """Return what was seen, what was found and the ledger; with ``answers`` the run gets only these."""
    watch = Watch(answers)
    with InMemoryFederation(clients).open(plan, 1, watcher=watch) as run:
        found = find_knots(run, np.ones(len(_RANGES), dtype=bool), _RANGES)
        return watch, found, run.ledger.rows()
