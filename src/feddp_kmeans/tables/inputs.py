"""What a run reads: the files of the clients and the public server data, as plain numbers or encoded by a schema."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.prepare import Prepared, prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError, UnreadableFileError
from feddp_kmeans.federation.files import FileFederation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.tables.client_files import check_client_column, client_paths, open_clients, open_table, read_grouped
from feddp_kmeans.tables.formats import has_names, read_schema
from feddp_kmeans.tables.learn_schema import learn_schema, needs_schema
from feddp_kmeans.tables.schema import Schema


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
) -> Inputs:
    """Return the clients and the server data, encoded if there is a schema file or the server table is not all numbers.

    Every file is read once here: a broken file, or one of the wrong kind, is refused by name before anything is released. With
    ``skip_broken``, a file that cannot be read is a client without data. The log says how many rows and files are left out; it is for the
    data holder only.
    """
    hidden = (*ignore, *([client_column] if client_column else []))
    if ignore:
        _check_ignored(ignore, [Path(clients)] if Path(clients).is_file() else client_paths(clients), server)
    schema = read_or_learn(server, schema_file, hidden)
    public = None if server is None else open_table(server, schema, ignore=hidden)
    if public is not None:
        public.check()
    like = None if public is None else public.columns
    federation: LocalFederation
    if client_column is not None:
        check_client_column(Path(clients), client_column)
        one = open_table(Path(clients), schema, ignore=hidden, like=like)
        one.check()
        columns, federation = one.columns, InMemoryFederation.from_groups(*read_grouped(one, client_column))
    else:
        files = open_clients(clients, schema, ignore=ignore, like=like, skip_broken=skip_broken)
        columns, federation = files[0].columns, FileFederation(files)
    return Inputs(federation, columns, None if public is None else public.read(), schema)


def read_or_learn(server: Path | None, schema_file: Path | None, hidden: Collection[str]) -> Schema | None:
    """Return the schema in the file, or else the one learnt from a server table with words; None for plain numbers."""
    if schema_file is not None:
        return Schema.read(schema_file).without(hidden)
    if server is None or not needs_schema(server, hidden):
        return None
    return learn_schema(server, ignore=[name for name in hidden if name in _names(server)])


def prepared_for(settings: Settings, server_points: FloatArray | None, schema: Schema | None, dimension: int, n_clients: int) -> Prepared:
    """Return the plan for these public facts; the radius of a schema is one of them."""
    if schema is not None and settings.radius is None and settings.box is None:
        settings = replace(settings, radius=schema.radius)
    return prepare(settings, server_points, n_clients, dimension)


def _check_ignored(ignore: Collection[str], clients: Sequence[Path], server: Path | None) -> None:
    """Refuse names that are columns of neither the server's table nor the first client's."""
    known = set() if server is None else set(_names(server))
    for path in clients:
        with suppress(UnreadableFileError):  # it is dealt with when the clients are opened
            known |= set(_names(path))
            break
    if unknown := [name for name in ignore if name not in known]:
        raise InputError(f"--ignore must name a column of the tables, got {unknown[0]!r:.80}.")


def _names(path: Path) -> list[str]:
    """Return the names of the columns that a file states."""
    names: list[str] = read_schema(path).names
    return names if has_names(path) else []
