"""What we claim beside the paper, under the same rules: decided by the runs, either way."""

from itertools import chain

from feddp_studies.reproduction.claim_verdicts import (
    BASELINES,
    CENSUS,
    CLIENTS,
    MISSING,
    MIXTURE,
    PAIRS,
    QUESTIONS,
    Claim,
    Decided,
    Runs,
    comparisons,
    holds_if,
    overall,
)
from feddp_studies.reproduction.curves import best_points, budgets, points_of
from feddp_studies.reproduction.peers import best_recorded

_EXACT = 1.005
"""Recorded costs have three digits."""


def _refined(runs: Runs) -> Decided:
    outcomes, shown = comparisons(runs, "refined", ("paper",))
    return f"refined against the best setting of the paper's method: {shown}", overall(chain.from_iterable(outcomes))


def _refined_best(runs: Runs) -> Decided:
    outcomes, shown = comparisons(runs, "refined", BASELINES)
    return f"refined against the best baseline: {shown}", overall(chain.from_iterable(outcomes))


def _peers(runs: Runs) -> Decided:
    rows, parts, lower = runs["peers-central"], [], True
    for name in dict.fromkeys(row["dataset"] for row in rows):
        points = best_points([row for row in rows if row["dataset"] == name], "refined")
        ratios = [point.mean / best_recorded(name, point.epsilon) for point in points]
        above = [cost > _EXACT * best_recorded(name, point.epsilon) for point in points for cost in point.costs]
        lower &= max(ratios) <= _EXACT
        parts.append(f"{name} {min(ratios):.2f} to {max(ratios):.3f}, {sum(above)} of {len(above)} runs above it")
    return f"our mean cost over that of the best recorded program, over all budgets: {'; '.join(parts)}", holds_if(lower)


def _cohorts(runs: Runs) -> Decided:
    """Return whether no sample costs less than all clients do, at the same epsilon."""
    parts, worth = [], False
    for name in dict.fromkeys(row["dataset"] for row in runs["cohorts"]):
        for method in ("paper", "refined"):
            rows = [row for row in runs["cohorts"] if row["dataset"] == name and row["method"] == method]
            rates = sorted({row["sampling_rate"] for row in rows}, reverse=True)
            for epsilon in budgets(rows):
                found = {rate: next(p for p in points_of(rows, method, rate) if p.epsilon == epsilon) for rate in rates}
                worth |= any(found[rate].compared(found[1.0]) < 0 for rate in rates if rate < 1)
                parts.append(f"{name} {method} at {epsilon:g}: " + ", ".join(f"{rate:g}: {p.excess:.2f} %" for rate, p in found.items()))
    return f"above optimal by part of the clients in a release: {'; '.join(parts)}", holds_if(not worth)


OUR_CLAIMS = (
    Claim(
        "refined",
        "ours",
        "The refined method costs no more than the paper's at any budget tried",
        MIXTURE,
        _refined,
        (*CENSUS, *CLIENTS, *QUESTIONS, *MISSING, *PAIRS),
    ),
    Claim(
        "refined-best", "ours", "Nor more than any DP baseline", MIXTURE, _refined_best, (*CENSUS, *CLIENTS, *QUESTIONS, *MISSING, *PAIRS)
    ),
    Claim("peers", "ours", "Without server data no recorded program costs less, at any budget", ("peers-central",), _peers),
    Claim("cohorts", "ours", "A sample of the clients in each release never costs less than all of them", ("cohorts",), _cohorts),
)
