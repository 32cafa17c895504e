"""Tables on disk as clients: one file a client, read in pieces when a statistic needs them.

Opening reads headers only. A column that is not numeric is refused by name; an empty cell is a NaN, whose row is dropped on the client.
"""

import glob
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import FloatArray

SUFFIXES = (".csv", ".parquet", ".npy")


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
        """Yield the rows as float64 arrays, at most ``rows`` at a time; one empty array for an empty file."""
        yielded = False
        with named_errors(self.path):
            for piece in self._read(rows):
                yielded = True
                yield piece
        if not yielded:
            yield np.empty((0, self.dimension))

    def read(self) -> FloatArray:
        """Return the whole table."""
        return np.concatenate(list(self.pieces(1 << 20)))

    def _read(self, rows: int) -> Iterator[FloatArray]:
        if self.path.suffix == ".npy":
            array = np.load(self.path, mmap_mode="r", allow_pickle=False)
            for start in range(0, len(array), rows):
                yield np.asarray(array[start : start + rows], dtype=np.float64)
            return
        if self.path.suffix == ".parquet":
            with pq.ParquetFile(self.path) as file:
                for batch in file.iter_batches(batch_size=rows, columns=list(self.columns)):
                    yield _to_array(pa.Table.from_batches([batch]))
            return
        # Numbers are read as floats wherever they stand, so that 1 in the first block and 1.5 in a later one are one column.
        kinds = {field.name: field.type for field in _schema(self.path)}
        types = {name: kinds[name] if pa.types.is_boolean(kinds[name]) else pa.float64() for name in self.columns}
        options = pa_csv.ConvertOptions(include_columns=list(self.columns), column_types=types)
        with pa_csv.open_csv(self.path, convert_options=options) as reader:
            for batch in reader:
                for start in range(0, batch.num_rows, rows):
                    yield _to_array(pa.Table.from_batches([batch.slice(start, rows)]))


def open_table(path: Path, *, ignore: str | None = None) -> TableFile:
    """Return the table in this file, without the column ``ignore``."""
    if path.suffix not in SUFFIXES:
        raise FedDPError(f"file must end in one of {list(SUFFIXES)}, got {str(path)!r}.")
    if not path.is_file():
        raise FedDPError(f"file must exist, got {str(path)!r}.")
    with named_errors(path):
        if path.suffix == ".npy":
            array = np.load(path, mmap_mode="r", allow_pickle=False)
            if array.ndim != 2 or array.dtype.kind not in "biuf":
                raise FedDPError(f"{path.name} must hold a two-dimensional array of numbers, got {array.dtype} of shape {array.shape}.")
            return TableFile(path, tuple(f"x{i}" for i in range(array.shape[1])))
        schema = _schema(path)
        for field in schema:
            if field.name != ignore and not _is_numeric(field.type):
                raise FedDPError(f"column {field.name!r} of {path.name} must be numeric, got {field.type}.")
    columns = tuple(field.name for field in schema if field.name != ignore)
    if not columns:
        raise FedDPError(f"{path.name} must have at least one numeric column, got none.")
    return TableFile(path, columns)


def open_clients(where: str) -> list[TableFile]:
    """Return one table a client: the files of a folder, or those that match a glob pattern, in the order of their names."""
    folder = Path(where)
    paths = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(where))  # noqa: PTH207 - the pattern may be absolute
    found = sorted(path for path in paths if path.is_file() and not path.name.startswith("."))
    if not found:
        raise FedDPError(f"clients must be files in a folder or of a pattern, got none at {where!r}.")
    tables = [open_table(path) for path in found]
    for table in tables:
        if table.columns != tables[0].columns:
            raise FedDPError(
                f"client files must have the same columns: {tables[0].path.name} has {_short(tables[0].columns)}, "
                f"{table.path.name} has {_short(table.columns)}."
            )
    return tables


def read_grouped(path: Path, client_column: str) -> tuple[FloatArray, Any, tuple[str, ...]]:
    """Return the points of one table, the client of each row, and the names of the coordinates."""
    with named_errors(path):
        names = _schema(path).names if path.suffix in (".csv", ".parquet") else []
        if client_column not in names:
            raise FedDPError(f"client column {client_column!r} must be in {path.name}, which has {_short(tuple(names))}.")
        table = open_table(path, ignore=client_column)
        whole = pq.read_table(path) if path.suffix == ".parquet" else pa_csv.read_csv(path)
        owners = pc.dictionary_encode(whole[client_column].combine_chunks(), null_encoding="encode").indices
    return _to_array(whole.select(list(table.columns))), owners.to_numpy(zero_copy_only=False), table.columns


def check_same_columns(server: TableFile, columns: tuple[str, ...]) -> None:
    """Refuse a server table whose columns are not those of the clients."""
    if server.columns != columns:
        raise FedDPError(f"server data must have the clients' columns, {_short(columns)}, got {_short(server.columns)}.")


def _schema(path: Path) -> pa.Schema:
    if path.suffix == ".parquet":
        return pq.read_schema(path)
    with pa_csv.open_csv(path) as reader:
        return reader.schema


def _is_numeric(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _to_array(table: pa.Table) -> FloatArray:
    return np.column_stack([_numbers(column) for column in table.itercolumns()])


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    numbers: FloatArray = column.cast(pa.float64()).to_numpy()
    return numbers


def _short(columns: tuple[str, ...]) -> str:
    shown = ", ".join(columns[:4])
    return f"{len(columns)} columns ({shown}{', ...' if len(columns) > 4 else ''})"


class named_errors:  # noqa: N801 - reads as a function where it is used
    """Turns a reader's exception into one line that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, pa.ArrowException | OSError | ValueError) and not isinstance(error, FedDPError):
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise FedDPError(f"{self._path.name} must be a readable {self._path.suffix} table, got: {first}") from None
