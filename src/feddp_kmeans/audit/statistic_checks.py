"""Every production statistic, whatever the settings of the audited run are: its value, its bits in every place, and its sensitivity.

The value is held against the slow reference, the bits of all places against each other, and the sensitivity against the worst units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.neighbours import single_points, worst_unit
from feddp_kmeans.audit.places import Place, exact_sums, places
from feddp_kmeans.audit.reference import known_statistics, reference_sum, rounding
from feddp_kmeans.audit.watch import Watched
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.query import Query, Statistic

_SIZES = (7, 0, 1, 33, 4)
"""Points of the clients: none, one, few, and more than one power of two."""

_FAR = 1e30
_MIDDLE = 3
"""Coordinates in which the ball's center is not zero."""


@dataclass(frozen=True)
class ArgumentShape:
    """The sizes and ranges of made-up public arguments."""

    dimension: int
    k: int
    columns: int | None
    """Columns of the projections; None: no projections."""
    middle: float
    """Distance of the ball's center from the origin, in radii."""
    tight: float
    """The bound, in parts of what a point at the edge of the ball adds."""

    outside: float = 0.5
    """Part of the points that are outside the ball: only where they are few do sparse rows stay sparse."""


SHAPES = (
    ArgumentShape(3, 2, None, 0.1, 0.7),
    ArgumentShape(5, 50, 2, 0.5, 0.4),
    ArgumentShape(24, 3, 4, 40.0, 1.0, outside=0.05),
    ArgumentShape(24, 3, None, 0.5, 1.0, outside=0.05),
)
"""Few centers; many, in a subspace, with a tight bound; many coordinates of few points outside, far from the origin and near it."""


def statistic_findings(names: Sequence[str] | None = None, shapes: Sequence[ArgumentShape] = SHAPES) -> list[AuditFinding]:
    """Return the findings on the statistics of these names (default: all of the registry), in all places."""
    chosen = [REGISTRY[name] for name in (sorted(REGISTRY) if names is None else names)]
    findings = [_has_reference(chosen)]
    for unit in PrivacyUnit:
        own = [statistic for statistic in chosen if statistic.unit is unit]
        for shape in shapes if own else ():
            queries = [Query(statistic, arguments(statistic, shape), shape.dimension) for statistic in own]
            findings += [_value(query, shape) for query in queries if query.statistic.name in known_statistics()]
            findings += _bits(queries, shape)
            findings += [found for query in queries if shape is SHAPES[0] for found in _sensitivity(query)]
    return findings


def arguments(statistic: Statistic, shape: ArgumentShape) -> dict[str, Any]:
    """Return made-up public arguments of these sizes."""
    rng = np.random.default_rng(5)
    d, k, p = shape.dimension, shape.k, shape.columns or shape.dimension
    radius = 2.0
    projections = [np.linalg.qr(rng.standard_normal((d, p)))[0] for _ in range(2)] if shape.columns else [None, None]
    inside = 0.8 * RESOLUTION / np.sqrt(p)
    made = {
        "center": np.where(np.arange(d) < _MIDDLE, radius * shape.middle / np.sqrt(_MIDDLE), 0.0),
        "radius": radius,
        "projection": projections[0],
        "residual_projection": projections[1],
        "centers": np.rint(rng.uniform(-inside, inside, (k, p))),
        "origins": np.rint(rng.uniform(-inside, inside, (k, p))),
        "count_weight": 20_000.0,
        "low": np.full(d, -1.5),
        "high": np.full(d, 1.7),
        "cells": np.array([4.0, 3.0, *[1.0] * (d - 2)]),
    }
    lengths = {"distances": radius, "residual-norms": RESOLUTION, "moment-norms": float(RESOLUTION) ** 2}
    unit = next((length for end, length in lengths.items() if statistic.name.endswith(end)), 1.0)
    made["edges"] = unit * np.geomspace(0.05, 30.0, 9)
    bounds = {
        "outer": radius**2,
        "counts": 4.0,
        "presence": 1.0,
        "sums": radius,
        "means": radius,
        "residuals": RESOLUTION,
        "moment": RESOLUTION**2,
    }
    made["bound"] = shape.tight * next((b for part, b in bounds.items() if part in statistic.name), 1.0)
    return {name: made[name] for name in statistic.arguments}


def made_up_clients(shape: ArgumentShape) -> list[FloatArray]:
    """Return clients with points inside the ball, on its edge, far outside, at the origin, and without a value. All fit float32."""
    rng = np.random.default_rng(6)
    center, radius = (arguments(REGISTRY["outer-product"], shape)[name] for name in ("center", "radius"))
    clients = []
    for size in _SIZES:
        directions = rng.standard_normal((size, shape.dimension))
        directions[:, rng.random(shape.dimension) < 0.3] = 0.0
        directions[:, 0] += 0.1
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        beyond = rng.random((size, 1)) < shape.outside
        reach = np.where(beyond, rng.choice([1.4, 8.0, _FAR], (size, 1)), rng.choice([0.2, 0.7, 0.95], (size, 1)))
        points = center + radius * reach * directions
        points[:, _MIDDLE:][rng.random((size, shape.dimension - _MIDDLE)) < 0.2] = 0.0
        clients.append(points.astype(np.float32).astype(np.float64))
    clients[0][1, _MIDDLE:] = 0.0
    clients[3][7] = 0.0
    clients[0][2, -1] = np.nan
    clients[3][5, 0] = np.inf
    return clients


def _has_reference(statistics: Sequence[Statistic]) -> AuditFinding:
    unknown = [statistic.name for statistic in statistics if statistic.name not in known_statistics()]
    told = f"{len(statistics)} statistics; without a reference: {', '.join(unknown) or 'none'}"
    return AuditFinding("every statistic that sites answer is known", "statistics", told, bool(unknown))


def _value(query: Query, shape: ArgumentShape) -> AuditFinding:
    name, clients = query.statistic.name, made_up_clients(shape)
    found = exact_sums(places()[0], clients, [query])[0]
    units = sum(_SIZES) if query.statistic.unit is PrivacyUnit.POINT else len(_SIZES)
    off = float(np.linalg.norm(found - reference_sum(query, clients)) / (query.sensitivity.l2 * units))
    told = f"it is {off:.1e} sensitivities a unit from the slow reference"
    return AuditFinding("a statistic is what it is stated to be", f"{name}, {_said(shape)}", told, off > rounding(query))


def _bits(queries: Sequence[Query], shape: ArgumentShape) -> list[AuditFinding]:
    """Return, for every place, whether its sums have the same bits as those of plain arrays."""
    unit = queries[0].statistic.unit
    spots = single_points(queries[-1].public, shape.dimension) if shape.outside == 0.5 else np.empty((0, shape.dimension))
    clients = [*made_up_clients(shape), spots[np.abs(spots).max(axis=1, initial=0.0) < _FAR].astype(np.float32).astype(np.float64)]
    here, *others = (place for place in places() if unit in place.units and (place.quick or shape is SHAPES[1]))
    expected = exact_sums(here, clients, queries)
    return [_same_bits(place, clients, queries, expected, shape) for place in others]


def _same_bits(
    place: Place, clients: list[FloatArray], queries: Sequence[Query], expected: list[Any], shape: ArgumentShape
) -> AuditFinding:
    found = exact_sums(place, clients, queries)
    differ = [query.statistic.name for query, one, other in zip(queries, found, expected, strict=True) if not np.array_equal(one, other)]
    told = f"{len(queries)} sums; of other bits than from arrays: {', '.join(differ) or 'none'}"
    return AuditFinding("every place gives the same bits", f"{place.name}, {_said(shape)}", told, bool(differ))


def _sensitivity(query: Query) -> list[AuditFinding]:
    """Return whether any unit moves the sum farther than the statistic states, in each norm that it states."""
    statistic, stated = query.statistic, query.sensitivity
    case = AuditCase(Settings(2, 8.0, privacy_unit=statistic.unit, lloyd_steps=0), query.dimension)
    findings = []
    for mechanism, bound in ((Mechanism.GAUSSIAN, stated.l2), (Mechanism.LAPLACE, stated.l1)):
        if bound is not None:
            release = Release("probe", mechanism, bound, bound, 1.0, query.size)
            worst = worst_unit(case, Watched(statistic, release, dict(query.public), query.dimension))
            findings.append(worst.finding(f"{statistic.name}, {mechanism.value}"))
    return findings


def _said(shape: ArgumentShape) -> str:
    return f"{shape.dimension} coordinates, {shape.k} centers"
