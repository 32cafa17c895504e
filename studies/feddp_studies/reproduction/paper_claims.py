"""The paper's claims, each next to what our runs gave, with a verdict that is computed and not written by hand."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from feddp_studies.reproduction.curves import Row, at, best_points, elbows, points_of, share_table, step_table
from feddp_studies.reproduction.peers import best_recorded

HOLDS = "holds"
ONLY_PUBLISHED = "holds only with the published code's noise"
FAILS = "does not hold"

Runs = Mapping[str, Sequence[Row]]
"""The rows of each experiment that has been run."""

POINT_RULE = (0.2, 0.2, 0.45, 0.15)
"""The paper's split of the budget at point level."""

POINT_RUNS = ("mixture-point", "census-2", "census-5", "census-6")
CLIENT_RUNS = ("mixture-1000", "mixture-2000", "mixture-5000", "stackoverflow", "travel")
BASELINES = ("server-kmeans++", "server-lloyds", "sphere-packing")


@dataclass(frozen=True)
class PaperClaim:
    """A claim of the paper: its words, the experiments it rests on, and how it is decided."""

    words: str
    needs: tuple[str, ...]
    decide: Callable[[Runs], tuple[str, str]]
    """Our number in words, and the verdict."""


@dataclass(frozen=True)
class DecidedClaim:
    """A claim with our number next to it."""

    words: str
    number: str
    verdict: str


def findings(runs: Runs) -> list[DecidedClaim]:
    """Return the findings on all claims whose experiments have been run."""
    made = []
    for claim in CLAIMS:
        if all(name in runs for name in claim.needs):
            number, verdict = claim.decide(runs)
            made.append(DecidedClaim(claim.words, number, verdict))
    return made


def _excess(rows: Sequence[Row], method: str, epsilon: float) -> float:
    point = at(rows, method, epsilon)
    return math.nan if point is None else point.excess


def _optimal_at_04(runs: Runs) -> tuple[str, str]:
    rows = runs["mixture-point"]
    paper, refined, published = (_excess(rows, method, 0.4) for method in ("paper", "refined", "published-noise"))
    rule = [p.excess for p in points_of(rows, "paper") if p.epsilon == 0.4 and p.lloyd_steps == 0 and p.shares == POINT_RULE]
    number = (
        f"at epsilon 0.4, above optimal: {paper:.2f} % as stated with the best split of the budget tried"
        + (f", {rule[0]:.2f} % with the paper's own split" if rule else "")
        + f", {published:.2f} % with the published code's noise, {refined:.3f} % refined"
    )
    return number, HOLDS if paper <= 0.2 else ONLY_PUBLISHED if published <= 0.2 else FAILS


def _plateau(runs: Runs) -> tuple[str, str]:
    rows = runs["mixture-point"]
    parts, flat = [], True
    for method in BASELINES:
        points = best_points(rows, method)
        last, largest = points[-2].excess, points[-1].excess
        flat &= largest > 2 and abs(last - largest) < 0.15 * largest
        parts.append(f"{method} {largest:.1f} %")
    return f"above optimal at the largest epsilon: {', '.join(parts)}; within 15 % of the step before", HOLDS if flat else FAILS


def _more_clients(runs: Runs) -> tuple[str, str]:
    names = ("mixture-1000", "mixture-2000", "mixture-5000")
    epsilons = sorted({row["epsilon"] for row in runs[names[0]] if np.isfinite(row["epsilon"])})
    table = [[_excess(runs[name], "paper", epsilon) for name in names] for epsilon in epsilons]
    better = all(a > b > c for a, b, c in table if not math.isnan(c))
    shown = "; ".join(f"{e:g}: {a:.1f}, {b:.1f}, {c:.1f} %" for e, (a, b, c) in zip(epsilons, table, strict=True))
    return f"above optimal with 1,000, 2,000, 5,000 clients, as stated, at epsilon {shown}", HOLDS if better else FAILS


def _few_steps(runs: Runs) -> tuple[str, str]:
    used = {name: table for name, rows in runs.items() if name in (*POINT_RUNS, *CLIENT_RUNS) and (table := step_table(rows))}
    zero = float(np.mean([table[0] for table in used.values()]))
    return (
        f"{100 * zero:.0f} % of the runs on our fronts make no Lloyd step, none of those tried makes more than 2",
        HOLDS if zero > 0.5 else FAILS,
    )


def _missing(runs: Runs) -> tuple[str, str]:
    names = ("mixture-point", "missing-1", "missing-2", "missing-5")
    shown = {method: [best_points(runs[name], method)[-1].excess for name in names] for method in ("paper", "refined", "server-lloyds")}
    parts = [f"{method} {', '.join(f'{x:.2f}' for x in values)} %" for method, values in shown.items()]
    modest = shown["paper"][-1] < 5 and all(shown["paper"][i] < shown["server-lloyds"][i] for i in range(4))
    return f"above optimal at epsilon 2 with 0, 1, 2, 5 clusters missing: {'; '.join(parts)}", HOLDS if modest else FAILS


def _elbow(runs: Runs) -> tuple[str, str]:
    picked: dict[str, list[int]] = {}
    for (method, name, _), elbow in elbows(runs["elbow"]).items():
        picked.setdefault(f"{method.removeprefix('elbow of ')} {name}", []).append(elbow.picked)
    paper, clean, refined = (picked.get(case, []) for case in ("paper mixture", "paper mixture-clean", "refined mixture"))
    number = (
        f"sharpest bend at {paper} for the paper's method at epsilon 1, at {clean} without the uniform server points (they form a group of "
        f"their own), at {refined} for the refined method"
    )
    return number, HOLDS if sum(k == 10 for k in paper) > len(paper) / 2 else FAILS


def _census_cost(runs: Runs) -> tuple[str, str]:
    costs = {name: runs[name][0]["optimal_cost"] for name in ("census-2", "census-5", "census-6")}
    shown = ", ".join(f"{name} {cost:.3f}" for name, cost in costs.items())
    return f"{shown} (a table with 93 % of all rows)", HOLDS if all(abs(cost - 3.5) < 0.15 for cost in costs.values()) else FAILS


def _census_better(runs: Runs) -> tuple[str, str]:
    parts, better = [], True
    for name in ("census-2", "census-5", "census-6"):
        paper = at(runs[name], "paper", 2.0)
        rivals = [at(runs[name], method, 2.0) for method in BASELINES]
        least = min(r.excess for r in rivals if r is not None)
        excess = math.nan if paper is None else paper.excess
        better &= excess < least
        parts.append(f"{name} {excess:.2f} against {least:.2f} %")
    return f"above optimal at epsilon 2, as stated against the best baseline: {'; '.join(parts)}", HOLDS if better else FAILS


def _point_shares(runs: Runs) -> tuple[str, str]:
    return _shares(runs, ("mixture-point", "census-2", "census-5", "census-6"), lambda s: s[2] == max(s), "[0.2, 0.2, 0.45, 0.15]")


def _client_shares(runs: Runs) -> tuple[str, str]:
    names = ("mixture-1000", "mixture-2000", "mixture-5000", "stackoverflow", "travel")
    return _shares(runs, names, lambda s: sorted(s)[2:] == sorted((s[0], s[2])), "[0.35, 0.1, 0.45, 0.1]")


def _shares(runs: Runs, names: Sequence[str], agrees: Callable[[tuple[float, ...]], bool], rule: str) -> tuple[str, str]:
    tables = {name: share_table(runs[name]) for name in names}
    shown = "; ".join(f"{name} {list(table or ())}" for name, table in tables.items())
    agreeing = [table is not None and agrees(table) for table in tables.values()]
    return f"the paper's rule is {rule}; mean over our fronts: {shown}", HOLDS if sum(agreeing) > len(agreeing) / 2 else FAILS


def _refined(runs: Runs) -> tuple[str, str]:
    parts, better = [], True
    for name, rows in runs.items():
        if len({row["dataset"] for row in rows}) > 1:
            continue
        pairs = [(p, at(rows, "paper", p.epsilon)) for p in best_points(rows, "refined")]
        wins = [p.mean <= other.mean for p, other in pairs if other is not None]
        if wins:
            better &= all(wins)
            parts.append(f"{name} {sum(wins)} of {len(wins)}")
    return (
        f"budgets at which refined costs no more than the best setting of the paper's method: {', '.join(parts)}",
        HOLDS if better else FAILS,
    )


def _peers(runs: Runs) -> tuple[str, str]:
    rows, parts, lower = runs["peers-central"], [], True
    for problem in dict.fromkeys(row["dataset"] for row in rows):
        points = best_points([row for row in rows if row["dataset"] == problem], "refined")
        ratios = [p.mean / best_recorded(problem, p.epsilon) for p in points]
        # Recorded costs have three digits.
        lower &= all(ratio <= 1.005 for ratio in ratios)
        parts.append(f"{problem} {min(ratios):.2f} to {max(ratios):.3f}")
    return f"our cost over that of the best recorded program, over all budgets: {'; '.join(parts)}", HOLDS if lower else FAILS


CENSUS = ("census-2", "census-5", "census-6")
CLIENTS = ("mixture-1000", "mixture-2000", "mixture-5000")
CLAIMS = (
    PaperClaim("Optimal (non-private) performance on the mixture at a budget of around epsilon 0.4", ("mixture-point",), _optimal_at_04),
    PaperClaim("The baselines plateau even as the budget grows", ("mixture-point",), _plateau),
    PaperClaim("On the census FedDP-KMeans outperforms the baselines, except at very low budgets", CENSUS, _census_better),
    PaperClaim("The optimal census cost is about 3.5", CENSUS, _census_cost),
    PaperClaim("More clients, better at the same epsilon", CLIENTS, _more_clients),
    PaperClaim("Never more than 2 Lloyd steps on the front, mostly none", ("mixture-point", *CENSUS, *CLIENTS), _few_steps),
    PaperClaim(
        "Performance deteriorates modestly as clusters are missing, and stays the best",
        ("mixture-point", "missing-1", "missing-2", "missing-5"),
        _missing,
    ),
    PaperClaim("The elbow is at k = 10", ("elbow",), _elbow),
    PaperClaim("At point level step 3's sums deserve the largest share of the budget", ("mixture-point", *CENSUS), _point_shares),
    PaperClaim(
        "At client level the subspace and the sums deserve the largest shares", (*CLIENTS, "stackoverflow", "travel"), _client_shares
    ),
    PaperClaim("(Ours, not the paper's) without server data no recorded program costs less, at any budget", ("peers-central",), _peers),
    PaperClaim(
        "(Ours, not the paper's) the refined method costs no more than the paper's at any budget tried", ("mixture-point",), _refined
    ),
)
