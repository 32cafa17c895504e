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
from feddp_kmeans.tables.csv_files import PACKED, Count, read_header, silent
from feddp_kmeans.tables.excel_files import EXCEL, excel_names, excel_tables
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading

CSV = tuple(f"{text}{packed}" for packed in ("", *PACKED) for text in (".csv", ".tsv", ".tab", ".txt"))
ARROW = (".arrow", ".feather")
SUFFIXES = (*CSV, *EXCEL, ".parquet", *ARROW, *ARRAYS, *SVMLIGHT)
_SHORT = ".csv, .tsv, .txt (also packed, as in .csv.gz), .xlsx, .parquet, .feather, .arrow, .npy, .npz or .svm"
_BY_SPREADSHEET, _BY_STATISTICS = "save it as .xlsx or .csv in a spreadsheet program", "save it as .csv in a statistics program"
_ADVICE = {
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), _BY_SPREADSHEET),
    **dict.fromkeys((".sav", ".por", ".dta", ".sas7bdat", ".xpt"), _BY_STATISTICS),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "save it in R by write.csv(table, FILE, row.names = FALSE)"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "save it in Python by pandas.read_json(FILE).to_csv(OTHER, index=False)"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3", ".mdb", ".accdb"), "save each table of the database as .csv"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), "unpack it first"),
    **dict.fromkeys((".gz", ".bz2", ".zst"), "call it after what is in it, as in NAME.csv.gz"),
    "": "call it after what is in it, as in NAME.csv",
}
"""What to do with files that people have and that are not read here."""
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
        is_empty = path.is_file() and path.stat().st_size == 0
        why = os.strerror(number) if number else "it is empty" if is_empty else "it is broken, or not what its name says"
        raise UnreadableFileError(f"{path.name} must be a readable {kind_of(path)} table: {why}.") from None


def kind_of(path: Path) -> str:
    """Return the ending that says what kind of table a file is, such as .csv.gz; empty if it is none that is read here."""
    return next((suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix)), "")


def stem_of(path: Path) -> str:
    """Return the name of a table without the ending that says its kind."""
    return path.name[: len(path.name) - len(kind_of(path))]


def advice_for(path: Path) -> str:
    """Return how to make a table of a file that is not read here."""
    return _ADVICE.get(path.suffix.lower(), "save it as .csv")


def has_names(path: Path) -> bool:
    """Return whether files of this format name their columns."""
    return path.suffix.lower() not in (*ARRAYS, *SVMLIGHT)


def has_types(path: Path) -> bool:
    """Return whether columns of this format have types; cells of text files and of Excel sheets are text."""
    return not is_csv(path) and not is_excel(path)


def is_csv(path: Path) -> bool:
    """Return whether this is a delimited text file, whose cells have no types."""
    return path.name.lower().endswith(CSV)


def is_excel(path: Path) -> bool:
    """Return whether this is an Excel workbook."""
    return path.suffix.lower() in EXCEL


def is_svmlight(path: Path) -> bool:
    """Return whether this is an SVMlight file, which does not state its number of columns."""
    return path.suffix.lower() in SVMLIGHT


def read_schema(path: Path, reading: Reading = AS_THE_HEADER_SAYS) -> pa.Schema:
    """Return names and types of the columns, from headers only; every column of a CSV file or an Excel sheet is text.

    A text file may have columns without a name; all other names are distinct.
    """
    if not path.is_file():
        raise InputError(f"file must exist, got {str(path)!r}.")
    if not kind_of(path):
        raise InputError(f"{path.name} must be a table whose name ends in {_SHORT}: {advice_for(path)}.")
    with named_errors(path):
        if not has_types(path):
            names = read_header(path, reading).names if is_csv(path) else excel_names(path, reading.sheet)
            schema = pa.schema([(name, pa.string()) for name in names])
        elif path.suffix.lower() == ".parquet":
            schema = pq.read_schema(path)
        elif path.suffix.lower() in ARROW:
            with _arrow(path) as reader:
                schema = reader.schema
        else:
            schema = pa.schema([(name, pa.float64()) for name in array_columns(path)])
        names = [name for name in schema.names if name]  # decoded here: names in a broken file may not be text
    check_distinct(names, f"columns of {path.name}")
    return schema


def read_tables(
    path: Path, columns: Sequence[str], rows: int, left_out: Count = silent, reading: Reading = AS_THE_HEADER_SAYS
) -> Iterator[pa.Table]:
    """Yield these columns in this order, at most ``rows`` rows at a time; ``left_out`` receives the number of lines that do not parse."""
    names = list(columns)
    if is_csv(path):
        yield from read_header(path, reading).batches(names, rows, left_out)
    elif is_excel(path):
        yield from excel_tables(path, names, rows, reading.sheet)
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
