"""Tables on disk as clients: one file per client. A file that is broken or of the wrong kind is refused when it is opened."""

import glob
import logging
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import InputError, UnreadableFileError
from feddp_kmeans.tables.cells import as_plain, as_text, check_present, is_numeric, is_text, listed
from feddp_kmeans.tables.formats import has_names, is_csv, is_svmlight, read_schema
from feddp_kmeans.tables.point_files import ADVICE, PIECE, BrokenFile, PointFile
from feddp_kmeans.tables.schema import Schema

log = logging.getLogger(__name__)

LABELS = ".labels"
"""Ending of the stem of a file with labels."""


def open_table(path: Path, schema: Schema | None = None, *, ignore: Collection[str] = (), like: Sequence[str] | None = None) -> PointFile:
    """Return the table in this file as points, encoded by the schema if there is one; its columns are checked.

    Without a schema, the columns in ``ignore`` are left out, and the others must be those in ``like``, in any order.
    """
    if schema is not None:
        if not is_svmlight(path):
            schema.check_columns(read_schema(path), path.name)
        return PointFile(path, schema.columns, schema)
    if is_svmlight(path) and like is not None:
        return PointFile(path, tuple(like))
    found = read_schema(path)
    columns = tuple(name for name in found.names if name not in ignore)
    for name in columns:  # cells of a CSV file have no types: they are checked when they are read
        if not is_csv(path) and not is_numeric(kind := found.field(name).type):
            raise InputError(f"column {name!r:.80} of {path.name} must hold numbers, got {kind}: {ADVICE}.")
    if not columns:
        raise InputError(f"{path.name} must have at least one numeric column, got none.")
    if like is not None:
        if not (set(columns) == set(like) if has_names(path) else columns == tuple(like)):
            raise InputError(f"{path.name} must have {_short(like)} like the other tables, got {_short(columns)}.")
        columns = tuple(like)
    return PointFile(path, columns)


def open_columns(path: Path, columns: tuple[str, ...]) -> PointFile:
    """Return these columns of a table as points; its other columns are left out."""
    names = read_schema(path).names if has_names(path) else []
    return open_table(path, ignore=[name for name in names if name not in columns], like=columns)


def client_paths(where: str) -> list[Path]:
    """Return the files in a folder, or those that match a glob pattern, sorted by name.

    Hidden files are not clients. Neither are files with labels, written by ``feddp predict``: they would count points twice.
    """
    folder = Path(where)
    paths = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(where))  # noqa: PTH207 - the pattern may be absolute
    found = sorted(path for path in paths if path.is_file() and not path.name.startswith(".") and not path.stem.endswith(LABELS))
    if not found:
        raise InputError(f"clients must be files in a folder or files that match a pattern, got none at {where!r}.")
    return found


def open_clients(
    where: str, schema: Schema | None = None, *, ignore: Collection[str] = (), like: Sequence[str] | None = None, skip_broken: bool = False
) -> list[PointFile]:
    """Return one table per client; each file is read once. The order of columns is that of ``like``, or else of the first client.

    With ``skip_broken``, a file that cannot be read is a client without data.
    """
    paths = client_paths(where)
    known = like if schema is None else schema.columns
    if known is None and is_svmlight(paths[0]):
        raise InputError(
            f"server data must be given for SVMlight clients, which do not state their number of columns, got {paths[0].name}."
        )
    opened: dict[Path, PointFile] = {}
    for path in paths:
        try:
            table = open_table(path, schema, ignore=ignore, like=known)
            table.check()
        except UnreadableFileError as error:
            if not skip_broken:
                raise
            log.warning("%s It is a client without data.", error)
        else:
            opened[path], known = table, table.columns
    if known is None:
        raise InputError("clients must have at least one file that can be read, got none.")
    return [opened.get(path) or BrokenFile(path, tuple(known)) for path in paths]


def read_grouped(source: PointFile, client_column: str) -> tuple[FloatArray, IntArray]:
    """Return the points of one table and the number of the client of each row, from a single pass over the file."""
    owners, points = [pa.table({"owner": pa.array([], pa.null())})], [np.empty((0, source.dimension))]
    for table, rows in source.parts(PIECE, (client_column,)):
        owner = table[client_column]
        owners.append(pa.table({"owner": as_text(owner) if is_text(owner.type) else as_plain(owner)}))
        points.append(rows)
    whole = pa.concat_tables(owners, promote_options="default")["owner"].combine_chunks()
    return np.concatenate(points), pc.dictionary_encode(whole, null_encoding="encode").indices.to_numpy(zero_copy_only=False)


def check_client_column(path: Path, client_column: str) -> None:
    """Refuse a table without a column of this name."""
    names = read_schema(path).names if has_names(path) else []
    check_present([client_column], names, path.name, "client column")


def _short(columns: Sequence[str]) -> str:
    return f"{len(columns)} columns ({listed(columns, 4)})"
