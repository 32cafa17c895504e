"""``feddp predict``: the cluster of each row of a table, in a copy of it. Labels are the data holder's own, not a private output."""

import csv
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.folders import check_new_file
from feddp_kmeans.cli.terminal import say
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.reading import Reading

if TYPE_CHECKING:
    import pyarrow as pa

    from feddp_kmeans.report.finished_run import FinishedRun

LABEL = "cluster"
_ROWS = 1 << 16


@options.takes_reading
def predict(
    reading: Reading,
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    tables: Annotated[
        list[Path], typer.Argument(metavar="INPUT...", help="Tables with the columns of the run, in any order, or a folder of them.")
    ],
    path: Annotated[
        Path | None, typer.Option("--out", help="File for the labels, or folder. (default: next to each table, as NAME.labels)")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write tables again with the cluster of each row. The labels describe single rows: they are NOT private.

    Files called NAME.labels are never read as clients.

    Examples:
      feddp predict run/ people.csv others.csv
      feddp predict run/ clients/ --out labels/

    """
    from feddp_kmeans.report.finished_run import read_run

    run = read_run(made, reading)
    pairs = _pairs(tables, path)
    for source, target in pairs:
        check_new_file(target, force=force)
        run.open(source).check()
    for source, target in pairs:
        say(f"{_label(run, source, target):,} rows labelled in {target}.")
    say("Labels are the data holder's own: they depend on single rows and are NOT private.")


def _pairs(tables: list[Path], out: Path | None) -> list[tuple[Path, Path]]:
    """Return each table with the file for its labels; refuse a file that a later run would read as a client."""
    from feddp_kmeans.tables.client_files import LABELS, client_paths
    from feddp_kmeans.tables.formats import stem_of

    def named(source: Path, folder: Path) -> Path:
        return folder / f"{stem_of(source)}{LABELS}{_ending(source)}"

    table, *others = tables
    if others or table.is_dir():
        if out is not None:
            if out.exists() and not out.is_dir():
                raise InputError(f"--out must be a folder if there are several tables, got {str(out)!r}.")
            out.mkdir(parents=True, exist_ok=True)
        pairs = [
            (source, named(source, out or source.parent)) for source in client_paths(tuple(map(str, tables)) if others else str(table))
        ]
        if len({target for _, target in pairs}) < len(pairs):
            raise InputError("tables must have different names without their endings, got two of one name.")
        return pairs
    target = named(table, out or table.parent) if out is None or out.is_dir() else out
    if not target.name.lower().endswith(_ending(table).lower()):
        raise InputError(f"--out must end in {_ending(table)!r} for this input, got {str(target)!r}.")
    if target.parent.resolve() == table.parent.resolve() and not stem_of(target).endswith(LABELS):
        rule = f"end in {LABELS}{_ending(table)}, or be in another folder, so that no later run reads it as a client"
        raise InputError(f"--out must {rule}, got {str(target)!r}.")
    return [(table, target)]


def _ending(source: Path) -> str:
    """Return the ending of the file for a table's labels: that of the table, but arrays get .npy, and sheets and packed text plain text."""
    from feddp_kmeans.tables.csv_files import PACKED
    from feddp_kmeans.tables.formats import has_names, is_excel

    if not has_names(source):
        return ".npy"
    if is_excel(source):
        return ".csv"
    return Path(source.stem).suffix if source.suffix.lower() in PACKED else source.suffix


def _label(run: "FinishedRun", source: Path, target: Path) -> int:
    """Write the labels of a table; return the number of rows."""
    from feddp_kmeans.tables.formats import has_names

    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".feddp-") as folder:  # so that the output is complete or absent
        whole = Path(folder) / target.name
        n_rows = _write_table(run, source, whole) if has_names(source) else _write_array(run, source, whole)
        whole.replace(target)
    return n_rows


def _write_table(run: "FinishedRun", source: Path, path: Path) -> int:
    """Write a copy of a table with one more column; return the number of rows."""
    import pyarrow as pa

    from feddp_kmeans.tables.formats import read_schema

    schema = read_schema(source, run.reading)
    schema = pa.schema(
        [schema.field(schema.names.index(name)) for name in dict.fromkeys(schema.names)]
    )  # one column without a name at most
    if LABEL in schema.names:
        raise InputError(f"{source.name} must not have a column {LABEL!r} already.")
    n_rows = 0
    with _writer(source, path, schema, run.reading) as write:
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
def _writer(source: Path, path: Path, schema: "pa.Schema", reading: Reading) -> Iterator[Callable[["pa.Table"], Any]]:
    """Yield a function that writes tables in the format of the source; cells of text keep their text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from feddp_kmeans.tables.csv_files import read_header
    from feddp_kmeans.tables.formats import has_types, is_csv

    if not has_types(source):
        dialect = read_header(source, reading) if is_csv(source) else None
        encoding = re.sub(r"^(utf-\d\d)-.e$", r"\1", dialect.encoding) if dialect else "utf-8"  # with a byte order mark where there was one
        with path.open("w", newline="", encoding=encoding, errors="replace") as file:
            rows = csv.writer(file, delimiter=dialect.delimiter if dialect else ",", lineterminator="\n")
            rows.writerow([*schema.names, LABEL])
            yield lambda table: rows.writerows(zip(*(column.to_pylist() for column in table.itercolumns()), strict=True))
        return
    full = schema.append(pa.field(LABEL, pa.int64()))
    with pq.ParquetWriter(path, full) if source.suffix.lower() == ".parquet" else pa.ipc.new_file(str(path), full) as writer:
        yield writer.write
