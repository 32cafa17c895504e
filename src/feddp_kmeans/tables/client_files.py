"""Tables on disk as clients: one file per client. A file that is broken or of the wrong kind is refused when it is opened."""

import glob
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.broken import UnreadableFileError, named_errors
from feddp_kmeans.tables.cells import as_text, is_text, listed
from feddp_kmeans.tables.formats import check_file, has_names, is_svmlight, read_schema, read_tables
from feddp_kmeans.tables.lines import silent
from feddp_kmeans.tables.point_files import PIECE, NoPoints, PointFile, TableFile, Tell, check_numeric

LABELS = ".labels"
"""How the stem of a file of labels ends."""


def open_table(path: Path, *, ignore: Collection[str] = (), like: Sequence[str] | None = None) -> TableFile:
    """Return the table in this file without the columns ``ignore``; in the order of ``like`` where it has the same columns."""
    check_file(path)
    if like is not None and is_svmlight(path):
        return TableFile(path, tuple(like))
    with named_errors(path):
        schema = read_schema(path)
    check_numeric(schema, [name for name in schema.names if name not in ignore], path)
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


def open_clients(
    where: str, *, ignore: Collection[str] = (), like: Sequence[str] | None = None, skip_broken: bool = False, tell: Tell = silent
) -> list[PointFile]:
    """Return one table per client, each read once. Columns may stand in any order; ``like`` gives the order, else the first client's."""
    paths = client_paths(where)
    if like is None and is_svmlight(paths[0]):
        raise FedDPError(
            f"server data must be given for SVMlight clients, which do not state their number of columns, got {paths[0].name}."
        )
    first: TableFile | None = None

    def open_one(path: Path) -> TableFile:
        nonlocal first
        table = open_table(path, ignore=ignore, like=like if first is None else first.columns)
        first = first or table
        if table.columns != first.columns:
            raise FedDPError(
                f"client files must have the same columns: {first.path.name} has {_short(first.columns)}, "
                f"{path.name} has {_short(table.columns)}."
            )
        return table

    return open_all(paths, open_one, columns=like, skip_broken=skip_broken, tell=tell)


def open_all(
    paths: Sequence[Path],
    open_one: Callable[[Path], PointFile],
    *,
    columns: Sequence[str] | None,
    skip_broken: bool,
    tell: Tell,
) -> list[PointFile]:
    """Return each file opened and read once. With ``skip_broken`` one that cannot be read is a client without data.

    ``columns`` are the coordinates that such a client has; the other files' where it is None.
    """
    opened: list[PointFile | None] = []
    for path in paths:
        try:
            source = open_one(path)
            source.check(tell)
            opened.append(source)
        except UnreadableFileError as error:
            if not skip_broken:
                raise
            tell(f"{error} It is a client without data.")
            opened.append(None)
    known = columns or next((source.columns for source in opened if source is not None), None)
    if known is None:
        raise FedDPError("clients must have at least one file that can be read, got none.")
    return [source or NoPoints(path, tuple(known)) for path, source in zip(paths, opened, strict=True)]


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
        raise FedDPError(f"client column {client_column!r} must be in {path.name}, which has {_short(tuple(names))}.")


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
        raise FedDPError(f"server data must have the clients' columns, {_short(columns)}, got {_short(server)}.")


def _short(columns: tuple[str, ...]) -> str:
    return f"{len(columns)} columns ({listed(columns, 4)})"
