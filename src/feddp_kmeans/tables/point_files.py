"""One file of points, read in pieces when a statistic needs them.

The meaning of a row depends only on that row, the header and public options. A row that does not parse, or has a cell that is missing or
not a number, is left out, and no other row with it.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.array_files import array_pieces
from feddp_kmeans.tables.cells import as_numbers, count_words, decimal_of, listed
from feddp_kmeans.tables.columns import NumberColumn
from feddp_kmeans.tables.csv_files import Count, silent
from feddp_kmeans.tables.formats import has_names, named_errors, read_tables
from feddp_kmeans.tables.schema import Schema

PIECE = 1 << 16
"""Maximum number of rows read at a time."""
ADVICE = "leave it out with --ignore, or use a schema that says how words become numbers (feddp encode)"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PointFile:
    """One table on disk whose rows are points: its numbers, or its rows as encoded by a schema."""

    path: Path
    columns: tuple[str, ...]
    """Names of the coordinates; made up if the file has none."""
    schema: Schema | None = None

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
            for table in read_tables(self.path, tuple(dict.fromkeys(names)), min(rows, PIECE), left_out):
                yield table, self._points(table)

    def _points(self, table: pa.Table) -> FloatArray:
        if self.schema is not None:
            return self.schema.encode(table)
        return np.column_stack([as_numbers(table[name], decimal_of(table)) for name in self.columns])

    def check(self) -> None:
        """Read the whole file once: refuse a broken file or one of the wrong kind, and log how many rows are left out.

        The outcome depends on private data: call this during set-up only, and show its log to the data holder only.
        """
        fields = () if self.schema is None else self.schema.fields
        numbers = self.columns if self.schema is None else [field.name for field in fields if isinstance(field, NumberColumn)]
        words = {name: np.zeros(2, dtype=np.int64) for name in numbers}
        lost: list[int] = []
        n_rows = n_holes = 0
        for table, points in self.parts(PIECE, left_out=lost.append):
            for name in words.keys() & set(table.column_names):
                words[name] += count_words(table[name], decimal_of(table))
            n_rows += len(points)
            n_holes += int((~np.isfinite(points)).any(axis=1).sum())
        wrong = [repr(name) for name, (worded, present) in words.items() if 2 * worded > present]
        name, n_lost = self.path.name, sum(lost)
        if wrong:
            columns = f"column{'s' * (len(wrong) > 1)} {listed(wrong)}"
            raise InputError(f"{columns} of {name} must hold numbers, got words in most cells: {ADVICE}.")
        if n_lost > n_rows:
            raise InputError(f"{name} must hold one row per line, like its first line; most of its lines do not parse.")
        if n_lost + n_holes:
            why = f"{n_lost:,} do not parse, {n_holes:,} have a cell that is missing or not a number"
            log.warning("%s: %s of %s rows are left out (%s).", name, f"{n_lost + n_holes:,}", f"{n_lost + n_rows:,}", why)


class BrokenFile(PointFile):
    """A file that cannot be read, if the user allows such files: a client without data."""

    size = 0

    def parts(self, rows: int, more: Sequence[str] = (), left_out: Count = silent) -> Iterator[tuple[pa.Table, FloatArray]]:  # noqa: ARG002
        """Yield nothing."""
        return iter(())
