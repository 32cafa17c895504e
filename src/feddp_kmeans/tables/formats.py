"""File formats of tables: the columns of a file, its rows in pieces, and one-line errors for files that cannot be read."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans.errors import FedDPError, InputError, UnreadableFileError
from feddp_kmeans.tables.array_files import ARRAYS, SVMLIGHT, array_columns, array_pieces
from feddp_kmeans.tables.cells import check_distinct, is_text
from feddp_kmeans.tables.csv_files import Count, read_header, silent

CSV = (".csv", ".tsv")
ARROW = (".arrow", ".feather")
SUFFIXES = (*CSV, ".parquet", *ARROW, *ARRAYS, *SVMLIGHT)
_BUFFER = 1 << 18
"""Bytes of each column that are read ahead from a Parquet file; the default is the whole column."""


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn the exception of a reader into one line that names the file and quotes none of its content: readers quote cells."""
    try:
        yield
    except FedDPError:
        raise
    except Exception as error:  # noqa: BLE001 - readers raise anything on broken files
        number = error.errno if isinstance(error, OSError) else None
        why = os.strerror(number) if number else "it is broken, or not what its name says"
        raise UnreadableFileError(f"{path.name} must be a readable {path.suffix} table: {why}.") from None


def has_names(path: Path) -> bool:
    """Return whether files of this format name their columns."""
    return path.suffix.lower() not in (*ARRAYS, *SVMLIGHT)


def is_csv(path: Path) -> bool:
    """Return whether this is a delimited text file, whose cells have no types."""
    return path.suffix.lower() in CSV


def is_svmlight(path: Path) -> bool:
    """Return whether this is an SVMlight file, which does not state its number of columns."""
    return path.suffix.lower() in SVMLIGHT


def read_schema(path: Path) -> pa.Schema:
    """Return names and types of the columns, from headers only; every column of a CSV file is text."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"file must end in one of {list(SUFFIXES)}, got {str(path)!r}.")
    if not path.is_file():
        raise InputError(f"file must exist, got {str(path)!r}.")
    with named_errors(path):
        if is_csv(path):
            schema = pa.schema([(name, pa.string()) for name in read_header(path).names])
        elif path.suffix.lower() == ".parquet":
            schema = pq.read_schema(path)
        elif path.suffix.lower() in ARROW:
            with _arrow(path) as reader:
                schema = reader.schema
        else:
            schema = pa.schema([(name, pa.float64()) for name in array_columns(path)])
    check_distinct(schema.names, f"columns of {path.name}")
    return schema


def read_tables(path: Path, columns: Sequence[str], rows: int, left_out: Count = silent) -> Iterator[pa.Table]:
    """Yield these columns in this order, at most ``rows`` rows at a time; ``left_out`` receives the number of lines that do not parse."""
    names = list(columns)
    if is_csv(path):
        yield from read_header(path).batches(names, rows, left_out)
    elif path.suffix.lower() == ".parquet":
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
            for batch in file.iter_batches(batch_size=rows, columns=names):
                yield pa.Table.from_batches([_sound(batch)]).select(names)
    elif path.suffix.lower() in ARROW:
        with _arrow(path) as reader:
            is_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
            for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
                sound = _sound(batch.select(names))
                for start in range(0, sound.num_rows, rows):
                    yield pa.Table.from_batches([sound.slice(start, rows)])
    else:
        known = tuple(names) if is_svmlight(path) else array_columns(path)
        for piece in array_pieces(path, known, rows, left_out):
            yield pa.table(dict(zip(known, piece.T, strict=True))).select(names)


def _arrow(path: Path) -> Any:
    source = pa.memory_map(str(path))
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose offsets were validated: Arrow would follow wrong ones. Bytes that are not UTF-8 are replaced, cell by cell."""
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
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    raw = column.view(kinds[column.type])
    raw.validate(full=True)
    return pa.array([None if cell is None else cell.decode("utf-8", "replace") for cell in raw.to_pylist()], pa.large_string())
