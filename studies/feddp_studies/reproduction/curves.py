"""From rows of runs to the paper's figures and tables: fronts, and what the runs on a front have in common."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = dict[str, Any]


@dataclass(frozen=True)
class CurvePoint:
    """One setting of a method at one budget: costs over seeds."""

    method: str
    epsilon: float
    lloyd_steps: int
    shares: tuple[float, ...]
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
    def excesses(self) -> tuple[float, ...]:
        """Return each seed's cost above optimal, in per cent."""
        return tuple(100 * (c / o - 1) for c, o in zip(self.costs, self.optimal, strict=True))


def points_of(rows: Iterable[Row], method: str) -> list[CurvePoint]:
    """Return every setting of a method, ordered by budget."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row["method"] == method:
            groups[row["epsilon"], row["lloyd_steps"], tuple(row["shares"])].append(row)
    return [
        CurvePoint(method, epsilon, steps, shares, tuple(r["cost"] for r in group), tuple(r["optimal_cost"] for r in group))
        for (epsilon, steps, shares), group in sorted(groups.items())
    ]


def best_points(rows: Iterable[Row], method: str) -> list[CurvePoint]:
    """Return a method's best setting at each budget, chosen by mean cost: what a figure's curve is drawn through."""
    best: dict[float, CurvePoint] = {}
    for point in points_of(rows, method):
        if point.epsilon not in best or point.mean < best[point.epsilon].mean:
            best[point.epsilon] = point
    return list(best.values())


def pareto_points(rows: Iterable[Row], method: str) -> list[CurvePoint]:
    """Return a method's Pareto front: the best settings that no smaller budget beats."""
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
    """Return which part of the runs on a method's front made 0, 1 or 2 Lloyd steps."""
    front = pareto_points(rows, method)
    return {steps: sum(p.lloyd_steps == steps for p in front) / len(front) for steps in (0, 1, 2)} if front else {}


def at(rows: Iterable[Row], method: str, epsilon: float) -> CurvePoint | None:
    """Return a method's best setting at one budget."""
    return next((point for point in best_points(rows, method) if point.epsilon == epsilon), None)


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
