"""One file of points, read in pieces when a statistic needs them.

What a row says depends on that row, the header and public options. A row that does not parse, or with a cell that is missing or no number,
is left out by itself.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.array_files import array_pieces
from feddp_kmeans.tables.cells import as_numbers, count_words, decimal_of, is_numeric, listed
from feddp_kmeans.tables.columns import NumberColumn
from feddp_kmeans.tables.csv_files import Count, silent
from feddp_kmeans.tables.formats import CSV, has_names, named_errors, read_tables
from feddp_kmeans.tables.schema import Schema

PIECE = 1 << 16
"""Rows that are read at once where no one says how many."""
_ADVICE = "leave it out with --ignore, or say how words become numbers by a schema (feddp encode)"
log = logging.getLogger(__name__)


class PointFile:
    """One table on disk whose rows are points."""

    path: Path
    columns: tuple[str, ...]
    """Names of the coordinates."""

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.columns)

    @property
    def size(self) -> int:
        """Return about how many numbers there are: a number of 8 bytes."""
        with named_errors(self.path):
            return self.path.stat().st_size // 8

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns of the file that are read."""
        raise NotImplementedError

    @property
    def numbers(self) -> tuple[str, ...]:
        """Return those of them that are to hold numbers."""
        raise NotImplementedError

    def points(self, table: pa.Table) -> FloatArray:
        """Return the rows of a table as points; NaN for a number that is missing."""
        raise NotImplementedError

    def pieces(self, rows: int) -> Iterator[FloatArray]:
        """Yield the points as float64 or float32 arrays, at most ``rows`` at a time."""
        with named_errors(self.path):
            yield from self._read(rows, silent, silent)

    def read(self) -> FloatArray:
        """Return all points as float64."""
        return np.concatenate([np.empty((0, self.dimension)), *self.pieces(PIECE)])

    def check(self) -> None:
        """Read the whole file once: refuse one that is broken or of the wrong kind, and log how many rows are left out.

        That is set-up, and its log is for the eyes of the data holder: both depend on what the file holds.
        """
        lost, words = _Lost(), np.zeros((len(self.numbers), 2), dtype=np.int64)

        def look(table: pa.Table) -> None:
            words[:] += [count_words(table[name], decimal_of(table)) for name in self.numbers]

        n_rows = n_holes = 0
        with named_errors(self.path):
            for piece in self._read(PIECE, lost.add, look):
                n_rows += len(piece)
                n_holes += int((~np.isfinite(piece)).any(axis=1).sum())
        wrong = [name for name, (worded, present) in zip(self.numbers, words, strict=True) if 2 * worded > present]
        if wrong:
            raise InputError(f"{_named(wrong)} of {self.path.name} must hold numbers, got words in most cells: {_ADVICE}.")
        if lost.n_rows > n_rows:
            raise InputError(f"{self.path.name} must hold one row per line, like its first line; most of its lines do not parse.")
        if lost.n_rows + n_holes:
            told = f"{lost.n_rows:,} do not parse, {n_holes:,} have a cell that is missing or no number"
            log.warning(
                "%s: %s of %s rows are left out (%s).", self.path.name, f"{lost.n_rows + n_holes:,}", f"{lost.n_rows + n_rows:,}", told
            )

    def _read(self, rows: int, left_out: Count, look: Callable[[pa.Table], object]) -> Iterator[FloatArray]:
        for table in read_tables(self.path, self.names, rows, left_out):
            look(table)
            yield self.points(table)


@dataclass
class _Lost:
    n_rows: int = 0

    def add(self, n_rows: int) -> None:
        self.n_rows += n_rows


@dataclass(frozen=True)
class TableFile(PointFile):
    """One table of numbers on disk."""

    path: Path
    columns: tuple[str, ...]
    """Names of the numeric columns; made up for a file that has none."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns of the file that are read."""
        return self.columns

    @property
    def numbers(self) -> tuple[str, ...]:
        """Return those of them that are to hold numbers: all."""
        return self.columns

    def points(self, table: pa.Table) -> FloatArray:
        """Return the rows of a table as points; NaN for a cell that is missing or no number."""
        return np.column_stack([as_numbers(table[name], decimal_of(table)) for name in self.columns])

    def _read(self, rows: int, left_out: Count, look: Callable[[pa.Table], object]) -> Iterator[FloatArray]:
        if has_names(self.path):
            return super()._read(rows, left_out, look)
        return array_pieces(self.path, self.columns, rows, left_out)


@dataclass(frozen=True)
class EncodedFile(PointFile):
    """One mixed table on disk, encoded piece by piece as it is read."""

    path: Path
    schema: Schema

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the names of the coordinates."""
        return self.schema.columns

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns of the file that are read."""
        return self.schema.names

    @property
    def numbers(self) -> tuple[str, ...]:
        """Return those of them that are to hold numbers."""
        return tuple(field.name for field in self.schema.fields if isinstance(field, NumberColumn))

    def points(self, table: pa.Table) -> FloatArray:
        """Return the rows of a table, encoded."""
        return self.schema.encode(table)

    def _read(self, rows: int, left_out: Count, look: Callable[[pa.Table], object]) -> Iterator[FloatArray]:
        return super()._read(min(rows, PIECE), left_out, look)


@dataclass(frozen=True)
class NoPoints(TableFile):
    """A client without data: a file that cannot be read, where the user allows that."""

    @property
    def size(self) -> int:
        """Return how many numbers there are: none."""
        return 0

    def _read(self, rows: int, left_out: Count, look: Callable[[pa.Table], object]) -> Iterator[FloatArray]:  # noqa: ARG002 - it is not read
        return iter(())


def check_numeric(found: pa.Schema, columns: Collection[str], path: Path) -> None:
    """Refuse a table with a column of another type than numbers; cells of a CSV have none and are looked at when it is read."""
    if path.suffix.lower() in CSV:
        return
    for field in found:
        if field.name in columns and not is_numeric(field.type):
            raise InputError(f"column {field.name!r} of {path.name} must hold numbers, got {field.type}: {_ADVICE}.")


def _named(columns: Sequence[str]) -> str:
    return f"column{'s' * (len(columns) > 1)} {listed([repr(name) for name in columns])}"
