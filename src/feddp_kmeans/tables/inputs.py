"""What a run reads: the files of the clients and the public server data, as plain numbers or encoded by a schema."""

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.prepare import Prepared, prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError, UnreadableFileError
from feddp_kmeans.federation.files import FileFederation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.tables.advice import id_advice
from feddp_kmeans.tables.cells import listed
from feddp_kmeans.tables.client_files import check_client_column, client_paths, open_clients, open_table, read_grouped
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.formats import has_names, is_svmlight, read_schema
from feddp_kmeans.tables.frames import bounded, schema_of_names
from feddp_kmeans.tables.learn_schema import learn_schema, needs_schema
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.short_schema import ASKED, hint

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Inputs:
    """The clients, and what is public about them."""

    federation: LocalFederation
    columns: tuple[str, ...]
    """Names of the coordinates."""
    server_points: FloatArray | None
    """Public points in the same coordinates, if there are any."""
    schema: Schema | None
    """The public encoding; None for plain numbers."""

    def prepared(self, settings: Settings) -> Prepared:
        """Return the plan of a run on these inputs."""
        return prepared_for(settings, self.server_points, self.schema, self.federation.dimension, self.federation.n_clients)


def open_inputs(
    clients: str,
    server: Path | None,
    *,
    client_column: str | None = None,
    schema_file: Path | None = None,
    ignore: Collection[str] = (),
    skip_broken: bool = False,
    reading: Reading = AS_THE_HEADER_SAYS,
    stated: Collection[Column] = (),
) -> Inputs:
    """Return the clients and the server data, encoded if there is a schema file or the server table is not all numbers.

    Columns that are ``stated`` replace those of the schema; without a schema and server data, the others are numbers without a range.

    Every file is read once here: a broken file, or one of the wrong kind, is refused by name before anything is released. With
    ``skip_broken``, a file that cannot be read is a client without data. The log says how many rows and files are left out; it is for the
    data holder only.
    """
    hidden = (*ignore, *([client_column] if client_column else []))
    names: list[str] = []
    if ignore or stated:
        names = _stated_names(client_paths(clients, server), server, ignore, stated, reading, arrays=bool(stated))
    schema = read_or_learn(server, schema_file, hidden, reading, stated, names)
    public = None if server is None else open_table(server, schema, ignore=hidden, reading=reading)
    if public is not None:
        public.check()
    like = None if public is None else public.columns
    federation, columns = open_federation(
        clients, schema, client_column, ignore=ignore, like=like, skip_broken=skip_broken, reading=reading, server=server
    )
    if schema is None and (advice := id_advice(columns)):
        log.warning(advice)
    return Inputs(federation, columns, None if public is None else public.read(), schema)


def open_federation(
    clients: str,
    schema: Schema | None,
    client_column: str | None = None,
    *,
    ignore: Collection[str] = (),
    like: Sequence[str] | None = None,
    skip_broken: bool = False,
    reading: Reading = AS_THE_HEADER_SAYS,
    server: Path | None = None,
) -> tuple[LocalFederation, tuple[str, ...]]:
    """Return the clients' tables as a federation, and the names of the coordinates; see ``open_inputs``."""
    if client_column is None:
        files = open_clients(clients, schema, ignore=ignore, like=like, skip_broken=skip_broken, reading=reading, server=server)
        return FileFederation(files), files[0].columns
    check_client_column(Path(clients), client_column, reading)
    one = open_table(Path(clients), schema, ignore=(*ignore, client_column), like=like, reading=reading)
    one.check()
    return InMemoryFederation.from_groups(*read_grouped(one, client_column)), one.columns


def stated_schema(
    clients: str,
    schema_file: Path | None,
    *,
    client_column: str | None = None,
    ignore: Collection[str] = (),
    reading: Reading = AS_THE_HEADER_SAYS,
    stated: Collection[Column] = (),
) -> Schema:
    """Return the schema in the file with the ``stated`` columns; without a file, all other columns are numbers without a range."""
    names = _stated_names(client_paths(clients), None, ignore, stated, reading, arrays=True)
    names = names or list(open_clients(clients, reading=reading)[0].columns)  # says why no table can be read
    hidden = (*ignore, *([client_column] if client_column else []))
    made = read_or_learn(None, schema_file, hidden, reading, stated, names)
    return made or schema_of_names([name for name in names if name not in hidden], ())


def read_or_learn(
    server: Path | None,
    schema_file: Path | None,
    hidden: Collection[str],
    reading: Reading = AS_THE_HEADER_SAYS,
    stated: Collection[Column] = (),
    names: Sequence[str] = (),
) -> Schema | None:
    """Return the schema in the file, or else the one learnt from a server table with words; None for plain numbers.

    Columns that are ``stated`` replace those of either. Without both, they are the schema, and the other ``names`` have no range.
    """
    kept = [column for column in stated if column.name not in hidden]
    if schema_file is not None:
        return Schema.read(schema_file).without(hidden).replaced(kept)
    if server is not None and (kept or needs_schema(server, hidden, reading)):
        schema = learn_schema(server, ignore=[name for name in hidden if name in _names(server, reading)], columns=kept, reading=reading)
        if left_out := [f"{name} ({why})" for name, why in schema.ignored if why != ASKED]:
            log.info("Columns left out: %s", listed(left_out))
        return schema
    return schema_of_names([name for name in names if name not in hidden], kept) if kept else None


def prepared_for(settings: Settings, server_points: FloatArray | None, schema: Schema | None, dimension: int, n_clients: int) -> Prepared:
    """Return the plan for these public facts; the radius of a schema is one of them."""
    return prepare(bounded(settings, schema), server_points, n_clients, dimension)


def _stated_names(
    clients: Sequence[Path], server: Path | None, ignore: Collection[str], stated: Collection[Column], reading: Reading, *, arrays: bool
) -> list[str]:
    """Return the names of the tables' columns; refuse options that name others."""
    names = _known_names(clients, server, reading, arrays=arrays)
    for option, name in (*(("--ignore", name) for name in ignore), *(("--range and --categories", column.name) for column in stated)):
        if name not in names:
            raise InputError(f"{option} must name a column of the tables, got {name!r:.80}{hint([name], names)}")
    return names


def _known_names(clients: Sequence[Path], server: Path | None, reading: Reading, *, arrays: bool) -> list[str]:
    """Return the columns of the first client's table that can be read, and those that only the server's table has.

    Columns of arrays, x0, x1, ..., have names only for a schema. An SVMlight file does not state its columns.
    """
    known: list[str] = []
    for path in clients:
        with suppress(UnreadableFileError):  # it is dealt with when the clients are opened
            known += read_schema(path, reading).names if arrays and not is_svmlight(path) else _names(path, reading)
            break
    return list(dict.fromkeys([*known, *([] if server is None else _names(server, reading))]))


def _names(path: Path, reading: Reading) -> list[str]:
    """Return the names of the columns that a file states."""
    names: list[str] = read_schema(path, reading).names
    return names if has_names(path) else []
