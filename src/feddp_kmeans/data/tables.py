"""Tables on disk as clients: one file a client, read in pieces when a statistic needs them.

Opening reads headers only. A column that is not numeric is refused by name; an empty cell is a NaN, whose row is dropped on the client.
"""

import glob
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
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
from feddp_kmeans.data.cells import as_numbers, is_numeric, listed
from feddp_kmeans.data.formats import check_file, has_names, is_svmlight, read_schema, read_tables

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


@dataclass(frozen=True)
class TableFile:
    """One table of numbers on disk."""

    path: Path
    columns: tuple[str, ...]
    """Names of the numeric columns; made up for a file that has none."""

    @property
    def dimension(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def pieces(self, rows: int) -> Iterator[FloatArray]:
        """Yield the rows as float64 or float32 arrays, at most ``rows`` at a time; one empty array for an empty file."""
        yielded = False
        with named_errors(self.path):
            for piece in self._read(rows):
                yielded = True
                yield piece
        if not yielded:
            yield np.empty((0, self.dimension))

    def read(self) -> FloatArray:
        """Return the whole table as float64."""
        return np.concatenate(list(self.pieces(1 << 20)), dtype=np.float64)

    def _read(self, rows: int) -> Iterator[FloatArray]:
        if not has_names(self.path):
            yield from array_pieces(self.path, self.columns, rows)
            return
        for table in read_tables(self.path, self.columns, rows):
            yield np.column_stack([as_numbers(column) for column in table.itercolumns()])


class Source(Protocol):
    """One client's points on disk."""

    def pieces(self, rows: int) -> Iterator[FloatArray]:
        """Yield the points, at most ``rows`` at a time."""
        ...


def open_table(path: Path, *, ignore: Collection[str] = (), like: Sequence[str] | None = None) -> TableFile:
    """Return the table in this file without the columns ``ignore``; in the order of ``like`` where it has the same columns."""
    check_file(path)
    if like is not None and is_svmlight(path):
        return TableFile(path, tuple(like))
    with named_errors(path):
        schema = read_schema(path)
    for field in schema:
        if field.name not in ignore and not is_numeric(field.type):
            raise FedDPError(f"column {field.name!r} of {path.name} must be numeric, got {field.type}.")
    columns = tuple(name for name in schema.names if name not in ignore)
    if not columns:
        raise FedDPError(f"{path.name} must have at least one numeric column, got none.")
    if like is not None and has_names(path) and set(columns) == set(like):
        columns = tuple(like)
    return TableFile(path, columns)


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


def open_clients(where: str, *, ignore: Collection[str] = (), like: Sequence[str] | None = None) -> list[TableFile]:
    """Return one table a client. Columns may stand in any order; ``like`` gives the order, else the first client's."""
    paths = client_paths(where)
    if like is None and is_svmlight(paths[0]):
        raise FedDPError(
            f"server data must be given for SVMlight clients, which do not state their number of columns, got {paths[0].name}."
        )
    first = open_table(paths[0], ignore=ignore, like=like)
    tables = [first, *(open_table(path, ignore=ignore, like=first.columns) for path in paths[1:])]
    for table in tables:
        if table.columns != first.columns:
            raise FedDPError(
                f"client files must have the same columns: {first.path.name} has {_short(first.columns)}, "
                f"{table.path.name} has {_short(table.columns)}."
            )
    return tables


def check_readable(tables: Sequence[Source]) -> None:
    """Read every file once, so that one that is broken far down is refused by name before anything is released."""
    for table in tables:
        for _ in table.pieces(_PIECE):
            pass


def read_grouped(
    path: Path, client_column: str, *, ignore: Collection[str] = (), like: Sequence[str] | None = None
) -> tuple[FloatArray, Any, tuple[str, ...]]:
    """Return the points of one table, the client of each row, and the names of the coordinates."""
    owners = read_owners(path, client_column)
    table = open_table(path, ignore=(*ignore, client_column), like=like)
    return table.read(), owners, table.columns


def read_owners(path: Path, client_column: str) -> Any:
    """Return the client of each row of one table, as whole numbers."""
    check_file(path)
    with named_errors(path):
        names = read_schema(path).names if has_names(path) else []
        if client_column not in names:
            raise FedDPError(f"client column {client_column!r} must be in {path.name}, which has {_short(tuple(names))}.")
        parts = [table[client_column] for table in read_tables(path, [client_column], _PIECE, text=True)]
        if not parts:
            return np.empty(0, dtype=np.int64)
        whole = pa.concat_tables([pa.table({"owner": part}) for part in parts])["owner"].combine_chunks()
        if pa.types.is_dictionary(whole.type):
            whole = whole.cast(whole.type.value_type)
        return pc.dictionary_encode(whole, null_encoding="encode").indices.to_numpy(zero_copy_only=False)


def check_same_columns(server: TableFile, columns: tuple[str, ...]) -> None:
    """Refuse a server table whose columns are not those of the clients."""
    if server.columns != columns:
        raise FedDPError(f"server data must have the clients' columns, {_short(columns)}, got {_short(server.columns)}.")


def _short(columns: tuple[str, ...]) -> str:
    return f"{len(columns)} columns ({listed(columns, 4)})"


class named_errors:  # noqa: N801 - reads as a function where it is used
    """Turns a reader's exception into one line that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _BROKEN) and not isinstance(error, FedDPError):
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise FedDPError(f"{self._path.name} must be a readable {self._path.suffix} table, got: {first:.300}") from None
