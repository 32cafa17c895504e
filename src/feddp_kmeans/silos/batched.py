"""Silos whose points come in batches: clients in memory, in one table or in files."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import chain
from typing import Any, Protocol

from feddp_kmeans._typing import BoolArray, IntArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.batches import READ_VALUES, as_floats, batch_rows, cut, gathered, stacked
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.silos.threads import add_batches
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.query import Query

_KEPT_NUMBERS = 1 << 25
"""Numbers that are kept in batches during a run: 256 MiB, and as much again encoded."""


class BatchedSilo(Silo):
    """A silo in this process that gives its points to a statistic batch by batch."""

    size: int
    """About how many numbers and rows it holds."""
    kept: dict[str, list[ClientBatch]] | None = None
    """The batches made so far, where a run keeps them."""

    @abstractmethod
    def points(self) -> Iterator[ClientBatch]:
        """Yield all points in batches that ignore which client holds a point."""

    @abstractmethod
    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield the clients of the cohort (None: all), each whole in one batch."""

    def exact_sum(self, query: Query, cohort: BoolArray | None = None) -> IntArray:
        """Return the sum of a statistic over the clients of the cohort (None: all), without noise: never for release."""
        total = query.nothing()
        add_batches(total, self._batches(query, cohort), query)
        return total

    def for_run(self) -> "BatchedSilo":
        """Return a copy of this silo for one run. A small silo makes its batches once, and they remember their encoding."""
        copied = copy(self)
        copied.kept = {} if self.size <= _KEPT_NUMBERS else None
        return copied

    def _batches(self, query: Query, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        if not query.statistic.whole_clients:
            return self._once("points", self.points)
        return self.whole(cohort) if cohort is not None else self._once("whole", lambda: self.whole(None))

    def _once(self, name: str, make: Callable[[], Iterator[ClientBatch]]) -> Iterator[ClientBatch]:
        if self.kept is None:
            return make()
        return iter(self.kept[name]) if name in self.kept else self._keep(name, make())

    def _keep(self, name: str, batches: Iterator[ClientBatch]) -> Iterator[ClientBatch]:
        """Yield the batches and keep them, unless they are more than the size of the silo promised: a file may be compressed."""
        held: list[ClientBatch] = []
        numbers = 0
        for batch in batches:
            numbers += batch.size + batch.n_points
            if numbers > _KEPT_NUMBERS:
                self.kept = None
                held.clear()
            else:
                held.append(batch)
            yield batch
        if self.kept is not None:
            self.kept[name] = held


class PointSource(Protocol):
    """One client's points, in pieces that fit in memory."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""

    @property
    def size(self) -> int:
        """Return about how many numbers and rows there are."""

    def read(self) -> Any:
        """Return all points at once, as an array or a CSR matrix."""

    def pieces(self, rows: int) -> Iterator[Points]:
        """Yield the points as float64 or float32 arrays, or CSR matrices, of at most ``rows`` rows."""


class SourceSilo(BatchedSilo):
    """One source per client, such as a file, read again for each query unless a run keeps its batches."""

    def __init__(self, sources: Sequence[PointSource]) -> None:
        if not sources:
            raise InputError("clients must be at least one, got none.")
        self._sources = sources
        self.n_clients = len(sources)
        self.dimension = sources[0].dimension
        self.size = sum(source.size for source in sources)
        for index, source in enumerate(sources):
            if source.dimension != self.dimension:
                raise InputError(
                    f"clients must have the same number of columns: client 0 has {self.dimension}, client {index} has {source.dimension}."
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates: the first client's."""
        return self._sources[0].columns

    def points(self) -> Iterator[ClientBatch]:
        """Yield all points in batches that ignore which client holds a point."""
        rows = batch_rows(self.dimension)
        read_rows = max(rows, READ_VALUES // self.dimension)
        return gathered((part for piece in self.pieces(read_rows) for part in cut(piece, rows)), rows // 8)

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield the clients of the cohort (None: all), each whole in one batch."""
        chosen = self._sources if cohort is None else [source for source, taken in zip(self._sources, cohort, strict=True) if taken]
        return gathered((as_floats(source.read()) for source in chosen), batch_rows(self.dimension))

    def as_one_client(self) -> "SourceSilo":
        """Return the same points as those of one client."""
        return self if self.n_clients == 1 else SourceSilo([self])

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points."""
        return (source.read() for source in self._sources)

    def read(self) -> Any:
        """Return all clients' points at once. With ``pieces`` this makes the silo a source of one client."""
        return stacked(self.pieces(max(1, READ_VALUES // self.dimension)), self.dimension)

    def pieces(self, rows: int) -> Iterator[Points]:
        """Yield all clients' points, at most ``rows`` at a time."""
        return chain.from_iterable(source.pieces(rows) for source in self._sources)
