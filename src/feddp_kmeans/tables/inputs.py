"""What a run reads: the files of the clients and the public server data, as plain numbers or encoded by a schema."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.last_run import LastRun
from feddp_kmeans.algorithm.prepare import Prepared, prepare, prepare_after
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.files import FileFederation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.sorted_rows import SortedSilo
from feddp_kmeans.tables.advice import id_advice
from feddp_kmeans.tables.client_files import Where, check_client_column, client_paths, open_clients, open_table, read_grouped, sorted_starts
from feddp_kmeans.tables.engines import engine_silo
from feddp_kmeans.tables.formats import has_types
from feddp_kmeans.tables.frames import bounded
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.schema_source import check_known, headers, known_names, read_or_learn, schema_of_names
from feddp_kmeans.tables.stated_columns import NOTHING_STATED, StatedColumns

log = logging.getLogger(__name__)

_LARGE = 1 << 23
"""Values of a file (64 MiB) from which it is not read into memory, if its clients are sorted and its cells need not be parsed each time."""


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

    def prepared(self, settings: Settings, last: LastRun | None = None) -> Prepared:
        """Return the plan of a run on these inputs, which may go on from an earlier one."""
        return prepared_for(settings, self.server_points, self.schema, self.federation.dimension, self.federation.n_clients, last)


@dataclass(frozen=True)
class LikeBefore:
    """How an earlier run read its tables."""

    columns: tuple[str, ...]
    schema: Schema | None
    left_out: tuple[str, ...] = ()

    def check_alone(self, stated: StatedColumns, server: Path | str | None) -> None:
        """Refuse anything else that is stated about columns."""
        if server is not None or stated.schema is not None or stated.ranges or stated.categories or stated.ignore:
            raise InputError("columns must be those of the run of --from, got --server, --schema, --range, --categories or --ignore too.")


def open_inputs(
    clients: Where,
    server: Path | None,
    stated: StatedColumns = NOTHING_STATED,
    *,
    client_column: str | None = None,
    skip_broken: bool = False,
    reading: Reading = AS_THE_HEADER_SAYS,
    engine: str | None = None,
    like: LikeBefore | None = None,
) -> Inputs:
    """Return the clients and the server data, encoded if there is a schema file or the server table is not all numbers.

    Every file is read once here: a broken file, or one of the wrong kind, is refused by name before anything is released. With
    ``skip_broken``, a file that cannot be read is a client without data. The log says how many rows and files are left out; it is for the
    data holder only. With an ``engine``, only it reads the rows, and all files are one table. ``like`` says that tables are read as in an
    earlier run: then nothing else may be stated about columns.
    """
    if like is not None:
        like.check_alone(stated, server)
        stated = StatedColumns(ignore=like.left_out)
    hidden = (*stated.ignore, *([client_column] if client_column else []))
    names = known_names(clients, server, stated, reading)
    if like is None and not {*stated.ignore} <= {*names}:  # other tables may have more columns than the first
        paths = client_paths(clients, server)
        check_known("--ignore", stated.ignore, [*names, *(name for header in headers(paths, reading) for name in header)])
    schema = like.schema if like else read_or_learn(server, stated, hidden, reading, names)
    public = None if server is None else open_table(server, schema, ignore=hidden, reading=reading)
    if public is not None:
        public.check()
    columns = like.columns if like else None if public is None else public.columns
    if engine is not None:
        if skip_broken:
            raise InputError("--skip-broken must be given without --silo: all files are one table.")
        silo = engine_silo(engine, clients, schema, client_column, ignore=stated.ignore, like=columns)
        return Inputs(LocalFederation(silo), silo.columns, None if public is None else public.read(), schema)
    federation, columns = open_federation(
        clients, schema, client_column, ignore=stated.ignore, like=columns, skip_broken=skip_broken, reading=reading, server=server
    )
    if schema is None and (advice := id_advice(columns)):
        log.warning(advice)
    return Inputs(federation, columns, None if public is None else public.read(), schema)


def open_federation(
    clients: Where,
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
    path = check_client_column(clients, client_column, reading)
    one = open_table(path, schema, ignore=(*ignore, client_column), like=like, reading=reading)
    one.check()
    starts = sorted_starts(one, client_column) if has_types(path) and one.size > _LARGE else None
    if starts is not None:
        return LocalFederation(SortedSilo(one, starts)), one.columns
    return InMemoryFederation.from_groups(*read_grouped(one, client_column)), one.columns


def stated_schema(
    clients: Where,
    stated: StatedColumns,
    *,
    client_column: str | None = None,
    reading: Reading = AS_THE_HEADER_SAYS,
    server: Path | None = None,
) -> Schema:
    """Return the stated schema; without a file, what the server's table tells, and other columns are numbers without a range."""
    names = next(headers(client_paths(clients), reading, arrays=True), [])
    names = names or list(open_clients(clients, reading=reading)[0].columns)  # says why no table can be read
    check_known("--ignore", stated.ignore, names)
    hidden = (*stated.ignore, *([client_column] if client_column else []))
    made = read_or_learn(server, stated, hidden, reading, names)
    return made or schema_of_names([name for name in names if name not in hidden], ())


def prepared_for(
    settings: Settings,
    server_points: FloatArray | None,
    schema: Schema | None,
    dimension: int,
    n_clients: int,
    last: LastRun | None = None,
) -> Prepared:
    """Return the plan for these public facts; the radius of a schema is one of them, and so is an earlier run."""
    if last is None:
        return prepare(bounded(settings, schema), server_points, n_clients, dimension)
    if server_points is not None:
        raise InputError("server data must not be given with an earlier run to go on from: its clusters are the start.")
    return prepare_after(bounded(settings, schema), last, n_clients, dimension)
