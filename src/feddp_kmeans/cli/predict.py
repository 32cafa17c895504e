"""``feddp predict``: the cluster of each row of a table, written beside it. Labels are the data holder's own, not a private output."""

import csv
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report.finished_run import Run, read_run
from feddp_kmeans.tables.broken import named_errors
from feddp_kmeans.tables.client_files import LABELS
from feddp_kmeans.tables.csv_files import CsvFile
from feddp_kmeans.tables.formats import CSV, check_file, has_names, read_schema, read_tables
from feddp_kmeans.tables.inputs import open_points
from feddp_kmeans.tables.lines import silent
from feddp_kmeans.tables.point_files import Tell

LABEL = "cluster"
_ROWS = 1 << 16


class Writer(Protocol):
    """Takes the rows of a table with their labels."""

    def write(self, table: pa.Table) -> None:
        """Write these rows."""
        ...


def write_predictions(run: Path, table: Path, path: Path | None, *, force: bool, tell: Tell = silent) -> tuple[int, Path]:
    """Write a table again with the cluster of each row; return how many rows, and where they went."""
    found = read_run(run)
    suffix = table.suffix if has_names(table) else ".npy"
    path = path or table.with_name(f"{table.stem}{LABELS}{suffix}")
    if path.suffix.lower() != suffix.lower():
        raise FedDPError(f"--out must end in {suffix!r} as the input does, got {str(path)!r}.")
    if path.exists() and not force:
        raise FedDPError(f"--out must not exist already (use --force to replace it), got {str(path)!r}.")
    open_points(table, found.columns, found.schema).check(tell)
    return _write_labels(found, table, path), path


def _write_labels(run: Run, source: Path, path: Path) -> int:
    check_file(source)
    if not path.parent.is_dir():
        raise FedDPError(f"--out must be in a folder that exists, got {str(path)!r}.")
    if not has_names(source):
        return _write_array(run, source, path)
    with named_errors(source):
        schema = read_schema(source)
    if LABEL in schema.names:
        raise FedDPError(f"{source.name} must not have a column {LABEL!r} already.")
    n_rows = 0
    with _whole(path) as temporary, _writer(source, temporary, schema) as writer:
        for table in _tables(source, schema.names):
            writer.write(table.append_column(LABEL, pa.array(run.labels(run.points(table)))))
            n_rows += table.num_rows
    return n_rows


def _write_array(run: Run, source: Path, path: Path) -> int:
    """Write the labels of a file without column names as one array of whole numbers."""
    parts = [run.labels(run.points(table)) for table in _tables(source, run.needed)]
    labels = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    with _whole(path) as temporary, temporary.open("wb") as file:
        np.save(file, labels)
    return len(labels)


def _tables(source: Path, columns: Any) -> Iterator[pa.Table]:
    with named_errors(source):
        yield from read_tables(source, columns, _ROWS)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield a file beside ``path`` that takes its place once it is written whole."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".feddp-") as folder:
        temporary = Path(folder) / path.name
        yield temporary
        temporary.replace(path)


@contextmanager
def _writer(source: Path, path: Path, schema: pa.Schema) -> Iterator[Writer]:
    suffix = source.suffix.lower()
    if suffix in CSV:
        dialect = CsvFile(source)
        with path.open("w", newline="", encoding=dialect.encoding) as file:
            rows = csv.writer(file, delimiter=dialect.delimiter, lineterminator="\n")
            rows.writerow([*schema.names, LABEL])
            yield _CsvWriter(rows)
        return
    full = schema.append(pa.field(LABEL, pa.int64()))
    with pq.ParquetWriter(path, full) if suffix == ".parquet" else pa.ipc.new_file(str(path), full) as writer:
        yield writer


class _CsvWriter:
    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def write(self, table: pa.Table) -> None:
        """Write these rows, each cell as the text it was."""
        self._rows.writerows(zip(*(column.to_pylist() for column in table.itercolumns()), strict=True))
