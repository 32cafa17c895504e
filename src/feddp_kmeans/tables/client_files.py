"""Tables on disk as clients: one file per client. A file that is broken or of the wrong kind is refused when it is opened."""

import glob
import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError, UnreadableFileError
from feddp_kmeans.tables.cells import as_text, is_text, listed
from feddp_kmeans.tables.formats import check_file, has_names, is_svmlight, named_errors, read_schema, read_tables
from feddp_kmeans.tables.point_files import PIECE, EncodedFile, NoPoints, PointFile, TableFile, check_numeric
from feddp_kmeans.tables.schema import Schema

log = logging.getLogger(__name__)

LABELS = ".labels"
"""How the stem of a file of labels ends."""


def open_table(path: Path, schema: Schema | None = None, *, ignore: Collection[str] = (), like: Sequence[str] | None = None) -> PointFile:
    """Return the table in this file as points, after a look at its columns: encoded by a schema, or else its numbers.

    Without a schema, the columns ``ignore`` are left out, and the order is that of ``like`` where it has the same columns.
    """
    check_file(path)
    if is_svmlight(path) and (schema is not None or like is not None):
        return TableFile(path, tuple(like or ())) if schema is None else EncodedFile(path, schema)
    with named_errors(path):
        found = read_schema(path)
    if schema is not None:
        schema.check_columns(found, path.name)
        return EncodedFile(path, schema)
    columns = tuple(name for name in found.names if name not in ignore)
    check_numeric(found, columns, path)
    if not columns:
        raise InputError(f"{path.name} must have at least one numeric column, got none.")
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
        raise InputError(f"clients must be files in a folder or of a pattern, got none at {where!r}.")
    return found


def open_columns(path: Path, columns: tuple[str, ...]) -> TableFile:
    """Return these columns of a table; refuse one that lacks a column, or where it is not a number. Other columns are left alone."""
    check_file(path)
    if not is_svmlight(path):
        with named_errors(path):
            found = read_schema(path)
        if not has_names(path) and len(found.names) != len(columns):
            raise InputError(f"{path.name} must have {len(columns)} columns, got {len(found.names)}.")
        for name in columns:
            if name not in found.names:
                raise InputError(f"column {name!r} must be in {path.name}, which has {listed(found.names)}.")
        check_numeric(found, columns, path)
    return TableFile(path, columns)


def open_clients(
    where: str,
    schema: Schema | None = None,
    *,
    ignore: Collection[str] = (),
    like: Sequence[str] | None = None,
    skip_broken: bool = False,
) -> list[PointFile]:
    """Return one table per client, each read once. Columns may stand in any order; ``like`` gives the order, else the first client's.

    With ``skip_broken`` a file that cannot be read is a client without data.
    """
    paths = client_paths(where)
    if schema is None and like is None and is_svmlight(paths[0]):
        raise InputError(
            f"server data must be given for SVMlight clients, which do not state their number of columns, got {paths[0].name}."
        )
    opened: list[PointFile | None] = []
    first: PointFile | None = None
    for path in paths:
        try:
            table = open_table(path, schema, ignore=ignore, like=like if first is None else first.columns)
            first = first or table
            if table.columns != first.columns:
                raise InputError(
                    f"client files must have the same columns: {first.path.name} has {_short(first.columns)}, "
                    f"{path.name} has {_short(table.columns)}."
                )
            table.check()
            opened.append(table)
        except UnreadableFileError as error:
            if not skip_broken:
                raise
            log.warning("%s It is a client without data.", error)
            opened.append(None)
    known = schema.columns if schema is not None else like or next((table.columns for table in opened if table is not None), None)
    if known is None:
        raise InputError("clients must have at least one file that can be read, got none.")
    return [table or NoPoints(path, tuple(known)) for path, table in zip(paths, opened, strict=True)]


def read_grouped(source: PointFile, client_column: str) -> tuple[FloatArray, Any]:
    """Return the points of one table and the client of each row, as whole numbers; both come from one look at each line."""
    owners, points = [], [np.empty((0, source.dimension))]
    with named_errors(source.path):
        for table in read_tables(source.path, list(dict.fromkeys([client_column, *source.names])), PIECE):
            owner = table[client_column]
            owners.append(pa.table({"owner": as_text(owner) if is_text(owner.type) else owner}))
            points.append(source.points(table))
        return np.concatenate(points), _numbered(owners)


def check_client_column(path: Path, client_column: str) -> None:
    """Refuse a table that does not name this column."""
    check_file(path)
    with named_errors(path):
        names = read_schema(path).names if has_names(path) else []
    if client_column not in names:
        raise InputError(f"client column {client_column!r} must be in {path.name}, which has {_short(tuple(names))}.")


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
        raise InputError(f"server data must have the clients' columns, {_short(columns)}, got {_short(server)}.")


def _short(columns: tuple[str, ...]) -> str:
    return f"{len(columns)} columns ({listed(columns, 4)})"
