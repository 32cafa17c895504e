"""Pages of results in Markdown: every item of the paper with its verdict, every experiment with its table and figure."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from feddp_studies.reproduction.claim_verdicts import BASELINES, DecidedClaim, Runs
from feddp_studies.reproduction.curves import (
    CurvePoint,
    Row,
    at,
    best_rival,
    budgets,
    pareto_points,
    points_of,
    share_table,
    shown_methods,
    step_table,
)
from feddp_studies.reproduction.methods import METHODS
from feddp_studies.reproduction.peers import best_recorded
from feddp_studies.reproduction.spec import Experiment


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def claims_table(found: Iterable[DecidedClaim]) -> str:
    """Return all claims that the runs decide, with our numbers and verdicts."""
    rows = [[one.claim.where, one.claim.name, one.claim.words, one.number, f"**{one.verdict}**"] for one in found]
    return table(["where", "name", "the words", "we measure", "verdict"], rows)


def front_table(experiments: Sequence[Experiment], runs: Runs) -> str:
    """Return the paper's tables of shares and of Lloyd steps: means over the settings of method "paper" on each front."""
    shown = [e for e in experiments if e.kind == "pareto" and share_table(runs.get(e.name, ()))]
    tried = sorted({steps for e in shown for steps in step_table(runs[e.name])})
    rows = []
    for experiment in shown:
        own = runs[experiment.name]
        shares, steps, front = share_table(own) or (), step_table(own), pareto_points(own, "paper")
        parts = [f"{steps[count]:.2f}" if count in steps else "-" for count in tried]
        bounds = sorted({point.bounds for point in points_of(own, "paper")})
        wide = "/".join(f"{sum(p.bounds == b for p in front)}" for b in bounds) if len(bounds) > 1 else "-"
        rows.append([experiment.name, *(f"{share:.2f}" for share in shares), *parts, wide, str(len(front))])
    heads = ["experiment", "epsilon_1", "epsilon_2", "epsilon_3G", "epsilon_3L", *(f"T = {count}" for count in tried)]
    return table([*heads, "B at 1/2, 1, 2 times", "settings on the front"], rows)


def section(experiment: Experiment, rows: Sequence[Row]) -> str:
    """Return the section of one experiment: what was run, its figure and its table."""
    seeds = len({row["seed"] for row in rows})
    told = f"{seeds} {'seed' if seeds == 1 else 'seeds'}, {len(rows):,} runs, {minutes_of(rows)} min of one core"
    made_by = f"`feddp reproduce {experiment.name}`, spec {experiment.digest}"
    lines = [f"## {experiment.title}", f"*{experiment.paper}.* {told}, {made_by}.\n"]
    if experiment.kind not in ("table", "assumptions"):
        lines.append(f"![{experiment.title}](figures/{experiment.name}.svg)\n")
    made = {"pareto": cost_table, "table": set_table, "peers": peers_table, "assumptions": _assumption_table, "cohorts": _cohort_table}
    if experiment.kind in made:
        lines.append(made[experiment.kind](rows))
    return "\n".join(lines)


def minutes_of(rows: Sequence[Row]) -> int:
    """Return the minutes that the clustering of all rows took, at least one."""
    return max(1, round(sum(row.get("seconds") or 0.0 for row in rows) / 60))


def cost_table(rows: Sequence[Row]) -> str:
    """Return each method's best cost above optimal at each budget: mean, and worst over seeds."""
    epsilons = budgets(rows)
    body = []
    for method in shown_methods(rows):
        points = [at(rows, method, epsilon) for epsilon in epsilons]
        body.append([METHODS[method].label, *("" if p is None else _mean_and_worst(p) for p in points)])
    best = [best_rival(rows, epsilon, BASELINES) for epsilon in epsilons]
    for method in ("refined", "paper"):
        points = [at(rows, method, epsilon) for epsilon in epsilons]
        parts = ["" if p is None or b is None else f"{p.share_above(b):.0%}" for p, b in zip(points, best, strict=True)]
        body.append([f"runs of {method} above the best DP baseline's mean", *parts])
    optimal = fmean(row["optimal_cost"] for row in rows)
    said = f"Cost above optimal in per cent, best setting of each method: mean (worst seed). Optimal costs {optimal:.4f} a point.\n\n"
    return said + table(["epsilon", *(f"{epsilon:g}" for epsilon in epsilons)], body)


def _mean_and_worst(point: CurvePoint) -> str:
    return f"{point.excess:.3f} ({point.worst:.3f})" if len(point.costs) > 1 else f"{point.excess:.3f}"


def set_table(rows: Sequence[Row]) -> str:
    """Return a line per data set and budget: what the refined method costs, beside the oracle floor and the others that were run."""
    others = [name for name in shown_methods(rows) if name not in ("refined", "oracle-floor")]
    body = []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        own = [row for row in rows if row["dataset"] == name]
        for epsilon in budgets(own):
            point, floor = at(own, "refined", epsilon), at(own, "oracle-floor", epsilon)
            if point is None or floor is None:
                continue
            beside = [at(own, other, epsilon) for other in others]
            cells = [f"{point.excess:.3f} %", f"{point.worst:.3f} %", f"{point.excess / floor.excess:.2f}" if floor.excess > 0 else "-"]
            body.append([name, f"{epsilon:g}", str(len(point.costs)), *cells, *("" if p is None else f"{p.excess:.3f} %" for p in beside)])
    return table(
        ["data", "epsilon", "seeds", "refined: mean above optimal", "worst", "x floor", *(METHODS[one].label for one in others)], body
    )


def peers_table(rows: Sequence[Row]) -> str:
    """Return a line per central data set and budget, beside the best recorded program, with how many runs cost more than it."""
    body = []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        for point in points_of([row for row in rows if row["dataset"] == name], "refined"):
            best = best_recorded(name, point.epsilon)
            above = sum(cost > best for cost in point.costs)
            cost = [f"{point.mean:.5g}", f"{max(point.costs):.5g}", f"{point.excess:.2f} %", f"{best:g}", f"{above} of {len(point.costs)}"]
            body.append([name, f"{point.epsilon:g}", str(len(point.costs)), *cost])
    return table(["data", "epsilon", "seeds", "mean cost", "worst", "above optimal", "best rival", "runs above it"], body)


def _cohort_table(rows: Sequence[Row]) -> str:
    body = []
    rates = sorted({row["sampling_rate"] for row in rows}, reverse=True)
    for name in dict.fromkeys(row["dataset"] for row in rows):
        for method in shown_methods(rows):
            for epsilon in budgets(rows):
                own = [row for row in rows if row["dataset"] == name and row["epsilon"] == epsilon]
                found = [points_of(own, method, rate) for rate in rates]
                cells = [f"{points[0].excess:.2f} %" if points else "" for points in found]
                body.append([name, METHODS[method].label, f"{epsilon:g}", *cells])
    said = "Cost above optimal, by the part of the clients that takes part in a release:\n\n"
    return said + table(["data", "method", "epsilon", *(f"{rate:g}" for rate in rates)], body)


def _assumption_table(rows: Sequence[Row]) -> str:
    names = [name for name in ("assumption_1", "assumption_2") if name in rows[0]]
    body = [[row["dataset"], f"{row['radius']:.2f}", *(str(row[name]).split(": ", 1)[1] for name in names)] for row in rows]
    return table(["data set", "radius of the server data", "assumption (1) at epsilon 1", "assumption (2) at epsilon 1"], body)
