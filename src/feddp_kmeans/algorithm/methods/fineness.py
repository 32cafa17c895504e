"""How fine the cells of a grid should be, and where, from the number of points, the noise and a first look. Sees released numbers only.

Small cells tell tight clusters apart; but wide and light clusters are lost in the noise of too many cells.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.algorithm.methods.tree import MOST_ROOTS, Leaves
from feddp_kmeans.algorithm.tuning import GRID

_NEVER = -99.0
"""Halvings of a cell that need not be smaller."""

_LEAST_PARTS = 0.1
"""Stands for any smaller number of parts of a cell."""

_MOST_DENSE = 1 << 21
"""Most cells that the region would have if all were as small as the smallest: they are held in memory."""


def allowed_cells(n_points: float, scale: float, dimension: int) -> float:
    """Return how many cells may hold points, so that each has enough of them for noise of this scale (of a Laplace variable)."""
    return float(max(n_points / scale / GRID.points_per_cell, 1.0) ** (2 * dimension / (dimension + 2)))


def usual_cells(low: FloatArray, high: FloatArray, allowed: float, k: int) -> Leaves:
    """Return the grid for points of which nothing is known: they are taken to lie in a part of the region.

    Beyond some cells for each cluster more of them gain little, so their number grows more slowly.
    """
    occupied = math.sqrt(allowed * min(allowed, GRID.cells_per_cluster * k))
    wanted = max(min(occupied / GRID.occupied_part, GRID.usual_cells), GRID.least_cells * k)
    return Leaves.grid(low, high, min(wanted, MOST_ROOTS))


def first_cells(low: FloatArray, high: FloatArray, points_per_scale: float) -> FloatArray:
    """Return the cells along each side for the first look, an even number: coarse enough to show whether many of them are empty."""
    pair = 2.0 ** len(low)
    wanted = (GRID.first_signal * points_per_scale**2) ** (2 / 3)
    return 2 * Leaves.grid(low, high, float(np.clip(wanted / pair, pair, GRID.first_cells / pair))).cells


@dataclass(frozen=True)
class FirstLook:
    """Noisy counts on a coarse grid, and the scale of their noise."""

    counts: FloatArray
    scale: float
    n_points: float

    def finer(self, usual: Leaves, occupied: float) -> Leaves:
        """Return the usual cells, halved wherever clusters may be smaller, so that about ``occupied`` cells hold points."""
        d = usual.dimension
        certain = self._certain
        dense = self._on(usual.shape, self._dense_halvings(certain, occupied)).ravel()
        sparse = self._sparse_halvings(np.where(certain, 0.0, self.counts), ~certain, occupied)
        wanted = np.where(self._on(usual.shape, certain).ravel() > 0, dense, np.maximum(dense, sparse))
        deepest = max(0, int(np.log2(_MOST_DENSE / len(usual.starts)) / d))
        wanted = np.rint(wanted + np.log2(self.counts.size / len(usual.starts)) / d)
        more = np.clip(wanted, 0, min(deepest, usual.depth)).astype(np.int64)
        others = dense == _NEVER
        while (2.0 ** (d * more)).sum() > max(GRID.most_cells, len(more)):
            lower = others if more[others].any() else np.full(len(more), fill_value=True)
            more[lower] = np.maximum(more[lower] - 1, 0)
        return usual.halved(more)

    @property
    def _certain(self) -> BoolArray:
        """Return which cells certainly hold points."""
        found: BoolArray = self.counts > self.scale * (math.log(self.counts.size) + GRID.first_doubt)
        return found

    def _dense_halvings(self, certain: BoolArray, occupied: float) -> FloatArray:
        """Return how often to halve the cells that certainly hold points, and their neighbours: so that each part holds enough of them."""
        parts = np.maximum(occupied * (self.counts - GRID.first_margin * self.scale) / self.n_points, _LEAST_PARTS)
        growth = max(self._growth(self.counts, self.counts.size, self.n_points), GRID.dense_growth)
        halvings = np.where(certain, np.log2(parts) / growth, _NEVER)
        dense: FloatArray = ndimage.maximum_filter(halvings, 3, mode="nearest")
        return dense

    def _sparse_halvings(self, counts: FloatArray, free: BoolArray, occupied: float) -> float:
        """Return how often to halve cells whose counts are uncertain; how uneven they are all together shows what single ones do not.

        Their sum of squares, less the noise, shows how many of them hold the points: the squared sum over it.
        """
        size = int(np.count_nonzero(free))
        rest = self.n_points - float((self.counts * ~free).sum())
        if rest < GRID.first_rest * self.n_points:
            return _NEVER
        holding = self._holding(counts, size, rest, GRID.first_caution)
        if holding >= size:
            return _NEVER
        return min(math.log2(occupied * rest / self.n_points / holding) / self._growth(counts, size, rest), GRID.most_halvings)

    def _growth(self, counts: FloatArray, size: int, total: float) -> float:
        """Return the power of the number of cells along a side of those that hold points: cells twice as wide show it."""
        fine, wide = self._holding(counts, size, total, GRID.first_caution), self._holding(halved_sides(counts), size, total, 0.0)
        return float(np.clip(np.log2(fine / wide), 1.0, counts.ndim))

    def _holding(self, counts: FloatArray, size: int, total: float, caution: float) -> float:
        """Return how many of the cells hold the points, if so many counts were added up for them; more by the caution, times the error."""
        each = self.counts.size / counts.size
        squares = float(np.square(counts).sum()) - 2 * size * self.scale**2
        error = math.sqrt(size * (8 * each + 12)) * self.scale**2 + math.sqrt(8 * each * max(squares, 0.0)) * self.scale
        return max(1.0, total**2 / max(squares - caution * error, total**2 * each / size))

    def _on(self, shape: tuple[int, ...], values: FloatArray | BoolArray) -> FloatArray:
        """Return the largest value of all cells of this look that each cell of a grid of another shape meets."""
        found = np.full(shape, -np.inf)
        places = [(np.arange(2 * max(sides)) + 0.5) / (2 * max(sides)) for sides in zip(shape, values.shape, strict=True)]
        ours, theirs = (
            np.ix_(*(np.floor(place * side).astype(np.int64) for place, side in zip(places, sides, strict=True)))
            for sides in (shape, values.shape)
        )
        np.maximum.at(found, ours, values[theirs])
        return found


def halved_sides(table: FloatArray) -> FloatArray:
    """Return the table with each two neighbours along each side added up; all sides are even."""
    for axis in range(table.ndim):
        shape = table.shape
        table = table.reshape(*shape[:axis], shape[axis] // 2, 2, *shape[axis + 1 :]).sum(axis=axis + 1)
    return table
