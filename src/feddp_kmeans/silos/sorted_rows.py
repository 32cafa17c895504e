"""Clients whose rows follow one another in one table that is read in pieces: no more than some clients are in memory at once."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, IntArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.batched import BatchedSilo, PointSource, SourceSilo
from feddp_kmeans.silos.batches import READ_VALUES, as_floats, batch_rows, finite_batch, runs_of, stacked
from feddp_kmeans.statistics.batch import ClientBatch


class SortedSilo(BatchedSilo):
    """Client j holds rows ``starts[j]:starts[j + 1]`` of the source. A client must fit in memory."""

    def __init__(self, source: PointSource, starts: IntArray) -> None:
        self._source, self._starts = source, starts
        self.n_clients, self.dimension = len(starts) - 1, source.dimension
        self.size = int(starts[-1]) * (source.dimension + 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return self._source.columns

    def points(self) -> Iterator[ClientBatch]:
        """Yield all points in batches that ignore which client holds a point."""
        return self.as_one_client().points()

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield the clients of the cohort (None: all), each whole in one batch."""
        rows = _RowStream(self._source)
        for first, end in runs_of(self._starts, batch_rows(self.dimension)):
            sizes = np.diff(self._starts[first : end + 1])
            points = rows.next(int(sizes.sum()))
            if cohort is None:
                yield finite_batch(as_floats(points), sizes)
            else:
                taken = cohort[first:end]
                yield finite_batch(as_floats(points[np.repeat(taken, sizes)]), sizes[taken])

    def as_one_client(self) -> SourceSilo:
        """Return the same points as those of one client."""
        return SourceSilo([self._source])

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points."""
        rows = _RowStream(self._source)
        return (rows.next(int(size)) for size in np.diff(self._starts))


class _RowStream:
    """The rows of a source, as many at a time as are asked for."""

    def __init__(self, source: PointSource) -> None:
        self._source = source
        self._pieces = source.pieces(max(1, READ_VALUES // source.dimension))
        self._held: Points = np.empty((0, source.dimension))

    def next(self, count: int) -> Points:
        """Return the next rows; it is an error if the source has fewer than it had."""
        held = [self._held]
        missing = count - self._held.shape[0]
        while missing > 0:
            piece = next(self._pieces, None)
            if piece is None:
                raise InputError("clients must stay as they are during a run, got a table with fewer rows than before.")
            held.append(piece)
            missing -= piece.shape[0]
        together = stacked([piece for piece in held if piece.shape[0]] or held[:1], self._source.dimension)
        self._held = together[count:]
        return together[:count]
