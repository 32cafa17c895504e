"""Which encoding is stated for some tables: by a schema file, by ranges and categories, or by a server table with words."""

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from feddp_kmeans.errors import InputError, UnreadableFileError
from feddp_kmeans.tables.cells import listed
from feddp_kmeans.tables.client_files import Where, client_paths
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.columns import OpenColumn
from feddp_kmeans.tables.formats import has_names, is_svmlight, read_schema
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.short_schema import ASKED, hint
from feddp_kmeans.tables.stated_columns import StatedColumns

log = logging.getLogger(__name__)


def read_or_learn(
    server: Path | None,
    stated: StatedColumns,
    hidden: Collection[str],
    reading: Reading = AS_THE_HEADER_SAYS,
    names: Sequence[str] | None = None,
) -> Schema | None:
    """Return the schema in the file, or else the one learnt from a server table with words; None for plain numbers.

    Columns of ranges and categories replace those of either. Without both, they are the schema, and the other ``names`` have no range;
    it is None if names are not known yet.
    """
    kept = [column for column in stated.fields() if column.name not in hidden]
    if names is not None:
        check_known("--range and --categories", [column.name for column in kept], names)
    if stated.schema is not None:
        return Schema.read(stated.schema).without(hidden).replaced(kept)
    if server is None:
        return schema_of_names([name for name in names if name not in hidden], kept) if kept and names is not None else None
    from feddp_kmeans.tables.learn_schema import learn_schema, needs_schema  # a site, which has no server table, needs less memory

    if kept or needs_schema(server, hidden, reading):
        schema = learn_schema(server, ignore=[name for name in hidden if name in _names(server, reading)], columns=kept, reading=reading)
        if left_out := [f"{name} ({why})" for name, why in schema.ignored if why != ASKED]:
            log.info("Columns left out: %s", listed(left_out))
        return schema
    return None


def schema_of_names(names: Sequence[str], stated: Collection[Column]) -> Schema:
    """Return a schema of these columns: as stated, or else numbers without a range. Nameless columns are left out."""
    by_name = {column.name: column for column in stated}
    return Schema(tuple(by_name.get(name) or OpenColumn(name) for name in names if name))


def known_names(clients: Where, server: Path | None, stated: StatedColumns, reading: Reading) -> list[str]:
    """Return the columns of the first client's table that can be read, and those that only the server's table has.

    Empty if no option names a column. Columns of arrays, x0, x1, ..., have names only for a schema. An SVMlight file does not state its
    columns.
    """
    known: list[str] = []
    has_rules = bool(stated.ranges or stated.categories)
    if not (has_rules or stated.ignore):
        return known
    known += next(headers(client_paths(clients, server), reading, arrays=has_rules), [])
    return list(dict.fromkeys([*known, *([] if server is None else _names(server, reading))]))


def headers(paths: Sequence[Path], reading: Reading, *, arrays: bool = False) -> Iterator[list[str]]:
    """Yield the names of the columns of each table that can be read; others are dealt with when the clients are opened."""
    for path in paths:
        with suppress(UnreadableFileError):
            yield read_schema(path, reading).names if arrays and not is_svmlight(path) else _names(path, reading)


def check_known(option: str, given: Collection[str], names: Sequence[str]) -> None:
    """Refuse an option that names a column which there is not."""
    for name in given:
        if name not in names:
            several = [part.strip() for part in name.split(",")]
            advice = f": say {option} once for each." if {*several} <= {*names} else hint([name], names)
            raise InputError(f"{option} must name a column of the tables, got {name!r:.80}{advice}")


def _names(path: Path, reading: Reading) -> list[str]:
    """Return the names of the columns that a file states."""
    names: list[str] = read_schema(path, reading).names
    return names if has_names(path) else []
