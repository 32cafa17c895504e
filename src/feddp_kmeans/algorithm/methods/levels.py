"""Which cells of many sizes hold points: those that stand out of the noise, then what is left, taken together in larger cells.

Sees released numbers only.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.algorithm.methods.fineness import halved_sides
from feddp_kmeans.algorithm.methods.tree import Leaves
from feddp_kmeans.algorithm.tuning import GRID

_BLUR: FloatArray = np.exp(-0.5 * np.square(np.arange(-3, 4) / GRID.blur))
"""Weights of a cell's neighbours along one side."""

_LEAST = 1e-300
"""Stands for zero in a divisor."""


@dataclass(frozen=True)
class Pieces:
    """Parts of the region that together fill it: each some cells at one place."""

    points: FloatArray
    """Their middles."""
    counts: FloatArray
    variances: FloatArray
    """Noisy numbers of points, and the variances of the noise."""
    squares: FloatArray
    """Squared widths of the cells that they are made of, as a mean over the sides."""
    holds: BoolArray
    """Whether points stand out of the noise."""


def pieces(leaves: Leaves, counts: FloatArray, noise: float) -> Pieces:
    """Return the cells that stand out, and what is left, in ever larger cells."""
    d, corners, deepest = leaves.dimension, leaves.corners(), int(leaves.halvings.max())
    tables: FloatArray = np.zeros((3 + d, *(side << deepest for side in leaves.shape)))  # counts, variances, area, middles times area
    found: list[tuple[FloatArray | BoolArray, ...]] = []
    for level in range(deepest, -1, -1):
        here = leaves.halvings == level
        at, area = corners[here], 2.0 ** (-d * level)
        middles = (at + 0.5) / (leaves.cells * 2.0**level)
        rows = [counts[here], np.full(len(at), noise**2), np.full(len(at), area), *(middles.T * area)]
        tables[(slice(None), *at.T)] = rows
        stays = standing_out(tables[0], tables[1])
        taken = stays if level else tables[2] > 0
        part = tables[:, taken]
        width = float(np.square((leaves.high - leaves.low) / leaves.cells).mean()) * 4.0**-level
        places = leaves.low + (part[3:] / part[2]).T * (leaves.high - leaves.low)
        found.append((places, part[0], part[1], np.full(len(places), width), stays[taken]))
        tables = np.where(taken, 0.0, tables)
        tables = np.stack([halved_sides(table) for table in tables]) if level else tables
    places, totals, variances, squares, holds = (np.concatenate(column) for column in zip(*found, strict=True))
    return Pieces(places, totals, variances, squares, holds.astype(bool))


def standing_out(counts: FloatArray, variances: FloatArray) -> BoolArray:
    """Return which cells hold points: a few beyond all doubt, alone or with their neighbours, and those likely ones that touch them."""
    free = variances > 0
    cells = max(int(np.count_nonzero(free)), 1)
    around = _blurred(counts, _BLUR) / np.sqrt(np.maximum(_blurred(variances, np.square(_BLUR)), _LEAST))
    alone = counts / np.sqrt(np.maximum(variances, _LEAST))
    kernel = np.prod(np.meshgrid(*[_BLUR] * counts.ndim), axis=0).ravel()
    certain = free & ((around > beyond_doubt(kernel, cells)) | (alone > beyond_doubt(np.ones(1), cells)))
    likely = certain | (free & (around > GRID.credible))
    groups, _ = ndimage.label(likely, np.ones([3] * counts.ndim))
    return likely & np.isin(groups, np.unique(groups[certain]))


def beyond_doubt(weights: FloatArray, cells: int) -> float:
    """Return the standard deviations that none of the weighted sums of Laplace variables around so many cells exceeds.

    Chernoff's bound: with weights w of unit variance in all, P(sum > t) is at most exp(-s t) / prod(1 - s^2 w^2) for any s below 1 / max w.
    The chance of an error is exp(-GRID.doubt).
    """
    weights = weights / np.linalg.norm(weights) / math.sqrt(2.0)
    steps = np.linspace(0.01, 0.99, 99) / weights.max()
    logs = -np.log1p(-np.square(np.outer(steps, weights))).sum(axis=1)
    return float(((math.log(cells) + GRID.doubt + logs) / steps).min())


def _blurred(table: FloatArray, weights: FloatArray) -> FloatArray:
    for axis in range(table.ndim):
        table = ndimage.correlate1d(table, weights, axis=axis, mode="constant")
    return table
