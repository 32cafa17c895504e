"""``feddp predict``: the cluster of each row of a table, in a copy of it. Labels are the data holder's own, not a private output."""

import csv
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from feddp_kmeans.cli.folders import check_new_file
from feddp_kmeans.cli.terminal import say
from feddp_kmeans.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from feddp_kmeans.report.finished_run import FinishedRun

LABEL = "cluster"
_ROWS = 1 << 16


def predict(
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    table: Annotated[Path, typer.Argument(metavar="INPUT", help="A table with the columns of the run, in any order.")],
    path: Annotated[Path | None, typer.Option("--out", help="Where the labels go. (default: next to the input, as NAME.labels)")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a table again with the cluster of each row. The labels describe single rows: they are NOT private."""
    from feddp_kmeans.report.finished_run import read_run
    from feddp_kmeans.tables.client_files import LABELS
    from feddp_kmeans.tables.formats import has_names

    run = read_run(made)
    suffix = table.suffix if has_names(table) else ".npy"
    path = path or table.with_name(f"{table.stem}{LABELS}{suffix}")
    if path.suffix.lower() != suffix.lower():
        raise InputError(f"--out must end in {suffix!r} as the input does, got {str(path)!r}.")
    check_new_file(path, force=force)
    run.open(table).check()
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".feddp-") as folder:  # so that the output is complete or absent
        whole = Path(folder) / path.name
        n_rows = _write_table(run, table, whole) if has_names(table) else _write_array(run, table, whole)
        whole.replace(path)
    say(f"{n_rows:,} rows labelled in {path}.")
    say("Labels are the data holder's own: they depend on single rows and are NOT private.")


def _write_table(run: "FinishedRun", source: Path, path: Path) -> int:
    """Write a copy of a table with one more column; return the number of rows."""
    import pyarrow as pa

    from feddp_kmeans.tables.formats import read_schema

    schema = read_schema(source)
    if LABEL in schema.names:
        raise InputError(f"{source.name} must not have a column {LABEL!r} already.")
    n_rows = 0
    with _writer(source, path, schema) as write:
        for table, points in run.open(source).parts(_ROWS, schema.names):
            write(table.append_column(LABEL, pa.array(run.labels(points))))
            n_rows += len(points)
    return n_rows


def _write_array(run: "FinishedRun", source: Path, path: Path) -> int:
    """Write the labels of a file without column names as one integer array; return the number of rows."""
    parts = [run.labels(points) for points in run.open(source).pieces(_ROWS)]
    labels = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    np.save(path, labels)
    return len(labels)


@contextmanager
def _writer(source: Path, path: Path, schema: "pa.Schema") -> Iterator[Callable[["pa.Table"], Any]]:
    """Yield a function that writes tables in the format of the source; cells of a CSV file keep their text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from feddp_kmeans.tables.csv_files import read_header
    from feddp_kmeans.tables.formats import is_csv

    if is_csv(source):
        dialect = read_header(source)
        with path.open("w", newline="", encoding=dialect.encoding[:6]) as file:  # utf-8, or utf-16 with a mark
            rows = csv.writer(file, delimiter=dialect.delimiter, lineterminator="\n")
            rows.writerow([*schema.names, LABEL])
            yield lambda table: rows.writerows(zip(*(column.to_pylist() for column in table.itercolumns()), strict=True))
        return
    full = schema.append(pa.field(LABEL, pa.int64()))
    with pq.ParquetWriter(path, full) if source.suffix.lower() == ".parquet" else pa.ipc.new_file(str(path), full) as writer:
        yield writer.write
