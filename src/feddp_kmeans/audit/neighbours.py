"""The worst unit for a query: the one that moves its exact sum most. Built from what the query makes public, not drawn at random.

One moved farther than the release's noise is made for refutes the release by itself, and no run is needed.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.watch import Known, Watched
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.statistics.fixed_point import Ball

_REPEATS = (1, 30, 10_000)
"""How often a client repeats a point."""

_MORE_REPEATS = (2, 3, 4, 5, 6, 8, 11, 16, 23, 45, 64, 91, 128)
"""The same for two points alone: bounds that are missed by a small factor are missed by clients just beyond them."""

_TOO_MANY = 200_000
"""Rows of a client that no batch holds."""

_NEAR, _LEAST_BOUND = 0.9, 1e-6
"""Reach from which a bound is met, and the least part of a bound that is tried instead."""

_REACHES = (0.0, 0.5, 1.0, 1.5, 1e6, 1e200)
"""Distances from the ball's center, in radii."""

_STEPS = np.geomspace(1e-3, 10.0, 25)
"""The same on one axis alone, and around one cluster's center."""

_IN_COMPANY = 3
"""One unit in so many is tried in company too: a sum that others have a part in would show with most of them."""

_RANDOM = 12
_WORTH = 1e-3
"""By how much farther a larger unit must move a sum to be taken for it: large ones are slow."""

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Worst:
    """The unit that moves a query most."""

    query: Watched
    unit: FloatArray
    reach: float
    """How far it moves the exact sum, in parts of what the release's noise is made for: above 1 the release is refuted."""

    def finding(self, about: str) -> AuditFinding:
        """Return what the search found."""
        n_rows = len(self.unit)
        what = f"a unit of {n_rows} point{'s' * (n_rows != 1)} moves the exact sum by {self.reach:.9g} of the stated sensitivity"
        return AuditFinding("no unit moves the sum beyond its sensitivity", about, what, self.reach > 1 + _TOLERANCE)


def worst_unit(case: AuditCase, query: Watched) -> Worst:
    """Return the unit that moves the query's sum most, alone or in company.

    Where no unit comes near the stated sensitivity because the query's bound is larger than any client, the query is tried with a bound
    that clients do reach: a release must be private whatever public numbers it is asked with.
    """
    best = _search(case, query)
    hard_to_reach = best.reach < _NEAR or len(best.unit) >= _REPEATS[-1]
    if hard_to_reach and best.reach <= 1 and "bound" in query.public:
        easier = query.public["bound"] * max(best.reach, _LEAST_BOUND) / len(best.unit)
        best = max(best, _search(case, replace(query, public=query.public | {"bound": easier})), key=_use)
    return best


def _use(found: Worst) -> tuple[bool, bool, int]:
    """Return how much an auditor likes a unit: one that refutes, one that comes near, one that is small."""
    return found.reach > 1 + _TOLERANCE, found.reach >= _NEAR, -len(found.unit)


def _search(case: AuditCase, query: Watched) -> Worst:
    best = Worst(query, np.zeros((1, case.dimension)), -1.0)
    tried = list(units(case, query))
    small = [unit for unit in tried if len(unit) < _REPEATS[-1]][::_IN_COMPANY]
    for others, some in ((case.nobody, tried), (case.company, small)):
        before = case.known(case.clients(others, None)).total(query)
        for unit in some:
            reach = _reach(query, case.known(case.clients(others, unit)), before)
            if reach > best.reach and (reach > 1 + _TOLERANCE or reach > best.reach + _WORTH or len(unit) <= len(best.unit)):
                best = Worst(query, unit, reach)
    return best


def worst_for_all(case: AuditCase) -> FloatArray:
    """Return the unit that an attacker on a whole run learns most of: noise multipliers and times counted, releases added up."""

    def told(unit: FloatArray) -> float:
        known = case.known(case.clients(case.nobody, unit))
        return sum((_reach(query, known, absent.total(query)) / query.release.noise_multiplier) ** 2 for query in case.queries)

    absent = case.known(case.clients(case.nobody, None))
    return max(_whole_run_units(case, case.queries[0]), key=told)


def units(case: AuditCase, query: Watched) -> Iterator[FloatArray]:
    """Yield units that may move this query most: at the edge, far out, on axes and diagonals, at centers, repeated and spread out."""
    spots = single_points(query.public, case.dimension)
    center, radius = _ball(query.public, case.dimension)
    edge = center + radius * np.eye(case.dimension)[:1]
    middle = _at_a_center(query, center)
    yield np.full((1, case.dimension), np.nan)
    yield from (start + step * (edge - center) for start in (center, middle) for step in _STEPS)
    if case.is_point_level:
        yield from (spot[None] for spot in spots)
        return
    yield from (np.repeat(spot[None], times, axis=0) for spot in spots for times in _REPEATS[:-1])
    places = _lifted(query.public)
    yield from (np.repeat(spot, times, axis=0) for spot in (edge, middle) for times in _MORE_REPEATS)
    for spread in (spots, *((places,) if places is not None else ())):
        yield from (np.tile(spread, (times, 1)) for times in (1, 30))
    yield from (np.repeat(edge, times, axis=0) for times in (_REPEATS[-1], _TOO_MANY))


def _whole_run_units(case: AuditCase, query: Watched) -> Iterator[FloatArray]:
    center, radius = _ball(query.public, case.dimension)
    for direction in (np.eye(case.dimension)[0], -np.eye(case.dimension)[-1]):
        spot = center + 1.0000001 * radius * direction
        yield from (np.repeat(spot[None], times, axis=0) for times in ((1,) if case.is_point_level else (1, 30)))


def _reach(query: Watched, known: Known, before: FloatArray) -> float:
    release = query.release
    moved = np.rint((known.total(query) - before) / release.grid)
    norm = np.abs(moved).sum() if release.mechanism is Mechanism.LAPLACE else math.sqrt(np.square(moved).sum())
    return float(norm / release.integer_sensitivity) if np.isfinite(norm) else math.inf


def single_points(public: Mapping[str, Any], dimension: int) -> FloatArray:
    """Return single points worth trying for a query with these public arguments."""
    rng = np.random.default_rng(2)
    center, radius = _ball(public, dimension)
    axes = np.eye(dimension)
    directions = np.concatenate([axes, -axes[:1], np.ones((1, dimension)) / math.sqrt(dimension)])
    drawn = rng.standard_normal((_RANDOM, dimension))
    spots = [center + radius * reach * direction for reach in _REACHES for direction in directions]
    spots += [center + radius * row / np.linalg.norm(row) for row in drawn]
    places = _lifted(public)
    if places is not None:
        spots += [*places[:8], *(places[:4] + radius * axes[0])]
    return np.array(spots)


def _ball(public: Mapping[str, Any], dimension: int) -> tuple[FloatArray, float]:
    """Return the ball that a query clips to; for a query without one, a ball that its edges or its box span."""
    if "low" in public:
        low, high = np.asarray(public["low"]), np.asarray(public["high"])
        return (low + high) / 2, float(np.linalg.norm(high - low) / 2)
    center = np.asarray(public.get("center", np.zeros(dimension)), dtype=np.float64)
    if "radius" in public:
        return center, float(public["radius"])
    return center, float(np.asarray(public.get("edges", [1.0]))[-1])


def _at_a_center(query: Watched, otherwise: FloatArray) -> FloatArray:
    """Return the place of the query's first cluster, as one row; the given one where it has none."""
    places = _lifted(query.public)
    return otherwise[None] if places is None else places[:1]


def _lifted(public: Mapping[str, Any]) -> FloatArray | None:
    """Return the query's cluster centers as points of the data's own space; None where it has none."""
    if "centers" not in public or "radius" not in public:
        return None
    centers, projection = np.asarray(public["centers"], dtype=np.float64), public.get("projection")
    whole = centers if projection is None else centers @ np.asarray(projection).T
    return Ball(np.asarray(public["center"]), float(public["radius"])).decode(whole)
