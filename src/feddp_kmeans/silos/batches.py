"""How points become batches that fit a processor's cache: small clients are joined and large ones split.

Points stay in their array or file, and in its precision, until a statistic looks at them.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray, Points
from feddp_kmeans.statistics import kernels
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.engine import compiled
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS
from feddp_kmeans.statistics.sparse_points import without_duplicates

BATCH_VALUES = 1 << 18
"""Numbers in a batch: 2 MiB of float64. From 1 to 8 MiB was equally fast; 32 MiB was a quarter slower."""

READ_VALUES = 1 << 20
"""Numbers read from a file at once: readers of columns are slow in smaller pieces."""

_LARGEST_VALUES = 1 << 22
"""Most numbers in a batch of many coordinates, which should hold more points than coordinates: a second moment is square."""

_SPARSE_VALUES = 1 << 24
"""Numbers, zeros included, in a batch of sparse points: clipping and some statistics make it dense, 128 MiB."""


_TURNED_ROWS = 1 << 12
"""Rows that are made of columns at once: for 20 columns this takes a third to a half of the time of all rows."""


def batch_rows(dimension: int) -> int:
    """Return how many points a batch holds at most, where clients may be split."""
    return max(1, BATCH_VALUES // dimension, min(2 * dimension, _LARGEST_VALUES // dimension))


def sparse_rows(dimension: int) -> int:
    """Return how many sparse points a batch holds at most: what stays exact, and fits memory if it is made dense."""
    return max(1, min(EXACT_ROWS, _SPARSE_VALUES // dimension))


def as_floats(points: Points) -> Points:
    """Return points as an array, float32 as it is and anything else as float64; or as a CSR matrix of float64, one number per place."""
    if sparse.issparse(points):
        return without_duplicates(points.astype(np.float64))
    return np.asarray(points, dtype=points.dtype if points.dtype == np.float32 else np.float64)


def finite_batch(points: Points, sizes: IntArray) -> ClientBatch:
    """Return clients of these sizes as a batch, without the rows that hold a NaN or an infinity; ``with_gaps`` has them too.

    The copy without such rows is made even if there are none, and then dropped: otherwise the time of an answer would reveal them.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    whole = ClientBatch(points, starts)
    rows, places = _finite_copy(points, starts)
    return whole if rows.shape == points.shape else ClientBatch(rows, places, whole)


def _finite_copy(points: Points, starts: IntArray) -> tuple[Points, IntArray]:
    """Return a copy of the rows that are finite, and where each client's start."""
    if compiled() and not sparse.issparse(points):
        return kernels.finite_copy(points, starts)
    finite = finite_rows(points)
    return points[np.flatnonzero(finite)], np.concatenate([[0], np.cumsum(finite)])[starts]


def finite_rows(points: Points) -> BoolArray:
    """Return which rows of an array or CSR matrix are finite: only a finite number times zero is zero."""
    if sparse.issparse(points):
        rows = np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))
        finite: BoolArray = np.bincount(rows[~np.isfinite(points.data)], minlength=points.shape[0]) == 0
    else:
        with np.errstate(invalid="ignore"):
            finite = np.einsum("ij,j->i", points, np.zeros(points.shape[1], dtype=points.dtype)) == 0
    return finite


def side_by_side(columns: Sequence[FloatArray]) -> FloatArray:
    """Return columns as rows of points, some rows at a time: otherwise no row would stay in a processor's cache until it is whole."""
    points = np.empty((len(columns[0]), len(columns)))
    for start in range(0, len(points), _TURNED_ROWS):
        some = slice(start, start + _TURNED_ROWS)
        for index, column in enumerate(columns):
            points[some, index] = column[some]
    return points


def runs_of(starts: IntArray, rows: int) -> Iterator[tuple[int, int]]:
    """Yield first and end of runs of at most this many clients and rows; a larger client is a run of its own."""
    first, n_clients = 0, len(starts) - 1
    while first < n_clients:
        end = int(np.searchsorted(starts, starts[first] + rows, side="right")) - 1
        end = max(min(end, first + rows), first + 1)
        yield first, end
        first = end


def cut(piece: Points, rows: int) -> Iterator[Points]:
    """Yield an array in parts of this many rows, a sparse matrix in parts that fit a batch."""
    step = sparse_rows(piece.shape[1]) if sparse.issparse(piece) else rows
    yield from (piece[start : start + step] for start in range(0, piece.shape[0], step))


def gathered(parts: Iterator[Points], rows: int) -> Iterator[ClientBatch]:
    """Yield the parts, one per client, joined to batches of at most ``rows`` dense rows; a larger part is a batch of its own.

    A sparse row counts as what it stores; still a batch has at most ``sparse_rows`` parts and rows together.
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


def _joined(pending: list[Points]) -> ClientBatch:
    return finite_batch(stacked(pending, pending[0].shape[1]), np.array([part.shape[0] for part in pending]))


def stacked(parts: Iterable[Points], dimension: int) -> Points:
    """Return the rows of all parts, as a sparse matrix if all are sparse; an array without rows if there are no parts."""
    held = list(parts)
    if len(held) == 1:
        return held[0]
    if held and all(sparse.issparse(part) for part in held):
        return sparse.vstack(held, format="csr")
    return np.concatenate([part.toarray() if sparse.issparse(part) else part for part in held or [np.empty((0, dimension))]])
