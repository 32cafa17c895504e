"""One file of points, read in pieces when a statistic needs them.

The meaning of a row depends only on that row, the header and public options. A row that does not parse, or has a cell that is missing or
not a number, is left out, and no other row with it.
"""

import logging
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.batches import side_by_side
from feddp_kmeans.tables.advice import refused_columns, words_advice
from feddp_kmeans.tables.array_files import array_pieces
from feddp_kmeans.tables.cells import as_numbers, count_words, decimal_of, is_text
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.csv_files import Count, silent
from feddp_kmeans.tables.formats import has_names, has_types, is_csv, is_excel, named_errors, read_schema, read_tables
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.row_counts import RowCounts, log_counts
from feddp_kmeans.tables.schema import Schema

PIECE = 1 << 16
"""Maximum number of rows read at a time."""
_SILENT_SECONDS = 3.0
"""Reading that takes longer logs how far it is."""
REPLACED = "\ufffd"
"""What stands for bytes that are not text."""
log = logging.getLogger(__name__)


class Pace:
    """Says when it is time to log how far a long reading is."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def is_due(self) -> bool:
        """Return whether nothing was logged for a while; the next while begins then."""
        if time.monotonic() < self._last + _SILENT_SECONDS:
            return False
        self._last = time.monotonic()
        return True


@dataclass(frozen=True)
class PointFile:
    """One table on disk whose rows are points: its numbers, or its rows as encoded by a schema."""

    path: Path
    columns: tuple[str, ...]
    """Names of the coordinates; made up if the file has none."""
    schema: Schema | None = None
    reading: Reading = AS_THE_HEADER_SAYS

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.columns)

    @property
    def size(self) -> int:
        """Return the approximate number of values: one per 8 bytes."""
        with named_errors(self.path):
            return self.path.stat().st_size // 8

    def read(self) -> FloatArray:
        """Return all points as float64."""
        return np.concatenate([np.empty((0, self.dimension)), *self.pieces(PIECE)])

    def pieces(self, rows: int) -> Iterator[FloatArray]:
        """Yield the points as float64 or float32 arrays of at most ``rows`` rows; NaN for a missing number."""
        return (points for _, points in self.parts(rows))

    def parts(self, rows: int, more: Sequence[str] = (), left_out: Count = silent) -> Iterator[tuple[pa.Table, FloatArray]]:
        """Yield pairs of a table and its points. The table has the columns that points are made of, and those in ``more``.

        It is empty for plain arrays, which are points already.
        """
        with named_errors(self.path):
            if self.schema is None and not has_names(self.path):
                for points in array_pieces(self.path, self.columns, rows, left_out):
                    yield pa.table({}), points
                return
            names = (*more, *(self.columns if self.schema is None else self.schema.names))
            for table in self._tables(tuple(dict.fromkeys(names)), min(rows, PIECE), left_out):
                yield table, self._points(table)

    def _tables(self, names: tuple[str, ...], rows: int, left_out: Count) -> Iterator[pa.Table]:
        if not is_excel(self.path):
            return read_tables(self.path, names, rows, left_out, self.reading)
        sheet = self._sheet.select(names)
        return (sheet.slice(start, rows) for start in range(0, sheet.num_rows, rows))

    @cached_property
    def _sheet(self) -> pa.Table:
        """Return a whole Excel sheet, kept for later passes: unpacking a workbook takes far longer than reading its cells."""
        schema = read_schema(self.path, self.reading)
        return pa.concat_tables([schema.empty_table(), *read_tables(self.path, schema.names, PIECE, reading=self.reading)])

    def _points(self, table: pa.Table) -> FloatArray:
        if self.schema is not None:
            return self.schema.encode(table)
        return side_by_side([as_numbers(table[name], decimal_of(table)) for name in self.columns])

    def check(self) -> None:
        """Read the whole file once: refuse a broken file or one of the wrong kind, and log how many rows are not whole.

        The outcome depends on private data: call this during set-up only, and show its log to the data holder only.
        """
        log_counts({self.path: self.counted()})

    def counted(self) -> RowCounts:
        """Read the whole file once: refuse a broken file or one of the wrong kind, and return how many rows are whole (see ``check``)."""
        fields = {} if self.schema is None else {field.name: field for field in self.schema.fields}
        words = {name: np.zeros(2, dtype=np.int64) for name in fields or self.columns}
        lost: list[int] = []
        n_rows, n_gaps, n_empty, gaps, odd, pace = 0, 0, 0, np.zeros(self.dimension, dtype=np.int64), False, Pace()
        for table, points in self.parts(PIECE, left_out=lost.append):
            odd = odd or (bool(fields) and is_csv(self.path) and _has_replaced(table))
            for name in words.keys() & set(table.column_names):
                words[name] += (fields[name].strange if fields else count_words)(table[name], decimal_of(table))
            absent = ~np.isfinite(points)
            n_rows, n_gaps, gaps = n_rows + len(points), n_gaps + int(absent.any(axis=1).sum()), gaps + absent.sum(axis=0)
            n_empty += int(absent.all(axis=1).sum())
            if pace.is_due():
                log.info("%s: %s rows read so far", self.path.name, f"{n_rows:,}")
        wrong = {name: fields[name].rule if fields else Column.rule for name, (worded, present) in words.items() if 2 * worded > present}
        name, n_lost = self.path.name, sum(lost)
        if wrong:
            raise InputError(refused_columns(wrong, name, "words in most cells", self._advice))
        if n_lost > n_rows:
            raise InputError(f"{name} must hold one row per line, like its first line; most of its lines do not parse.")
        may_fill = self.schema is None or any(self.schema.open)
        strange = (self.reading.encoding or "UTF-8") if odd else ""
        usable = n_rows - (n_empty if may_fill else n_gaps)
        return RowCounts(n_rows + n_lost, n_lost, n_gaps, usable, may_fill, self.columns[gaps.argmax()], strange)

    def _advice(self, names: Sequence[str]) -> str:
        """Return what to do about words in place of numbers; one column whose name has a mark in it was probably not split."""
        if not has_types(self.path) and len(self.columns) == 1 and (mark := re.search(r"[^\w\s.()%-]", self.columns[0])):
            return f"if its cells are separated by {mark[0]!r}, say so with --delimiter; otherwise {words_advice(names)}"
        return words_advice(names)


def _has_replaced(table: pa.Table) -> bool:
    return any(pc.any(pc.match_substring(column, REPLACED)).as_py() for column in table.columns if is_text(column.type))


class BrokenFile(PointFile):
    """A file that cannot be read, if the user allows such files: a client without data."""

    size = 0

    def parts(self, rows: int, more: Sequence[str] = (), left_out: Count = silent) -> Iterator[tuple[pa.Table, FloatArray]]:  # noqa: ARG002
        """Yield nothing."""
        return iter(())
