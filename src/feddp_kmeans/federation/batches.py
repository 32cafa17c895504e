"""Clients as a stream of batches that fit a processor's cache: small clients are put together and large ones taken apart.

Points stay in the array or file they are in, and in its precision, until a statistic looks at them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.federation.base import ClientBatch

BATCH_VALUES = 1 << 18
"""Numbers in a batch: 2 MiB of float64. From 1 to 8 MiB is as fast; 32 MiB was a quarter slower."""

_READ_VALUES = 1 << 20
"""Numbers that are read from a file at once: readers of columns are slow in smaller pieces."""

_LARGEST_VALUES = 1 << 22
"""Numbers in a batch of many coordinates: there it holds a few times as many points as coordinates, since a second moment is square."""


class PointSource(Protocol):
    """One client's points, in pieces that fit in memory."""

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        ...

    def read(self) -> Any:
        """Return all points at once, as an array or a CSR matrix."""
        ...

    def pieces(self, rows: int) -> Iterator[FloatArray]:
        """Yield the points as float64 or float32 arrays of at most ``rows`` rows."""
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
        return _gathered((piece[start : start + rows] for piece in pieces for start in range(0, len(piece), rows)), rows)

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield the clients of the cohort, all where it is None, each of them whole in one batch."""
        chosen = self._sources if cohort is None else [source for source, taken in zip(self._sources, cohort, strict=True) if taken]
        return _gathered((as_floats(source.read()) for source in chosen), batch_rows(self.dimension))


def batch_rows(dimension: int) -> int:
    """Return how many points a batch holds at most, where clients may be taken apart."""
    return max(1, BATCH_VALUES // dimension, min(2 * dimension, _LARGEST_VALUES // dimension))


def as_floats(points: Any) -> FloatArray:
    """Return points as a dense array: float32 as it is, anything else as float64."""
    dense = points.toarray() if sparse.issparse(points) else points
    return np.asarray(dense, dtype=dense.dtype if dense.dtype == np.float32 else np.float64)


def finite_batch(points: FloatArray, sizes: IntArray) -> ClientBatch:
    """Return clients of these sizes as a batch, without the rows that hold a NaN or an infinity."""
    if not _all_finite(points):
        finite = np.isfinite(points).all(axis=1)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        sizes = np.bincount(owners[finite], minlength=len(sizes))
        points = points[finite]
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return ClientBatch(points, starts)


def _all_finite(points: FloatArray) -> bool:
    """Return whether all numbers are sure to be finite: a NaN or an infinity would be in their sum, which needs no second array."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(points.sum()))


def _gathered(parts: Iterator[FloatArray], rows: int) -> Iterator[ClientBatch]:
    """Yield the parts, a client each, together in batches of at most ``rows`` rows; a larger part is a batch of its own."""
    pending: list[FloatArray] = []
    held = 0
    for part in parts:
        if pending and held + len(part) > rows:
            yield _joined(pending)
            pending, held = [], 0
        pending.append(part)
        held += len(part)
    if pending:
        yield _joined(pending)


def _joined(parts: list[FloatArray]) -> ClientBatch:
    points = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return finite_batch(points, np.array([len(part) for part in parts]))
