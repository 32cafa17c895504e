"""What Spark's workers compute: the sum of a statistic over the rows of a partition, as one row with its bytes.

A worker has one core: Spark gives the others to other workers.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.silos.batches import READ_VALUES, side_by_side
from feddp_kmeans.silos.memory import ArraySilo, TableSilo
from feddp_kmeans.silos.threads import THREADS
from feddp_kmeans.statistics.query import Query

Points = Callable[[pa.Table], FloatArray]
"""Makes points of rows, each by itself; NaN stands for what is missing."""

CLIENT, SUM, LABEL = "feddp client", "total", "cluster"
"""Columns with the client of a row, with the sum of a partition, and with the label of a row."""

_MANY_FILES = 1000
"""Files that are not looked into before a job."""


@dataclass(frozen=True)
class NumberColumns:
    """Points of columns of numbers."""

    columns: tuple[str, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        return self.columns

    def __call__(self, table: pa.Table) -> FloatArray:
        """Return the points of rows."""
        return side_by_side([_floats(table[name].combine_chunks()) for name in self.columns])


@dataclass(frozen=True)
class VectorColumn:
    """Points of one column of arrays of numbers. Where an array is missing or of another length, all cells of the row are missing."""

    name: str
    columns: tuple[str, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        return (self.name,)

    def __call__(self, table: pa.Table) -> FloatArray:
        """Return the points of rows."""
        cells, dimension = table[self.name].combine_chunks(), len(self.columns)
        right = pc.fill_null(pc.equal(pc.list_value_length(cells), dimension), False)  # noqa: FBT003 - pyarrow's signature
        points = np.full((len(cells), dimension), np.nan)
        points[right.to_numpy(zero_copy_only=False)] = _floats(cells.filter(right).flatten()).reshape(-1, dimension)
        return points


@dataclass(frozen=True)
class Renamed:
    """Points of columns that have names of their own in a frame, since Spark would read a dot in a name as a step into a structure."""

    points: Points
    names: tuple[str, ...]
    """The columns' names in the user's table, in their order."""

    def __call__(self, table: pa.Table) -> FloatArray:
        """Return the points of rows."""
        kept = [name for name in table.column_names if name != CLIENT]
        return self.points(table.select(kept).rename_columns(list(self.names)))


@dataclass(frozen=True)
class SumOfPoints:
    """The sum over a partition's rows, whoever holds them."""

    query: Query
    points: Points

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row, the sum."""
        total = self.query.nothing()
        for table in _tables(batches, max(1, READ_VALUES // self.query.dimension)):
            total += ArraySilo([self.points(table)]).exact_sum(self.query)
        yield _as_row(total)


@dataclass(frozen=True)
class Piece:
    """A group of rows of a Parquet file that all workers can open; without a group, the whole file."""

    path: str
    group: int | None = None


@dataclass(frozen=True)
class SumOfPieces:
    """The sum over pieces of files, given by their numbers, which the worker reads itself: most of the time Spark would hand over rows.

    As where Spark reads them, a column that a file does not have is missing in all of its rows.
    """

    query: Query
    points: Points
    reads: tuple[str, ...]
    pieces: Sequence[Piece]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row, the sum."""
        pieces = (self.pieces[number.as_py()] for batch in batches for number in batch.column(0))
        rows = (self._of_names(batch) for piece in pieces for batch in self._batches(piece))
        yield from SumOfPoints(self.query, self.points)(rows)

    def _batches(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(piece.path) as file:
            groups = None if piece.group is None else [piece.group]
            yield from file.iter_batches(max(1, READ_VALUES // self.query.dimension), groups, list(self.reads), use_threads=False)

    def _of_names(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        missing = np.full(len(batch), np.nan)
        columns = [_floats(batch.column(name)) if name in batch.schema.names else missing for name in self.reads]
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], list(self.reads))


def pieces_of(paths: Sequence[str]) -> tuple[Piece, ...]:
    """Return the pieces of Parquet files: their groups of rows, or whole files if these are many."""
    if len(paths) > _MANY_FILES:
        return tuple(Piece(path) for path in paths)
    return tuple(Piece(path, group) for path in paths for group in range(pq.read_metadata(path).num_row_groups))


@dataclass(frozen=True)
class SumOfClients:
    """The sum over a partition's clients, whose rows are sorted by client."""

    query: Query
    points: Points
    taken: pa.Array | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row, the sum."""
        total = self.query.nothing()
        for whole in _whole_clients(batches, max(1, READ_VALUES // self.query.dimension)):
            table = whole if self.taken is None else whole.filter(pc.is_in(whole[CLIENT], value_set=self.taken))
            if table.num_rows:
                total += TableSilo.from_offsets(self.points(table), _starts(table)).exact_sum(self.query)
        yield _as_row(total)


@dataclass(frozen=True)
class SumOfOneClient:
    """The sum over one client, whose rows are all in one partition."""

    query: Query
    points: Points

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row, the sum."""
        parts = [self.points(table) for table in _tables(batches, 1)]
        yield _as_row(ArraySilo([np.concatenate(parts or [np.empty((0, self.query.dimension))])]).exact_sum(self.query))


@dataclass(frozen=True)
class WithLabels:
    """Rows as they are, with a label of their points."""

    points: Points
    reads: tuple[str, ...]
    labels: Callable[[FloatArray], IntArray]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the same rows, with one column more."""
        for batch in batches:
            labels = self.labels(self.points(pa.Table.from_batches([batch]).select(self.reads)))
            yield pa.RecordBatch.from_arrays([*batch.columns, pa.array(labels, type=pa.int64())], [*batch.schema.names, LABEL])


@dataclass(frozen=True)
class SumOfSums:
    """The sum of sums."""

    query: Query

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row, the sum."""
        yield _as_row(added(self.query, (cell.as_py() for batch in batches for cell in batch.column(0))))


def _tables(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield tables of at least this many rows, but for the last."""
    os.environ.setdefault(THREADS, "1")
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(part.num_rows for part in held) >= rows:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _whole_clients(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield tables of whole clients. The last client of what has come so far may go on in the next batch, and is held back."""
    held: list[pa.RecordBatch] = []
    enough = rows
    for part in _tables(batches, rows):
        held += part.to_batches()
        if (n_held := sum(batch.num_rows for batch in held)) < enough:
            continue
        table = pa.Table.from_batches(held)
        last = int(_starts(table)[-2])
        if last:
            yield table.slice(0, last)
        held = table.slice(last).to_batches()
        enough = max(rows, 2 * (n_held - last))  # so that a large client is not looked through with each of its batches
    if held:
        yield pa.Table.from_batches(held)


def codes(table: pa.Table) -> IntArray:
    """Return a number per row, the same for the rows of one client; a missing name is a client's, too."""
    return np.asarray(table[CLIENT].combine_chunks().dictionary_encode(null_encoding="encode").indices)


def _starts(table: pa.Table) -> IntArray:
    numbers = codes(table)
    return np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1, [len(numbers)]]).astype(np.int64)


def _floats(cells: pa.Array) -> FloatArray:
    numbers = cells.cast(pa.int8()) if pa.types.is_boolean(cells.type) else cells
    found: FloatArray = numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def _as_row(total: IntArray) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([total.tobytes()], type=pa.binary())], [SUM])


def added(query: Query, sums: Iterable[bytes]) -> IntArray:
    """Return the sum of sums as workers send them."""
    total = query.nothing()
    for one in sums:
        total += np.frombuffer(one, dtype=np.int64)
    return total
