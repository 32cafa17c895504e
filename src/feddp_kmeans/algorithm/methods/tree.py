"""Cells of many sizes: a grid over a region, and the halvings of its cells."""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray

MOST_ROOTS = 1 << 15
"""Most cells of the grid."""

_MOST_HALVINGS, _MOST_BITS = 20, 37
"""Halvings of a cell, along one side and added up over the sides: with that many cells of the grid, numbers stay within 2**52."""


@dataclass(frozen=True)
class Leaves:
    """Disjoint cells that fill the region, in the order of their numbers (Z order; see TREE_COUNTS).

    ``starts`` are the least numbers of the cells, ``halvings`` says how often each was halved along all sides.
    """

    low: FloatArray
    high: FloatArray
    cells: FloatArray
    starts: IntArray
    halvings: IntArray

    @classmethod
    def grid(cls, low: FloatArray, high: FloatArray, wanted: float) -> "Leaves":
        """Return about as many cubes as wanted, and not more unless one along each side is more."""
        widths = high - low
        side = float((np.prod(widths) / wanted) ** (1 / len(widths)))
        cells: FloatArray = np.clip(np.rint(widths / side), 1.0, np.floor(wanted))
        while np.prod(cells) > wanted and cells.max() > 1:
            cells[cells.argmax()] = np.floor(cells.max() * max(0.5, min(1 - 1 / cells.max(), wanted / np.prod(cells))))
        total = int(np.prod(cells))
        whole = cls(low, high, cells, np.arange(total), np.zeros(total, dtype=np.int64))
        return replace(whole, starts=whole.starts << (whole.dimension * whole.depth))

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.cells)

    @property
    def depth(self) -> int:
        """Return how often a cell of the grid may be halved."""
        return min(_MOST_HALVINGS, _MOST_BITS // self.dimension)

    @property
    def edges(self) -> FloatArray:
        """Return where one cell ends and the next begins; a number that no point has if there is one cell only."""
        return self.starts[1:].astype(np.float64) if len(self.starts) > 1 else np.array([2.0**52])

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of cells of the grid along each side."""
        return tuple(int(cells) for cells in self.cells)

    def halved(self, more: IntArray) -> "Leaves":
        """Return these cells, each halved this many times more."""
        d = self.dimension
        halvings = self.halvings + more
        parts = np.int64(1) << (d * more)
        offsets = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        deep = np.repeat(halvings, parts)
        starts = np.repeat(self.starts, parts) + (offsets << (d * (self.depth - deep)))
        return replace(self, starts=starts, halvings=deep)

    def corners(self) -> IntArray:
        """Return the low corners of the cells, each in units of its own width."""
        d, halvings = self.dimension, self.halvings
        numbers = self.starts >> (d * (self.depth - halvings))
        corners = np.zeros((len(numbers), d), dtype=np.int64)
        rest = numbers >> (d * halvings)
        for column in reversed(range(d)):
            corners[:, column] = rest % int(self.cells[column])
            rest = rest // int(self.cells[column])
        for bit in reversed(range(int(halvings.max(initial=0)))):
            here = bit < halvings
            for column in range(d):
                digit = (numbers >> (d * bit + d - 1 - column)) & 1
                corners[:, column] = np.where(here, 2 * corners[:, column] + digit, corners[:, column])
        return corners
