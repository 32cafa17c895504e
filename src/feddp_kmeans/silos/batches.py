"""Clients as a stream of batches that fit a processor's cache: small clients are put together and large ones taken apart.

Points stay in the array or file they are in, and in its precision, until a statistic looks at them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import BoolArray, IntArray, Points
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.threads import add_batches
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.statistics.sparse_points import without_duplicates

BATCH_VALUES = 1 << 18
"""Numbers in a batch: 2 MiB of float64. From 1 to 8 MiB is as fast; 32 MiB was a quarter slower."""

_READ_VALUES = 1 << 20
"""Numbers that are read from a file at once: readers of columns are slow in smaller pieces."""

_LARGEST_VALUES = 1 << 22
"""Numbers in a batch of many coordinates: there it holds a few times as many points as coordinates, since a second moment is square."""

_SPARSE_VALUES = 1 << 24
"""Numbers, zeros included, in a batch of sparse points: clipping and some statistics make it dense, 128 MiB."""


class PointSource(Protocol):
    """One client's points, in pieces that fit in memory."""

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        ...

    def read(self) -> Any:
        """Return all points at once, as an array or a CSR matrix."""
        ...

    def pieces(self, rows: int) -> Iterator[Points]:
        """Yield the points as float64 or float32 arrays, or CSR matrices, of at most ``rows`` rows."""
        ...


class Clients(Protocol):
    """The points of all clients of a federation."""

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        ...

    def __len__(self) -> int:
        """Return the number of clients."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Yield each client's raw points."""
        ...

    def points(self) -> Iterator[ClientBatch]:
        """Yield all points in batches that do not tell the clients apart."""
        ...

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield the clients of the cohort, all where it is None, each of them whole in one batch."""
        ...


class SourceClients:
    """One source a client."""

    def __init__(self, sources: Sequence[PointSource]) -> None:
        if not sources:
            raise FedDPError("clients must be at least one, got none.")
        self._sources = sources
        self.dimension = sources[0].dimension
        for index, source in enumerate(sources):
            if source.dimension != self.dimension:
                raise FedDPError(
                    f"clients must have the same number of columns: client 0 has {self.dimension}, client {index} has {source.dimension}."
                )

    def __len__(self) -> int:
        return len(self._sources)

    def __iter__(self) -> Iterator[Any]:
        return (source.read() for source in self._sources)

    def points(self) -> Iterator[ClientBatch]:
        """Yield all points in batches that do not tell the clients apart."""
        rows = batch_rows(self.dimension)
        read_rows = max(rows, _READ_VALUES // self.dimension)
        pieces = (piece for source in self._sources for piece in source.pieces(read_rows))
        return _gathered((part for piece in pieces for part in _parts(piece, rows)), rows // 8)

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield the clients of the cohort, all where it is None, each of them whole in one batch."""
        chosen = self._sources if cohort is None else [source for source, taken in zip(self._sources, cohort, strict=True) if taken]
        return _gathered((as_floats(source.read()) for source in chosen), batch_rows(self.dimension))


class KeptClients:
    """Clients in memory, for one run: small ones are copied together once, and a batch remembers its encoding."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._kept: dict[str, list[ClientBatch]] = {}
        self.dimension = clients.dimension

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._clients)

    def points(self) -> Iterator[ClientBatch]:
        """Yield all points in batches that do not tell the clients apart."""
        return self._once("points", self._clients.points)

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield the clients of the cohort, all where it is None, each of them whole in one batch."""
        return self._once("whole", lambda: self._clients.whole(None)) if cohort is None else self._clients.whole(cohort)

    def _once(self, name: str, batches: Callable[[], Iterator[ClientBatch]]) -> Iterator[ClientBatch]:
        if name not in self._kept:
            self._kept[name] = list(batches())
        return iter(self._kept[name])


def batch_rows(dimension: int) -> int:
    """Return how many points a batch holds at most, where clients may be taken apart."""
    return max(1, BATCH_VALUES // dimension, min(2 * dimension, _LARGEST_VALUES // dimension))


def sparse_rows(dimension: int) -> int:
    """Return how many sparse points a batch holds at most, however few numbers they store: what stays exact and fits memory if dense."""
    return max(1, min(EXACT_ROWS, _SPARSE_VALUES // dimension))


def as_floats(points: Points) -> Points:
    """Return points as an array, float32 as it is and anything else as float64; or as a CSR matrix of float64, one number per place."""
    if sparse.issparse(points):
        return without_duplicates(points.astype(np.float64))
    return np.asarray(points, dtype=points.dtype if points.dtype == np.float32 else np.float64)


def finite_batch(points: Points, sizes: IntArray) -> ClientBatch:
    """Return clients of these sizes as a batch, without the rows that hold a NaN or an infinity.

    The copy without those rows is made even if there are none, and then dropped: otherwise the time of an answer shows such a row.
    """
    finite = finite_rows(points)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    sizes = np.bincount(owners[finite], minlength=len(sizes))
    copied = points[np.flatnonzero(finite)]
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return ClientBatch(points if finite.all() else copied, starts)


def finite_rows(points: Points) -> BoolArray:
    """Return which rows of an array or CSR matrix hold no NaN and no infinity: a finite number times zero is zero, and nothing else is."""
    if sparse.issparse(points):
        rows = np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))
        finite: BoolArray = np.bincount(rows[~np.isfinite(points.data)], minlength=points.shape[0]) == 0
    else:
        with np.errstate(invalid="ignore"):
            finite = np.einsum("ij,j->i", points, np.zeros(points.shape[1], dtype=points.dtype)) == 0
    return finite


def _parts(piece: Points, rows: int) -> Iterator[Points]:
    """Yield an array in parts of this many rows, a sparse matrix in parts that fit a batch."""
    step = sparse_rows(piece.shape[1]) if sparse.issparse(piece) else rows
    yield from (piece[start : start + step] for start in range(0, piece.shape[0], step))


def _gathered(parts: Iterator[Points], rows: int) -> Iterator[ClientBatch]:
    """Yield the parts, a client each, together in batches of at most ``rows`` dense rows; a larger part is a batch of its own.

    A sparse row counts for as much as it stores, and yet a batch holds at most ``sparse_rows`` parts and rows together.
    """
    pending: list[Points] = []
    held, count = 0.0, 0
    for part in parts:
        size = part.nnz / part.shape[1] if sparse.issparse(part) else len(part)
        more = 1 + part.shape[0]
        if pending and (held + size > rows or count + more > sparse_rows(part.shape[1])):
            yield _joined(pending)
            pending, held, count = [], 0.0, 0
        pending.append(part)
        held += size
        count += more
    if pending:
        yield _joined(pending)


def _joined(parts: list[Points]) -> ClientBatch:
    sizes = np.array([part.shape[0] for part in parts])
    if len(parts) == 1:
        return finite_batch(parts[0], sizes)
    if all(sparse.issparse(part) for part in parts):
        return finite_batch(sparse.vstack(parts, format="csr"), sizes)
    return finite_batch(np.concatenate([part.toarray() if sparse.issparse(part) else part for part in parts]), sizes)


def exact_sum(clients: Clients, query: Query, cohort: BoolArray | None = None) -> IntArray:
    """Return the sum of a statistic over these clients without noise: for whoever holds their points, and never for release."""
    total = np.zeros(query.size, dtype=np.int64)
    add_batches(total, clients.whole(cohort) if query.statistic.whole_clients else clients.points(), query)
    return total
