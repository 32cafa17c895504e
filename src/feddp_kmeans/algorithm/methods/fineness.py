"""How fine the cells of a grid should be, and where, from the number of points, the noise and a first look. Sees released numbers only.

Small cells tell tight clusters apart; but wide and light clusters are lost in the noise of too many cells.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.algorithm.methods.tree import Leaves
from feddp_kmeans.algorithm.tuning import GRID

_NEVER = -99.0
"""Halvings of a cell that need not be smaller."""

_MOST_DENSE = 1 << 21
"""Most cells that the region would have if all were as small as the smallest: they are held in memory."""


def occupied_cells(n_points: float, scale: float, k: int, dimension: int) -> float:
    """Return how many cells should hold points: as many as noise of this scale (of a Laplace variable) allows.

    Beyond some cells for each cluster more of them gain little, so their number grows more slowly.
    """
    allowed = float(max(n_points / scale / GRID.points_per_cell, 1.0) ** (2 * dimension / (dimension + 2)))
    return min(allowed, math.sqrt(allowed * GRID.cells_per_cluster * k))


def usual_cells(low: FloatArray, high: FloatArray, occupied: float, k: int) -> Leaves:
    """Return the grid for points of which nothing is known: they are taken to lie in a part of the region."""
    wanted = min(max(occupied / GRID.occupied_part, GRID.least_cells * k), GRID.usual_cells)
    return Leaves.grid(low, high, wanted)


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
        wanted = self._on(usual.shape, self._halvings(occupied)) + np.log2(self.counts.size / len(usual.starts)) / usual.dimension
        deepest = max(0, int(np.log2(_MOST_DENSE / len(usual.starts)) / usual.dimension))
        more = np.clip(np.rint(wanted), 0, min(deepest, usual.depth)).astype(np.int64).ravel()
        while (2.0 ** (usual.dimension * more)).sum() > max(GRID.most_cells, len(more)):
            more = np.minimum(more, more.max() - 1)
        return usual.halved(more)

    def _halvings(self, occupied: float) -> FloatArray:
        """Return how often to halve each cell of this look.

        A cell that certainly holds points, and its neighbours, so often that each part would hold enough of them. The others according to
        how uneven their counts are all together, which shows where single counts do not.
        """
        counts, d = self.counts, self.counts.ndim
        certain = counts > self.scale * (math.log(counts.size) + GRID.first_doubt)
        least = 1 / GRID.points_per_cell
        parts = np.maximum(occupied * (counts - GRID.first_margin * self.scale) / self.n_points, least)
        dense: FloatArray = ndimage.maximum_filter(np.where(certain, np.log2(parts) / d, _NEVER), 3, mode="nearest")
        return np.where(certain, dense, np.maximum(dense, self._sparse_halvings(np.where(certain, 0.0, counts), ~certain, occupied)))

    def _sparse_halvings(self, counts: FloatArray, free: BoolArray, occupied: float) -> float:
        """Return how often to halve cells whose counts are uncertain.

        Their sum of squares, less the noise, shows how many of them hold the points: A, the squared sum over it. Cells of twice the width
        show how A grows as cells shrink: like a power between 1 and the dimension.
        """
        d, size = counts.ndim, int(np.count_nonzero(free))
        rest = self.n_points - float((self.counts * ~free).sum())
        if rest < GRID.first_rest * self.n_points:
            return _NEVER
        holding = self._holding(counts, size, rest, GRID.first_caution)
        wide = self._holding(halved_sides(counts), size, rest, 0.0)
        if holding >= size:
            return _NEVER
        growth = float(np.clip(np.log2(holding / wide), 1.0, d))
        return min(math.log2(occupied * rest / self.n_points / holding) / growth, GRID.most_halvings)

    def _holding(self, counts: FloatArray, size: int, total: float, caution: float) -> float:
        """Return how many of the cells hold the points, if so many counts were added up for them; more by the caution, times the error."""
        each = self.counts.size / counts.size
        squares = float(np.square(counts).sum()) - 2 * size * self.scale**2
        error = math.sqrt(size * (8 * each + 12)) * self.scale**2 + math.sqrt(8 * each * max(squares, 0.0)) * self.scale
        return max(1.0, total**2 / max(squares - caution * error, total**2 * each / size))

    def _on(self, shape: tuple[int, ...], halvings: FloatArray) -> FloatArray:
        """Return the most halvings of all cells of this look that each cell of a grid of another shape meets."""
        found = np.full(shape, _NEVER)
        places = [(np.arange(2 * max(sides)) + 0.5) / (2 * max(sides)) for sides in zip(shape, halvings.shape, strict=True)]
        ours, theirs = (
            np.ix_(*(np.floor(place * side).astype(np.int64) for place, side in zip(places, sides, strict=True)))
            for sides in (shape, halvings.shape)
        )
        np.maximum.at(found, ours, halvings[theirs])
        return found


def halved_sides(table: FloatArray) -> FloatArray:
    """Return the table with each two neighbours along each side added up; all sides are even."""
    for axis in range(table.ndim):
        shape = table.shape
        table = table.reshape(*shape[:axis], shape[axis] // 2, 2, *shape[axis + 1 :]).sum(axis=axis + 1)
    return table
