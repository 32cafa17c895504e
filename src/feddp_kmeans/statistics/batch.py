"""A batch: the points of some clients, as a statistic is given them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray, Points

_REMEMBERED = 2
"""Most numbers that are remembered per stored number and per point."""


@dataclass(frozen=True)
class ClientBatch:
    """The points of some clients, one client after the other: client j holds rows ``starts[j]:starts[j + 1]``.

    Points are an array or a CSR matrix.
    """

    points: Points
    starts: IntArray
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

    @property
    def remembers(self) -> bool:
        """Return whether something is remembered."""
        return bool(self._held)

    @property
    def single_points(self) -> "ClientBatch":
        """Return the same points, one client per point."""
        return replace(self, starts=np.arange(self.n_points + 1))

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
