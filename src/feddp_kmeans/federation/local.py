"""A federation in this process: clients are arrays in memory, or files that are read when they are needed.

Small clients are put together and large ones taken apart, so that a statistic always sees a few large blocks.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import BoolArray, FloatArray, IntArray, Points
from feddp_kmeans.federation.base import ClientBatch, Federation, Statistic
from feddp_kmeans.privacy.mechanism import Release

_BATCH_VALUES = 1 << 22
"""Numbers in a batch: 32 MiB of float64."""


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
        """Yield the points as float64 arrays or CSR matrices of at most ``rows`` rows."""
        ...


class LocalFederation(Federation):
    """Clients that live on this machine; this process adds their sums and the noise."""

    trust = "aggregator"

    def __init__(self, sources: Sequence[PointSource]) -> None:
        if not sources:
            raise FedDPError("clients must be at least one, got none.")
        self._sources = sources
        self._dimension = sources[0].dimension
        for index, source in enumerate(sources):
            if source.dimension != self._dimension:
                raise FedDPError(
                    f"clients must have the same number of columns: client 0 has {self._dimension}, client {index} has {source.dimension}."
                )

    @property
    def n_clients(self) -> int:
        """Return the number of clients."""
        return len(self._sources)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return self._dimension

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points. Only a federation on this machine can; only comparisons that are not private may."""
        for source in self._sources:
            yield source.read()

    def _noisy_sum(self, statistic: Statistic, release: Release, cohort: BoolArray | None, public: dict[str, Any]) -> FloatArray:
        taking_part = self._sources if cohort is None else [s for s, chosen in zip(self._sources, cohort, strict=True) if chosen]
        return release.noisy(exact_sum(taking_part, self._dimension, statistic, public), self._streams.stream(release.name))


def exact_sum(sources: Sequence[PointSource], dimension: int, statistic: Statistic, public: dict[str, Any]) -> IntArray:
    """Return the sum of a statistic over these clients without noise: for whoever holds their points, and never for release."""
    nobody = ClientBatch(np.empty((0, dimension)), np.zeros(1, dtype=np.int64))
    total: IntArray = statistic(nobody, **public)
    for batch in _batches(sources, dimension, statistic.whole_clients):
        total += statistic(batch, **public)
    return total


def _batches(sources: Sequence[PointSource], dimension: int, whole_clients: bool) -> Iterator[ClientBatch]:
    rows = max(1, _BATCH_VALUES // dimension)
    pending: list[Points] = []
    held = 0
    for source in sources:
        pieces = source.pieces(rows)
        clients = [stacked(list(pieces))] if whole_clients else pieces
        for points in clients:
            if pending and held + points.shape[0] > rows:
                yield _batch(pending)
                pending, held = [], 0
            pending.append(points)
            held += points.shape[0]
    if pending:
        yield _batch(pending)


def stacked(pieces: list[Points]) -> Points:
    """Return rows of several pieces as one: an array, or a CSR matrix where all of them are."""
    if len(pieces) == 1:
        return pieces[0]
    if all(hasattr(piece, "tocsr") for piece in pieces):
        from scipy import sparse

        return sparse.vstack(pieces, format="csr")
    return np.concatenate([piece.toarray() if hasattr(piece, "toarray") else piece for piece in pieces])


def _batch(clients: list[Points]) -> ClientBatch:
    """Return the clients as one batch, without the rows that hold a NaN or an infinity."""
    points = stacked(clients)
    sizes = np.array([c.shape[0] for c in clients])
    finite = finite_rows(points)
    if not finite.all():
        owners = np.repeat(np.arange(len(clients)), sizes)
        sizes = np.bincount(owners[finite], minlength=len(clients))
        points = points[finite]
    return ClientBatch(points, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def finite_rows(points: Points) -> BoolArray:
    """Return which rows of an array or CSR matrix hold no NaN and no infinity."""
    if hasattr(points, "tocsr"):
        rows = np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))
        finite: BoolArray = np.bincount(rows[~np.isfinite(points.data)], minlength=points.shape[0]) == 0
    else:
        finite = np.isfinite(points).all(axis=1)
    return finite
