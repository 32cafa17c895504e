"""Histograms of how long the contributions of units are, from which later bounds are read. Also counts on a grid.

A unit's class is found by comparing its own length with public edges, so no other unit can move it.
"""

from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import dense, encoded_points
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import LARGEST, row_norms
from feddp_kmeans.statistics.gate import BALL, EDGES, RESIDUALS, SQUARES, Argument
from feddp_kmeans.statistics.paper_sums import ONE
from feddp_kmeans.statistics.query import Statistic, constant
from feddp_kmeans.statistics.residual_sums import residual_squares, residual_vectors, second_moment_norms

_MOST_CELLS = 1 << 26
_MOST_CODES = 1 << 52

SHARE_STEPS = 1 << 24
"""Integer steps of a whole unit that is shared out over classes."""

_SHARES = constant(Sensitivity(l1=float(SHARE_STEPS), l2=float(SHARE_STEPS)))
_DISTANCES = {"center": BALL["center"]} | EDGES


def _all_classes(*, e: int, **_: Any) -> int:
    return e + 1


def _distances(batch: ClientBatch, *, center: FloatArray, edges: FloatArray) -> IntArray:
    with np.errstate(over="ignore"):
        lengths = row_norms(np.clip(batch.dense - center, -LARGEST, LARGEST))
    width = len(edges) + 1
    # Only pairs of a client and a class that occur, not a table of all of them: edges may be many.
    pairs, counts = np.unique(batch.owners * width + np.searchsorted(edges, lengths), return_counts=True)
    return shared(pairs, counts, batch.sizes, width)


def shared(pairs: IntArray, counts: IntArray, sizes: IntArray, width: int) -> IntArray:
    """Return the shares of each class, given the pairs of a client and a class that occur, how often, and the clients' sizes."""
    shares = np.zeros(width, dtype=np.int64)
    np.add.at(shares, pairs % width, counts * SHARE_STEPS // sizes[pairs // width])
    return shares


POINT_DISTANCES = Statistic("point-distances", _distances, PrivacyUnit.POINT, _SHARES, _DISTANCES, _all_classes)
CLIENT_DISTANCES = Statistic("client-distances", _distances, PrivacyUnit.CLIENT, _SHARES, _DISTANCES, _all_classes)
"""Histogram of the distances of points from a public center; a unit's points share one count.

Sensitivity: a unit adds non-negative numbers that add up to at most SHARE_STEPS, hence a vector of norm at most SHARE_STEPS, which
stand for 1.
"""


def histogram(lengths: FloatArray, edges: FloatArray, sizes: IntArray) -> IntArray:
    """Return how many units that hold points have a length in each class: an edge belongs to the class below it."""
    return np.bincount(np.searchsorted(edges, lengths)[sizes > 0], minlength=len(edges) + 1).astype(np.int64)


def _point_residual_norms(batch: ClientBatch, *, edges: FloatArray, count_weight: float, **where: Any) -> IntArray:
    *_, squares = residual_squares(batch, **where)
    return histogram(np.sqrt(squares + count_weight**2), edges, batch.sizes)


def _client_residual_norms(batch: ClientBatch, *, edges: FloatArray, **where: Any) -> IntArray:
    *_, norms = residual_vectors(batch, **where)
    return histogram(norms, edges, batch.sizes)


POINT_RESIDUAL_NORMS = Statistic("point-residual-norms", _point_residual_norms, PrivacyUnit.POINT, ONE, RESIDUALS | EDGES, _all_classes)
CLIENT_RESIDUAL_NORMS = Statistic(
    "client-residual-norms", _client_residual_norms, PrivacyUnit.CLIENT, ONE, RESIDUALS | SQUARES | EDGES, _all_classes
)
"""Histogram of the lengths of the units' vectors of residuals and counts. A unit is in one class, so it changes this by 1."""


def _moment_norms(batch: ClientBatch, *, center: FloatArray, radius: float, edges: FloatArray) -> IntArray:
    norms, _ = second_moment_norms(dense(encoded_points(batch, center, radius)), batch)
    return histogram(norms, edges, batch.sizes)


POINT_MOMENT_NORMS = Statistic("point-moment-norms", _moment_norms, PrivacyUnit.POINT, ONE, BALL | EDGES, _all_classes)
CLIENT_MOMENT_NORMS = Statistic("client-moment-norms", _moment_norms, PrivacyUnit.CLIENT, ONE, BALL | EDGES, _all_classes)
"""Histogram of the lengths of the units' second moments. A unit is in one class, so it changes this by 1."""


def _grid_counts(batch: ClientBatch, *, low: FloatArray, high: FloatArray, cells: FloatArray) -> IntArray:
    with np.errstate(over="ignore"):
        places = np.clip((batch.dense - low) / (high - low) * cells, 0, cells - 1).astype(np.int64)
    flat = np.zeros(len(places), dtype=np.int64)
    for column, count in enumerate(cells):
        flat = flat * int(count) + places[:, column]
    return np.bincount(flat, minlength=int(np.prod(cells))).astype(np.int64)


def _check_grid(*, low: FloatArray, high: FloatArray, cells: FloatArray) -> None:
    with np.errstate(over="ignore"):
        widths, total = high - low, np.prod(cells)
    if not ((widths > 0) & np.isfinite(widths)).all():
        raise InputError(f"low must be below high by a finite width, got widths from {widths.min():g} to {widths.max():g}.")
    if total > _MOST_CELLS:
        raise InputError(f"cells must be at most {_MOST_CELLS} together, got {total:g}.")


GRID_COUNTS = Statistic(
    "grid-counts",
    _grid_counts,
    PrivacyUnit.POINT,
    ONE,
    {"low": Argument(("d",)), "high": Argument(("d",)), "cells": Argument(("d",), low=1.0, high=float(_MOST_CELLS), whole=True)},
    lambda *, cells, **_: int(np.prod(cells)),
    _check_grid,
)
"""How many points are in each cell of a grid over a public box; a point outside counts for the nearest cell.

Sensitivity: a point is in one cell, found by arithmetic on that point only: 1 in L1 norm.
"""


def _tree_counts(batch: ClientBatch, *, low: FloatArray, high: FloatArray, cells: FloatArray, depth: float, edges: FloatArray) -> IntArray:
    sides, bits, d = cells * 2.0**depth, int(depth), len(cells)
    with np.errstate(over="ignore"):
        places = np.clip((batch.dense - low) / (high - low) * sides, 0, sides - 1).astype(np.int64)
    codes = np.zeros(len(places), dtype=np.int64)
    for column, count in enumerate(cells):
        codes = codes * int(count) + (places[:, column] >> bits)
    for bit in reversed(range(bits)):
        for column in range(d):
            codes = 2 * codes + ((places[:, column] >> bit) & 1)
    classes = np.searchsorted(edges, codes.astype(np.float64), side="right")
    return np.bincount(classes, minlength=len(edges) + 1).astype(np.int64)


def _check_tree(*, low: FloatArray, high: FloatArray, cells: FloatArray, depth: float, **_: Any) -> None:
    _check_grid(low=low, high=high, cells=cells)
    if np.prod(cells) * 2.0 ** (depth * len(cells)) > _MOST_CODES:
        raise InputError(f"cells must be at most {_MOST_CODES} together when they are halved {depth:g} times, got {np.prod(cells):g}.")


TREE_COUNTS = Statistic(
    "tree-counts",
    _tree_counts,
    PrivacyUnit.POINT,
    ONE,
    dict(GRID_COUNTS.arguments) | {"depth": Argument(low=0.0, high=52.0, whole=True)} | EDGES,
    _all_classes,
    _check_tree,
)
"""How many points are in each leaf of a tree: the cells of a grid, each of which may be halved along all sides again and again.

``depth`` halvings number all smallest cells: a number goes through the cells of the grid, and within each through its halves, quarters
and so on, so every cell of every size is an interval of numbers (Z order). A class begins at an edge and ends before the next.

Sensitivity: a point has one number, found by arithmetic on that point only, and is in one class: 1 in L1 norm. There are at most 2**52
numbers, exact in floating point.
"""


def _count(batch: ClientBatch) -> IntArray:
    return np.array([batch.n_points], dtype=np.int64)


POINT_COUNT = Statistic("point-count", _count, PrivacyUnit.POINT, ONE, {}, lambda **_: 1)
"""The number of points. One point changes it by 1."""
