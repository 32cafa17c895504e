"""Tables on disk as clients: one file per client, read in pieces when a statistic needs them.

What a row says depends on that row, the header and public options. A row that does not parse, or with a cell that is missing or no number,
is left out by itself. A file that is broken or of the wrong kind is refused when it is opened, before anything is released.
"""

import glob
import os
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.data.array_files import array_pieces
from feddp_kmeans.data.cells import as_numbers, count_words, decimal_of, is_numeric, listed
from feddp_kmeans.data.formats import CSV, check_file, has_names, is_svmlight, read_schema, read_tables
from feddp_kmeans.data.lines import Count, silent

LABELS = ".labels"
"""How the stem of a file of labels ends."""
_BROKEN = (
    pa.ArrowException,
    zipfile.BadZipFile,
    zlib.error,
    TokenError,
    SyntaxError,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
    MemoryError,
    RuntimeError,
)
"""What readers raise at files that are not what they seem: NumPy reads a header as Python, zipfile knows ciphers and odd packings."""
_PIECE = 1 << 16
"""Rows that are read at once where no one says how many."""
_ADVICE = "leave it out with --ignore, or say how words become numbers by a schema (feddp encode)"


Tell = Callable[[str], object]
"""Takes a line for the data holder's own terminal."""


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
        """Yield the points as float64 or float32 arrays, at most ``rows`` at a time; one empty array for an empty file."""
        yielded = False
        with named_errors(self.path):
            for piece in self._read(rows, silent, silent):
                yielded = True
                yield piece
        if not yielded:
            yield np.empty((0, self.dimension))

    def read(self) -> FloatArray:
        """Return all points as float64."""
        return np.concatenate(list(self.pieces(_PIECE)), dtype=np.float64)

    def check(self, tell: Tell = silent) -> None:
        """Read the whole file once: refuse one that is broken or of the wrong kind, and say how many rows are left out.

        That is set-up, for the eyes of the data holder: whether a file is refused depends on what it holds.
        """
        lost, words = _Lost(), np.zeros((len(self.numbers), 2), dtype=np.int64)

        def look(table: pa.Table) -> None:
            words[:] += [count_words(table[name], decimal_of(table)) for name in self.numbers]

        n_rows = n_holes = 0
        with named_errors(self.path):
            for piece in self._read(_PIECE, lost.add, look):
                n_rows += len(piece)
                n_holes += int((~np.isfinite(piece)).any(axis=1).sum())
        wrong = [name for name, (worded, present) in zip(self.numbers, words, strict=True) if 2 * worded > present]
        if wrong:
            raise FedDPError(f"{_named(wrong)} of {self.path.name} must hold numbers, got words in most cells: {_ADVICE}.")
        if lost.n_rows > n_rows:
            raise FedDPError(f"{self.path.name} must hold one row per line, like its first line; most of its lines do not parse.")
        if lost.n_rows + n_holes:
            told = f"{lost.n_rows:,} do not parse, {n_holes:,} have a cell that is missing or no number"
            tell(f"{self.path.name}: {lost.n_rows + n_holes:,} of {lost.n_rows + n_rows:,} rows are left out ({told}).")

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
class NoPoints:
    """A client without data: a file that cannot be read, where the user allows that."""

    columns: tuple[str, ...]

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.columns)

    def pieces(self, rows: int) -> Iterator[FloatArray]:  # noqa: ARG002 - there are none
        """Yield one empty array."""
        yield self.read()

    def read(self) -> FloatArray:
        """Return an empty array."""
        return np.empty((0, self.dimension))


class Source(Protocol):
    """One client's points on disk."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        ...

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        ...

    def pieces(self, rows: int) -> Iterator[FloatArray]:
        """Yield the points, at most ``rows`` at a time."""
        ...

    def read(self) -> FloatArray:
        """Return all points."""
        ...


def open_table(path: Path, *, ignore: Collection[str] = (), like: Sequence[str] | None = None) -> TableFile:
    """Return the table in this file without the columns ``ignore``; in the order of ``like`` where it has the same columns."""
    check_file(path)
    if like is not None and is_svmlight(path):
        return TableFile(path, tuple(like))
    with named_errors(path):
        schema = read_schema(path)
    check_numeric(schema, [name for name in schema.names if name not in ignore], path)
    columns = tuple(name for name in schema.names if name not in ignore)
    if not columns:
        raise FedDPError(f"{path.name} must have at least one numeric column, got none.")
    if like is not None and has_names(path) and set(columns) == set(like):
        columns = tuple(like)
    return TableFile(path, columns)


def check_numeric(found: pa.Schema, columns: Collection[str], path: Path) -> None:
    """Refuse a table with a column of another type than numbers; cells of a CSV have none and are looked at when it is read."""
    if path.suffix.lower() in CSV:
        return
    for field in found:
        if field.name in columns and not is_numeric(field.type):
            raise FedDPError(f"column {field.name!r} of {path.name} must hold numbers, got {field.type}: {_ADVICE}.")


def client_paths(where: str) -> list[Path]:
    """Return the files of a folder, or those that match a glob pattern, in the order of their names.

    Hidden files are no clients, and neither are labels written beside a client's table: they would count its points twice.
    """
    folder = Path(where)
    paths = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(where))  # noqa: PTH207 - the pattern may be absolute
    found = sorted(path for path in paths if path.is_file() and not path.name.startswith(".") and not path.stem.endswith(LABELS))
    if not found:
        raise FedDPError(f"clients must be files in a folder or of a pattern, got none at {where!r}.")
    return found


def open_clients(
    where: str, *, ignore: Collection[str] = (), like: Sequence[str] | None = None, skip_broken: bool = False, tell: Tell = silent
) -> list[Source]:
    """Return one table per client, each read once. Columns may stand in any order; ``like`` gives the order, else the first client's."""
    paths = client_paths(where)
    if like is None and is_svmlight(paths[0]):
        raise FedDPError(
            f"server data must be given for SVMlight clients, which do not state their number of columns, got {paths[0].name}."
        )
    first: TableFile | None = None

    def open_one(path: Path) -> TableFile:
        nonlocal first
        table = open_table(path, ignore=ignore, like=like if first is None else first.columns)
        first = first or table
        if table.columns != first.columns:
            raise FedDPError(
                f"client files must have the same columns: {first.path.name} has {_short(first.columns)}, "
                f"{path.name} has {_short(table.columns)}."
            )
        return table

    return open_all(paths, open_one, columns=like, skip_broken=skip_broken, tell=tell)


def open_all(
    paths: Sequence[Path],
    open_one: Callable[[Path], PointFile],
    *,
    columns: Sequence[str] | None,
    skip_broken: bool,
    tell: Tell,
) -> list[Source]:
    """Return each file opened and read once. With ``skip_broken`` one that cannot be read is a client without data.

    ``columns`` are the coordinates that such a client has; the other files' where it is None.
    """
    opened: list[PointFile | None] = []
    for path in paths:
        try:
            source = open_one(path)
            source.check(tell)
            opened.append(source)
        except UnreadableFileError as error:
            if not skip_broken:
                raise
            tell(f"{error} It is a client without data.")
            opened.append(None)
    known = columns or next((source.columns for source in opened if source is not None), None)
    if known is None:
        raise FedDPError("clients must have at least one file that can be read, got none.")
    return [source or NoPoints(tuple(known)) for source in opened]


def read_grouped(source: PointFile, client_column: str) -> tuple[FloatArray, Any]:
    """Return the points of one table and the client of each row, as whole numbers; both come from one look at each line."""
    owners, points = [], [np.empty((0, source.dimension))]
    with named_errors(source.path):
        for table in read_tables(source.path, [client_column, *source.names], _PIECE):
            owners.append(pa.table({"owner": table[client_column]}))
            points.append(source.points(table))
        return np.concatenate(points), _numbered(owners)


def check_client_column(path: Path, client_column: str) -> None:
    """Refuse a table that does not name this column."""
    check_file(path)
    with named_errors(path):
        names = read_schema(path).names if has_names(path) else []
    if client_column not in names:
        raise FedDPError(f"client column {client_column!r} must be in {path.name}, which has {_short(tuple(names))}.")


def _numbered(owners: list[pa.Table]) -> Any:
    if not owners:
        return np.empty(0, dtype=np.int64)
    whole = pa.concat_tables(owners)["owner"].combine_chunks()
    if pa.types.is_dictionary(whole.type):
        whole = whole.cast(whole.type.value_type)
    return pc.dictionary_encode(whole, null_encoding="encode").indices.to_numpy(zero_copy_only=False)


def check_same_columns(server: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Refuse a server table whose columns are not those of the clients."""
    if server != columns:
        raise FedDPError(f"server data must have the clients' columns, {_short(columns)}, got {_short(server)}.")


def _short(columns: tuple[str, ...]) -> str:
    return f"{len(columns)} columns ({listed(columns, 4)})"


def _named(columns: Sequence[str]) -> str:
    return f"column{'s' * (len(columns) > 1)} {listed([repr(name) for name in columns])}"


class UnreadableFileError(FedDPError):
    """A file that cannot be read as what its name says."""


class named_errors:  # noqa: N801 - reads as a function where it is used
    """Turns a reader's exception into one line that names the file, and nothing that is in it: readers quote cells."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _BROKEN) and not isinstance(error, FedDPError):
            number = error.errno if isinstance(error, OSError) else None
            why = os.strerror(number) if number else "it is broken, or not what its name says"
            raise UnreadableFileError(f"{self._path.name} must be a readable {self._path.suffix} table: {why}.") from None
