"""From rows of runs to the paper's figures and tables: fronts, comparisons over seeds, and what the runs on a front have in common."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_studies.reproduction.methods import METHODS

Row = dict[str, Any]

TIE = 2.0
"""Two settings tie if their mean difference, seed by seed, is below so many standard errors of it."""


@dataclass(frozen=True)
class CurvePoint:
    """One setting of a method at one budget: costs over seeds."""

    method: str
    epsilon: float
    lloyd_steps: int
    shares: tuple[float, ...]
    bounds: float
    seeds: tuple[int, ...]
    costs: tuple[float, ...]
    optimal: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Return the mean cost over seeds."""
        return float(np.mean(self.costs))

    @property
    def excess(self) -> float:
        """Return the mean cost above optimal, in per cent."""
        return float(np.mean(self.excesses))

    @property
    def worst(self) -> float:
        """Return the largest cost above optimal over seeds, in per cent."""
        return max(self.excesses)

    @property
    def excesses(self) -> tuple[float, ...]:
        """Return each seed's cost above optimal, in per cent."""
        return tuple(100 * (c / o - 1) for c, o in zip(self.costs, self.optimal, strict=True))

    def compared(self, other: "CurvePoint") -> int:
        """Return -1 if this costs less than the other, 1 if more, 0 if it is a tie: by the differences over the seeds they share."""
        theirs = dict(zip(other.seeds, other.costs, strict=True))
        differences = np.array([cost - theirs[seed] for seed, cost in zip(self.seeds, self.costs, strict=True) if seed in theirs])
        if len(differences) < 2:
            return int(np.sign(self.mean - other.mean))
        error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
        mean = float(differences.mean())
        return 0 if abs(mean) <= TIE * error else int(np.sign(mean))

    def share_above(self, other: "CurvePoint") -> float:
        """Return which part of the runs is further above optimal than the other's mean: each seed has an optimum of its own."""
        return float(np.mean(np.array(self.excesses) > other.excess))


def points_of(rows: Iterable[Row], method: str, sampling_rate: float = 1.0) -> list[CurvePoint]:
    """Return every setting of a method with this part of the clients in each release, ordered by budget."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row["method"] == method and row.get("sampling_rate", 1.0) == sampling_rate:
            groups[row["epsilon"], row["lloyd_steps"], tuple(row["shares"]), row.get("bounds", 1.0)].append(row)
    return [
        CurvePoint(method, *key, *(tuple(row[name] for row in group) for name in ("seed", "cost", "optimal_cost")))
        for key, group in sorted(groups.items())
    ]


def best_points(rows: Iterable[Row], method: str) -> list[CurvePoint]:
    """Return a method's best setting at each budget, chosen by mean cost."""
    best: dict[float, CurvePoint] = {}
    for point in points_of(rows, method):
        if point.epsilon not in best or point.mean < best[point.epsilon].mean:
            best[point.epsilon] = point
    return list(best.values())


def pareto_points(rows: Iterable[Row], method: str) -> list[CurvePoint]:
    """Return a method's Pareto front, what a figure's curve is drawn through: the best settings that no smaller budget beats."""
    front: list[CurvePoint] = []
    for point in best_points(rows, method):
        if not front or point.mean < front[-1].mean:
            front.append(point)
    return front


def share_table(rows: Iterable[Row]) -> tuple[float, ...] | None:
    """Return the mean proportions of the budget over the runs on the front of method "paper": the paper's tables of shares."""
    front = [point for point in pareto_points(rows, "paper") if point.shares]
    return tuple(np.mean([p.shares for p in front], axis=0).round(2).tolist()) if front else None


def step_table(rows: Iterable[Row], method: str = "paper") -> dict[int, float]:
    """Return which part of the runs on a method's front made how many Lloyd steps, for all numbers that were tried."""
    rows = list(rows)
    front = pareto_points(rows, method)
    tried = sorted({point.lloyd_steps for point in points_of(rows, method)})
    return {steps: sum(p.lloyd_steps == steps for p in front) / len(front) for steps in tried}


def at(rows: Iterable[Row], method: str, epsilon: float) -> CurvePoint | None:
    """Return a method's best setting at one budget; of a method without noise, its only one."""
    found = [point for point in best_points(rows, method) if point.epsilon in (epsilon, math.inf)]
    return found[0] if found else None


def budgets(rows: Iterable[Row]) -> list[float]:
    """Return the budgets that were tried."""
    return sorted({row["epsilon"] for row in rows if math.isfinite(row["epsilon"])})


def best_rival(rows: Sequence[Row], epsilon: float, rivals: Iterable[str]) -> CurvePoint | None:
    """Return the best setting of all these methods at one budget."""
    found = [point for method in rivals if (point := at(rows, method, epsilon)) is not None]
    return min(found, key=lambda point: point.mean, default=None)


def shown_methods(rows: Iterable[Row]) -> list[str]:
    """Return the methods of these rows, in the order in which they were registered."""
    present = {row["method"] for row in rows}
    return [name for name in METHODS if name in present]


@dataclass(frozen=True)
class Bend:
    """The costs for every number of clusters, as the paper draws them."""

    numbers: tuple[int, ...]
    costs: tuple[float, ...]

    @property
    def picked(self) -> int:
        """Return where the logarithm of the cost bends most: stands for the person who looks at the curve."""
        logs = np.log(np.maximum(self.costs, 1e-12 * max(self.costs[0], 1e-300)))
        return self.numbers[1 + int(np.argmax(np.diff(logs, 2)))]


def elbows(rows: Iterable[Row]) -> dict[tuple[str, str, int], Bend]:
    """Return for each method, data set and seed the costs of every number of clusters, and where they bend."""
    groups: dict[tuple[str, str, int], list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        groups[row["method"], row["dataset"], row["seed"]].append((row["n_clusters"], row["cost"]))
    found = {}
    for key, group in sorted(groups.items()):
        numbers, costs = zip(*sorted(group), strict=True)
        found[key] = Bend(numbers, costs)
    return found
