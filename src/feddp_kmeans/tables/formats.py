"""Formats of tables on disk: which columns a file has, its rows in pieces, and one line that names a file which cannot be read."""

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans.errors import FedDPError, InputError, UnreadableFileError
from feddp_kmeans.tables.array_files import ARRAYS, SVMLIGHT, array_columns, array_pieces
from feddp_kmeans.tables.cells import check_distinct, is_text
from feddp_kmeans.tables.csv_files import Count, CsvFile, silent

CSV = (".csv", ".tsv")
ARROW = (".arrow", ".feather")
_BUFFER = 1 << 18
"""Bytes of each column that are read ahead from a Parquet file: by default all of it is, whatever its size."""
_BYTES = {False: pa.binary(), True: pa.large_binary()}
SUFFIXES = (*CSV, ".parquet", *ARROW, *ARRAYS, *SVMLIGHT)
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


def check_file(path: Path) -> None:
    """Refuse a path that is no file, or of a format that is not read."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"file must end in one of {list(SUFFIXES)}, got {str(path)!r}.")
    if not path.is_file():
        raise InputError(f"file must exist, got {str(path)!r}.")


def has_names(path: Path) -> bool:
    """Return whether files of this format name their columns."""
    return path.suffix.lower() not in (*ARRAYS, *SVMLIGHT)


def is_svmlight(path: Path) -> bool:
    """Return whether this is an SVMlight file, which does not state its number of columns."""
    return path.suffix.lower() in SVMLIGHT


def read_schema(path: Path) -> pa.Schema:
    """Return the names and types of the columns, from headers only: all that a CSV holds is text."""
    suffix = path.suffix.lower()
    if suffix in CSV:
        schema = pa.schema([(name, pa.string()) for name in CsvFile(path).names])
    elif suffix == ".parquet":
        schema = pq.read_schema(path)
    elif suffix in ARROW:
        with _arrow(path) as reader:
            schema = reader.schema
    else:
        schema = pa.schema([(name, pa.float64()) for name in array_columns(path)])
    check_distinct(schema.names, path.name)
    return schema


def read_tables(path: Path, columns: Sequence[str], rows: int, left_out: Count = silent) -> Iterator[pa.Table]:
    """Yield these columns in this order, at most ``rows`` rows at a time; ``left_out`` takes how many lines of a text file do not parse."""
    suffix = path.suffix.lower()
    if suffix in CSV:
        yield from CsvFile(path).batches(columns, rows, left_out)
    elif suffix == ".parquet":
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
            for batch in file.iter_batches(batch_size=rows, columns=list(columns)):
                yield pa.Table.from_batches([_sound(batch)]).select(list(columns))
    elif suffix in ARROW:
        with _arrow(path) as reader:
            for batch in _arrow_batches(reader):
                sound = _sound(batch.select(list(columns)))
                for start in range(0, sound.num_rows, rows):
                    yield pa.Table.from_batches([sound.slice(start, rows)])
    else:
        names = tuple(columns) if is_svmlight(path) else array_columns(path)
        for piece in array_pieces(path, names, rows, left_out):
            yield pa.table(dict(zip(names, piece.T, strict=True))).select(list(columns))


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch after a look at the places inside it, which are followed unseen; bytes that are no text are replaced, cell by cell."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        batch = pa.RecordBatch.from_arrays([_decoded(column) if is_text(column.type) else column for column in batch], batch.schema.names)
        batch.validate(full=True)
    return batch


def _decoded(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        words = _decoded(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, words).cast(words.type)
    kind = pa.binary_view() if pa.types.is_string_view(column.type) else _BYTES[pa.types.is_large_string(column.type)]
    raw = column.view(kind)
    raw.validate(full=True)
    return pa.array([None if cell is None else cell.decode("utf-8", "replace") for cell in raw.to_pylist()], pa.large_string())


def _arrow(path: Path) -> Any:
    source = pa.memory_map(str(path))
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def _arrow_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)
    else:
        yield from reader
