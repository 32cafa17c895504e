"""A batch: the points of some clients, as a statistic is given them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray, Points
from feddp_kmeans.statistics.fixed_point import LARGEST

_REMEMBERED = 2
"""Most numbers that are remembered per stored number and per point."""


@dataclass(frozen=True)
class ClientBatch:
    """The points of some clients, one client after the other: client j holds rows ``starts[j]:starts[j + 1]``.

    Points are an array or a CSR matrix.
    """

    points: Points
    starts: IntArray
    with_gaps: "ClientBatch | None" = field(default=None, repr=False, compare=False)
    """The same clients with the rows that were left out of ``points``, since a cell is missing; None if there are none."""
    _held: dict[str, tuple[Hashable, Any]] = field(default_factory=dict, repr=False, compare=False)

    def remembered(self, what: str, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return ``compute()``, remembered until it is asked for under another key: most queries of a run encode points alike.

        The result must depend only on points and key, and nobody may change it. A result much larger than the points is not remembered:
        an encoded sparse row may differ from zero everywhere.
        """
        held = self._held.get(what)
        if held is None or held[0] != key:
            held = (key, compute())
            if held[1].size <= _REMEMBERED * (self.points.size + self.n_points):
                self._held[what] = held
        return held[1]

    def read_as(self, units: FloatArray, fill: FloatArray | None) -> "ClientBatch":
        """Return the points with every coordinate divided by its unit; where ``fill`` is given, it stands for cells that are not finite.

        A row without any cell is left out. Each row is read by itself, so whatever holds for a sum over rows holds for the sum over rows
        that are read like this.
        """
        source = self if fill is None else self.with_gaps or self

        def read() -> ClientBatch:
            points = read_rows(source.points, units, fill)
            if fill is None:
                return ClientBatch(points, source.starts)
            there = np.flatnonzero(_has_cells(source.points))
            sizes = np.bincount(source.owners[there], minlength=source.n_clients)
            return ClientBatch(points[there], np.concatenate([[0], np.cumsum(sizes)]))

        key = (units.tobytes(), None if fill is None else fill.tobytes())
        made: ClientBatch = source.remembered("read", key, read)
        return made

    @property
    def size(self) -> int:
        """Return how many numbers are stored."""
        return int(self.points.size)

    @property
    def single_points(self) -> "ClientBatch":
        """Return the same points, one client per point."""
        return replace(self, starts=np.arange(self.n_points + 1), with_gaps=None)

    @property
    def n_points(self) -> int:
        """Return the number of points."""
        return int(self.points.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Return whether the points are a sparse matrix."""
        return hasattr(self.points, "tocsr")

    @property
    def dense(self) -> FloatArray:
        """Return the points as an array."""
        points: FloatArray = self.points.toarray() if self.is_sparse else self.points
        return points

    @property
    def n_clients(self) -> int:
        """Return the number of clients, empty ones included."""
        return len(self.starts) - 1

    @property
    def is_single_points(self) -> bool:
        """Return whether every client holds exactly one point: a shortcut for statistics of points."""
        return self.n_clients == self.n_points and bool((self.sizes == 1).all())

    @property
    def sizes(self) -> IntArray:
        """Return each client's number of points."""
        return np.diff(self.starts)

    @property
    def owners(self) -> IntArray:
        """Return, for each row, the index of its client in this batch."""
        return np.repeat(np.arange(self.n_clients), self.sizes)


def _has_cells(points: Points) -> BoolArray:
    """Return which rows have a finite cell; one that a sparse matrix does not store is zero."""
    if not hasattr(points, "tocsr"):
        there: BoolArray = np.isfinite(points).any(axis=1)
        return there
    rows = np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))
    gaps = np.bincount(rows[~np.isfinite(points.data)], minlength=points.shape[0])
    return np.asarray(gaps < points.shape[1])


def read_rows(points: Points, units: FloatArray, fill: FloatArray | None) -> Points:
    """Return points with every coordinate divided by its unit, none beyond LARGEST; ``fill`` stands for cells that are not finite.

    Of a sparse matrix only what is stored is divided, which gives the same bits.
    """
    is_sparse = hasattr(points, "tocsr")
    numbers = points.data if is_sparse else points
    places = points.indices if is_sparse else slice(None)
    with np.errstate(over="ignore", invalid="ignore"):
        present = numbers if fill is None else np.where(np.isfinite(numbers), numbers, fill[places])
        read = np.clip(np.divide(present, units[places], dtype=np.float64), -LARGEST, LARGEST)
    return type(points)((read, points.indices, points.indptr), shape=points.shape) if is_sparse else read
