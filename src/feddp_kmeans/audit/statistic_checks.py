"""Checks of every production statistic: the same bits in every place, and its sensitivity on the worst units.

Units are built from what a query makes public, not drawn at random.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.audit.finding import AuditFinding, all_right
from feddp_kmeans.audit.places import ARRAYS, Place, exact_sums, places
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.batches import batch_rows
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS, RESOLUTION, Ball
from feddp_kmeans.statistics.profile_sums import CLUSTERED, VALUE
from feddp_kmeans.statistics.query import Query, Statistic

_SIZES = (7, 0, 1, 33, 4)
"""Points of the clients: none, one, few, and more than one power of two."""

_FAR = 1e30
_RADIUS = 2.0
_MIDDLE = 3
"""Coordinates in which the ball's center is not zero."""

_REPEATS = (1, 2, 3, 4, 5, 6, 8, 11, 16, 23, 30, 45, 64, 91, 128, 10_000, 2 * EXACT_ROWS)
"""How often a client repeats a point: a bound that is wrong by a small factor shows only in clients just beyond it."""

_REACHES = (0.0, 0.5, 1.0, 1.5, 1e6, 1e200)
"""Distances from the ball's center, in radii."""

_FACTORS = (0.0, math.nan, 1e-300, 1e-30, 1e-9, 1e-3, 1.0, 1.001, 1e9, 2.0, 1e300, 1e3, -1.0, 1e30)
"""Factors for public arguments; every second one is tried in all combinations."""

SENSITIVITY = "no unit moves the sum beyond its sensitivity"
_TOLERANCE = 1e-9
_FARTHEST = 1e30
"""Largest coordinate that fits float32."""

_HOSTILE_UNITS = 12


@dataclass(frozen=True)
class ArgumentShape:
    """The sizes and ranges of made-up public arguments.

    ``columns`` are those of projections, if there are any; ``middle`` is the distance of the ball's center from the origin, in radii;
    ``tight`` is the bound relative to what a point at the edge adds; ``outside`` is the share of points outside the ball.
    """

    dimension: int
    k: int
    columns: int | None
    middle: float
    tight: float
    outside: float = 0.5


SHAPES = (
    ArgumentShape(3, 2, None, 0.1, 0.7),
    ArgumentShape(5, 50, 2, 0.5, 0.4),
    ArgumentShape(24, 3, 4, 40.0, 1.0, outside=0.05),
    ArgumentShape(24, 3, None, 0.5, 1.0, outside=0.05),
)
"""Few centers; many, in a subspace, with a tight bound; many coordinates of few points outside, far from the origin and near it."""


def question(name: str, shape: ArgumentShape) -> Query:
    """Return a statistic of the registry with made-up public arguments of these sizes."""
    return Query(REGISTRY[name], _arguments(REGISTRY[name], shape), shape.dimension)


def hostile_questions(query: Query) -> Iterator[Query]:
    """Yield changed versions of this query that the gate accepts: proofs must hold for all of them."""
    numbers = [name for name, value in query.public.items() if isinstance(value, float)]
    changes = [dict(zip(numbers, factors, strict=True)) for factors in product(_FACTORS[::2], repeat=len(numbers))]
    arrays = [name for name, value in query.public.items() if isinstance(value, np.ndarray)]
    for change in [*changes, *({name: factor} for name, factor in product(arrays, _FACTORS))]:
        with suppress(FedDPError), np.errstate(over="ignore", invalid="ignore"):
            yield Query(query.statistic, dict(query.public) | {name: query.public[name] * change[name] for name in change}, query.dimension)


def _arguments(statistic: Statistic, shape: ArgumentShape) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    d, k, p = shape.dimension, shape.k, shape.columns or shape.dimension
    projections = [np.linalg.qr(rng.standard_normal((d, p)))[0] for _ in range(2)] if shape.columns else [None, None]
    inside = 0.8 * RESOLUTION / np.sqrt(p)
    made: dict[str, Any] = {
        "center": _center(shape),
        "radius": _RADIUS,
        "projection": projections[0],
        "residual_projection": projections[1],
        "centers": np.rint(rng.uniform(-inside, inside, (k, p))),
        "origins": np.rint(rng.uniform(-inside, inside, (k, p))),
        "count_weight": 20_000.0,
        "square_weight": 1 / RESOLUTION,
        "reach": 0.9 * RESOLUTION,
        "low": np.full(d, -1.5),
        "high": np.full(d, 1.7),
        "cells": np.array([4.0, 3.0, *[1.0] * (d - 2)]),
        "depth": 2.0,
        "chosen": np.ones(d),
        "slots": np.array([0.0, 1.0, 1.0, *[0.0] * (d - 3)]),
        "n_words": 64.0,
        "most": 3.0,
        "kinds": np.array([VALUE, 3.0, *[CLUSTERED] * (d - 2)]),
        "column_edges": np.tile(_RADIUS * np.linspace(-1.5, 1.5, 7), (d, 1)),
    }
    if "projection" not in statistic.arguments:  # centers in full space, not in a subspace
        made["centers"] = np.rint(rng.uniform(-inside, inside, (k, d)))
    made["origins"][0] = made["centers"][0][:p]
    made |= {name: np.rint(rng.uniform(-inside, inside, (k, d))) for name in ("others", "ones", "twos")}
    made["sets"] = np.rint(rng.uniform(-inside, inside, (3, k, d)))
    lengths = {"distances": _RADIUS, "residual-norms": RESOLUTION, "moment-norms": RESOLUTION**2, "tree-counts": 4.0**d}
    made["edges"] = next((float(x) for end, x in lengths.items() if statistic.name.endswith(end)), 1.0) * np.geomspace(0.05, 30.0, 9)
    bounds = {"outer": _RADIUS**2, "counts": 4.0, "sums": _RADIUS, "means": _RADIUS, "residuals": RESOLUTION, "moment": RESOLUTION**2}
    bounds |= {"spreads": 4.0, "swaps": 4.0, "costs": RESOLUTION**2}
    made["bound"] = shape.tight * next((float(bound) for part, bound in bounds.items() if part in statistic.name), 1.0)
    if "bound" in statistic.arguments and statistic.arguments["bound"].whole:
        made["bound"] = 4.0
    return {name: made[name] for name in statistic.arguments}


def _center(shape: ArgumentShape) -> FloatArray:
    return np.where(np.arange(shape.dimension) < _MIDDLE, _RADIUS * shape.middle / math.sqrt(_MIDDLE), 0.0)


def made_up_clients(shape: ArgumentShape) -> list[FloatArray]:
    """Return clients with points inside the ball, on its edge, far outside, at the origin, and without a value. All fit float32."""
    rng = np.random.default_rng(6)
    clients = []
    for size in _SIZES:
        directions = rng.standard_normal((size, shape.dimension))
        directions[:, rng.random(shape.dimension) < 0.3] = 0.0
        directions[:, 0] += 0.1
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        beyond = rng.random((size, 1)) < shape.outside
        reach = np.where(beyond, rng.choice([1.4, 8.0, _FAR], (size, 1)), rng.choice([0.2, 0.7, 0.95], (size, 1)))
        points = _center(shape) + _RADIUS * reach * directions
        points[:, _MIDDLE:][rng.random((size, shape.dimension - _MIDDLE)) < 0.2] = 0.0
        clients.append(points)
    clients[0][1, _MIDDLE:] = 0.0
    clients[3][7] = 0.0
    clients[0][2, -1] = clients[4][:, 0] = np.nan
    clients[3][5, 0] = np.inf
    return [points.astype(np.float32).astype(np.float64) for points in clients]


def units(query: Query) -> Iterator[FloatArray]:
    """Yield units that may move this query most: at the edge, far out, on axes and diagonals, at centers, repeated and spread out."""
    spots = single_points(query)
    yield np.full((1, query.dimension), np.nan)
    if query.statistic.unit is PrivacyUnit.POINT:
        yield from spots[:, None]
        return
    yield from (np.repeat(spot[None], times, axis=0) for spot in spots for times in (1, 30))
    center, edge = _ball(query.public, query.dimension)[0], spots[-1]
    at_center = _lifted(query.public, center[None])
    yield from (np.repeat(spot[None], times, axis=0) for spot in (edge, at_center[0]) for times in _REPEATS)
    yield from (np.tile(spread, (times, 1)) for spread in (spots, at_center) for times in (1, 30))


def single_points(query: Query) -> FloatArray:
    """Return single points worth trying for a query; the last one is at the edge of the ball."""
    dimension = query.dimension
    center, radius = _ball(query.public, dimension)
    axes = np.eye(dimension)
    directions = np.concatenate([-axes[:1], np.ones((1, dimension)) / math.sqrt(dimension), axes[::-1]])
    drawn = np.random.default_rng(2).standard_normal((12, dimension))
    at_centers = _lifted(query.public, center[None])
    near = [start + radius * step * axes[0] for start in (center, at_centers[0]) for step in np.geomspace(1e-3, 10.0, 25)]
    spots = [center + radius * reach * direction for reach in _REACHES for direction in directions]
    spots += [*near, *(center + radius * row / np.linalg.norm(row) for row in drawn)]
    return np.array([*spots, *at_centers[:8], *(at_centers[:4] + radius * axes[0]), center + 1.0000001 * radius * axes[0]])


def _ball(public: Mapping[str, Any], dimension: int) -> tuple[FloatArray, float]:
    """Return the ball that a query clips to; without one, a ball spanned by its edges or its box."""
    if "low" in public:
        return (public["low"] + public["high"]) / 2, float(np.linalg.norm(public["high"] - public["low"]) / 2)
    center = public.get("center", np.zeros(dimension))
    return center, float(public["radius"] if "radius" in public else public.get("edges", [1.0])[-1])


def _lifted(public: Mapping[str, Any], otherwise: FloatArray) -> FloatArray:
    """Return the query's cluster centers in the data's own space; ``otherwise`` if it has none."""
    if not public.keys() & {"centers", "sets"}:
        return otherwise
    centers = public["centers"] if "centers" in public else np.concatenate(public["sets"])
    projection = public.get("projection")
    return Ball(public["center"], public["radius"]).decode(centers if projection is None else centers @ projection.T)


def statistic_findings(unit: PrivacyUnit, shape: ArgumentShape, names: Sequence[str] | None = None) -> list[AuditFinding]:
    """Return the findings on the statistics of one unit (or those of these names) with arguments of one shape, in all places."""
    own = [name for name in names or sorted(REGISTRY) if REGISTRY[name].unit is unit]
    queries = [question(name, shape) for name in own]
    findings = _bits(queries, shape)
    if shape is SHAPES[0]:
        findings += [sensitivity_finding(query, query.statistic.name) for query in queries]
        findings += [_hostile(query) for query in queries]
    return findings


def sensitivity_finding(query: Query, about: str, others: Sequence[FloatArray] = ()) -> AuditFinding:
    """Return whether any unit moves the sum farther than the statistic states, alone or together with other clients."""
    worst, rows = -1.0, 0
    company = [[], list(others or made_up_clients(SHAPES[0]))]
    for number, unit in enumerate(units(query)):
        if others and len(unit) >= EXACT_ROWS:
            continue
        friends = company[number % 2] if len(unit) < EXACT_ROWS else []
        before, after = ([*friends, unit[:0]], [*friends, unit])
        if query.statistic.unit is PrivacyUnit.POINT and friends:
            before, after = friends, [*friends[:-1], np.concatenate([friends[-1], unit])]
        reach = _reach(query, exact_sums(ARRAYS, after, [query])[0] - exact_sums(ARRAYS, before, [query])[0])
        worst, rows = max((worst, rows), (reach, len(unit)))
    told = f"a unit of {rows} point{'s' * (rows != 1)} moves the exact sum by {worst:.9g} of the stated sensitivity"
    return AuditFinding(SENSITIVITY, about, told, worst > 1 + _TOLERANCE)


def _reach(query: Query, moved: IntArray) -> float:
    """Return how far a sum was moved relative to the stated sensitivity: the larger of both norms."""
    sizes, stated = np.abs(moved.astype(np.float64)), query.sensitivity
    return float(max(np.linalg.norm(sizes) / stated.l2, 0.0 if stated.l1 is None else sizes.sum() / stated.l1))


def _hostile(query: Query) -> AuditFinding:
    """Return whether the sensitivity holds for all public arguments that the gate accepts, however strange."""
    asked = [query, *hostile_questions(query)]
    spots = np.concatenate([single_points(query)[::_HOSTILE_UNITS], _lifted(query.public, np.zeros((1, query.dimension)))])
    tried = [spots[index : index + 1] for index in range(len(spots))]
    tried += [] if query.statistic.unit is PrivacyUnit.POINT else [np.tile(spots, (times, 1)) for times in (1, 50)]
    reaches = [_reach(one, moved) for unit in tried for one, moved in zip(asked, exact_sums(ARRAYS, [unit], asked), strict=True)]
    told = f"{len(asked)} strange questions; a unit moves one by {max(reaches):.9g} of its stated sensitivity"
    return AuditFinding("sensitivity holds for all arguments", query.statistic.name, told, max(reaches) > 1 + _TOLERANCE)


def _bits(queries: Sequence[Query], shape: ArgumentShape) -> list[AuditFinding]:
    """Return whether all places give the same bits: on made-up clients, on the worst units, and on a client larger than any batch."""
    spots = np.concatenate([single_points(query) for query in queries[:2]])
    fits = spots[np.abs(spots).max(axis=1) < _FARTHEST].astype(np.float32).astype(np.float64)
    clients = [*made_up_clients(shape), fits if shape.outside == SHAPES[0].outside else fits[:0]]
    here, *others = places()
    expected = exact_sums(here, clients, queries)
    found = [_same_bits(place, queries, exact_sums(place, clients, queries), expected, str(shape.dimension)) for place in others]
    if shape is SHAPES[0]:
        large = [np.repeat(fits[-1:], batch_rows(shape.dimension) + 1, axis=0), fits[:1], fits[:0]]
        expected = exact_sums(here, large, queries)
        found += [_same_bits(place, queries, exact_sums(place, large, queries), expected, "large") for place in others]
    return found


def _same_bits(place: Place, queries: Iterable[Query], found: list[IntArray], expected: list[IntArray], about: str) -> AuditFinding:
    differ = [query.statistic.name for query, one, other in zip(queries, found, expected, strict=True) if not np.array_equal(one, other)]
    return all_right("every place gives the same bits", f"{place.name}, {about}", differ)
