"""Clients as arrays of this process: one array per client, or one table of all clients' rows."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray, Points
from feddp_kmeans.errors import InputError, NoNumberError
from feddp_kmeans.silos.batched import BatchedSilo, SourceSilo
from feddp_kmeans.silos.batches import as_floats, batch_rows, finite_batch, runs_of
from feddp_kmeans.silos.pages import ReadPages
from feddp_kmeans.silos.silo import numbered_columns
from feddp_kmeans.statistics.batch import ClientBatch

_MOST = 20
"""Number of columns that one message names."""


class ArraySource:
    """One client's points as an array or a sparse matrix, never changed. Without ``columns`` they are called x0, x1, ..."""

    def __init__(self, points: Any, columns: tuple[str, ...] | None = None) -> None:
        self._points = points
        self._columns = columns
        self.dimension = int(points.shape[1])
        self.size = int(points.size + points.shape[0])

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return numbered_columns(self.dimension) if self._columns is None else self._columns

    def read(self) -> Any:
        """Return the points as they were given."""
        return self._points

    def pieces(self, rows: int) -> Iterator[Points]:
        """Yield the rows as float64 or float32, at most ``rows`` at a time: views where that is what they are."""
        read = ReadPages(self._points)
        for start in range(0, self._points.shape[0], rows):
            piece = self._points[start : start + rows]
            yield as_floats(piece)
            read.add(piece)


class ArraySilo(SourceSilo):
    """One array or sparse matrix per client."""

    def __init__(self, clients: Sequence[Any], columns: tuple[str, ...] | None = None) -> None:
        super().__init__([ArraySource(as_points(points, f"client {index}"), columns) for index, points in enumerate(clients)])
        if len(self.columns) != self.dimension:
            raise InputError(f"columns must name the {self.dimension} coordinates of a point, got {len(self.columns)} names.")


class TableSilo(BatchedSilo):
    """Clients as runs of rows of one table: client j holds rows ``starts[j]:starts[j + 1]``. Nothing is kept for a single client.

    Where the rows of a client are not together, ``order`` lists them client by client.
    """

    def __init__(self, table: Any, starts: IntArray, order: IntArray | None = None) -> None:
        if len(starts) < 2:
            raise InputError("clients must be at least one, got none.")
        self._table = table
        self._starts = starts
        self._order = order
        self.n_clients = len(starts) - 1
        self.dimension = int(table.shape[1])
        self.size = int(table.size + table.shape[0])

    @classmethod
    def from_groups(cls, points: Any, groups: Any) -> "TableSilo":
        """Return one client per distinct value of ``groups``, sorted; a client's rows stay in the order of the table."""
        table = as_points(points, "X")
        labels = _distinguished(np.asarray(groups))
        if labels.shape != (table.shape[0],):
            raise InputError(f"groups must hold one value per row of X: X has {table.shape[0]} rows, groups {labels.shape}.")
        order = None
        if not _ascends(labels):
            numbers = np.unique(labels, return_inverse=True)[1]
            order = np.argsort(numbers, kind="stable")
            labels = numbers[order]
        inner = np.flatnonzero(labels[1:] != labels[:-1]) + 1
        starts = np.concatenate([[0], inner, [len(labels)] * bool(len(labels))])
        return cls(table, starts.astype(np.int64), order)

    @classmethod
    def from_offsets(cls, points: Any, offsets: Any) -> "TableSilo":
        """Return clients of consecutive rows: client j holds rows ``offsets[j]:offsets[j + 1]``."""
        table = as_points(points, "X")
        return cls(table, checked_offsets(offsets, table.shape[0]))

    def as_one_client(self) -> "TableSilo":
        """Return the same points as those of one client."""
        return TableSilo(self._table, self._starts[[0, -1]], self._order)

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points."""
        return (self._rows(int(start), int(end)) for start, end in zip(self._starts[:-1], self._starts[1:], strict=True))

    def points(self) -> Iterator[ClientBatch]:
        """Yield all points, in the order of the table, in batches that ignore which client holds a point."""
        for piece in ArraySource(self._table).pieces(batch_rows(self.dimension)):
            yield finite_batch(piece, np.array([piece.shape[0]]))

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield the clients of the cohort (None: all), each whole in one batch."""
        read = ReadPages(self._table)
        for first, end in runs_of(self._starts, batch_rows(self.dimension)):
            points = self._rows(int(self._starts[first]), int(self._starts[end]))
            sizes = np.diff(self._starts[first : end + 1])
            if cohort is None:
                yield finite_batch(as_floats(points), sizes)
            else:
                taken = cohort[first:end]
                yield finite_batch(as_floats(points[np.repeat(taken, sizes)]), sizes[taken])
            read.add(points)

    def _rows(self, start: int, end: int) -> Any:
        return self._table[start:end] if self._order is None else self._table[self._order[start:end]]


def checked_offsets(offsets: Any, rows: int) -> IntArray:
    """Return where clients of consecutive rows begin, and the end; refuse anything that does not divide the rows."""
    starts = np.asarray(offsets)
    if starts.ndim != 1 or not len(starts) or starts.dtype.kind not in "iu":
        raise InputError(f"offsets must be whole numbers, one per client and one more, got {starts.dtype} of shape {starts.shape}.")
    starts = starts.astype(np.int64, copy=False)
    if starts[0] != 0 or starts[-1] != rows or (np.diff(starts) < 0).any():
        raise InputError(f"offsets must ascend from 0 to the {rows} rows of X, got {starts[0]} to {starts[-1]}.")
    if len(starts) < 2:
        raise InputError("clients must be at least one, got none.")
    return starts


def _distinguished(labels: Any) -> Any:
    """Return labels that can be sorted: objects become numbers, since a NaN or a None among them would separate rows of one client."""
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return labels
    numbers: dict[Any, int] = {}
    try:
        return np.array([numbers.setdefault(label if label == label else None, len(numbers)) for label in labels], dtype=np.int64)  # noqa: PLR0124
    except (TypeError, ValueError):
        raise InputError("groups must be words or numbers, got another object.") from None


def _ascends(labels: Any) -> bool:
    """Return whether the labels are sorted already: sorting would need twice their memory."""
    try:
        return bool((labels[:-1] <= labels[1:]).all())
    except TypeError:
        return False


def as_points(points: Any, name: str) -> Any:
    """Return a two-dimensional numeric array or CSR matrix of these points; refuse anything else."""
    array = as_numbers(points, name)
    if array.shape[1] == 0:
        raise InputError(f"{name} must have at least one column, got shape {array.shape}.")
    return array


def as_numbers(points: Any, name: str) -> Any:
    """Return the same, of any number of columns. No cell is quoted, as numpy and scikit-learn would."""
    array = _as_table(points, name)
    if array.dtype.kind in "biuf":
        return array
    if sparse.issparse(array) or array.dtype.kind == "c":
        raise InputError(f"{name} must hold real numbers only, got values of type {array.dtype}. Complex data not supported.")
    columns = [_as_floats(cells) for cells in array.T]
    wrong = [index for index, found in enumerate(columns) if isinstance(found, Exception)]
    if wrong:
        names = _names(points, array)
        raise _refusal(name, [names[index] for index in wrong], any(isinstance(columns[index], TypeError) for index in wrong))
    return np.column_stack([found for found in columns if not isinstance(found, Exception)])


def _as_table(points: Any, name: str) -> Any:
    try:
        array = points.tocsr() if sparse.issparse(points) else np.asarray(points)
    except (TypeError, RuntimeError):  # columns of kinds that have no common one, or no array of this machine
        array = _as_objects(points, name)
    except ValueError:
        raise InputError(f"{name} must be a table of numbers, got rows of different lengths.") from None
    if array.ndim != 2:
        raise InputError(
            f"{name} must have two dimensions (points, coordinates), got shape {array.shape}. Reshape your data: one point is one row."
        )
    return array


def _as_objects(points: Any, name: str) -> Any:
    try:
        return np.asarray(points, dtype=object)
    except (TypeError, RuntimeError):
        where = f" on {points.device}" if hasattr(points, "device") else ""
        advice = (
            "a tensor stays on its device in LocalFederation(TorchSilo([...])) (docs/scale.md); numpy reads tensor.detach().cpu().float()"
        )
        raise InputError(f"{name} must be an array that numpy can read, got {type(points).__name__}{where}: {advice}.") from None


def _names(points: Any, array: Any) -> list[str | int]:
    """Return the names of the columns; their numbers where they have no names."""
    names = list(getattr(points, "column_names", getattr(points, "columns", ())))
    named = len(names) == array.shape[1] and all(isinstance(name, str) for name in names)
    return names if named else list(range(array.shape[1]))


def _as_floats(cells: Any) -> FloatArray | Exception:
    """Return cells as numbers, NaN where they are missing; or why one of them is no number, in words that may quote it."""
    if cells.dtype.kind not in "OUS":
        return TypeError()
    missing = getattr(sys.modules.get("pandas"), "NA", None)
    try:
        if cells.dtype.kind == "O":
            cells = cells.copy()
            cells[[cell is missing for cell in cells]] = np.nan
        floats: FloatArray = cells.astype(np.float64)
    except Exception as error:  # noqa: BLE001 a cell may be of any class
        return error
    return floats


def _refusal(name: str, wrong: Sequence[str | int], objects: bool) -> InputError:
    """Return the refusal of columns that hold no numbers, all of them in one line, with what to do; no cell is quoted."""
    listed = ", ".join(f"{column!r:.80}" for column in wrong[:_MOST]) + ", ..." * (len(wrong) > _MOST)
    them, each = ("column", "it holds") if len(wrong) == 1 else ("columns", "each holds")
    example = f"schema={{{str(wrong[0])!r:.80}: {{'categories': [...]}}}}, or {{'range': ['2015-01-01', '2026-12-31']}} for dates"
    rule = f"{name} must hold numbers only, got something else in {them} {listed}"
    advice = f"leave the {them} out, or say what {each}, from public knowledge, as in {example} (docs/encoding.md)"
    if objects:
        return NoNumberError(f"{rule}: {advice}. A float() argument must be a string or a real number.")
    return InputError(f"{rule}: {advice}.")
