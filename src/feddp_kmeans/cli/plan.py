"""``feddp plan``: the noise of every release, before any data is read."""

import json
import logging
from typing import Annotated

import numpy as np
import typer

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.show import show_ledger
from feddp_kmeans.cli.terminal import out
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

log = logging.getLogger(__name__)


@options.takes_settings(defaults={"epsilon": 1.0})
@options.takes_reading
@options.takes_columns
def plan(
    settings: Settings,
    reading: Reading,
    stated: StatedColumns,
    server: options.Server = None,
    client_column: options.ClientColumn = None,
    dimension: Annotated[int | None, typer.Option("--dimension", help="Number of coordinates, without --server and --schema.")] = None,
    n_clients: Annotated[int, typer.Option("--clients", help="Public number of clients.")] = 1,
    as_json: options.Json = False,
) -> None:
    """Show the noise of every release for a budget. Reads no client data, and with --dimension no data at all.

    With the options of a feddp fit it shows the plan of that fit.

    Examples:
      feddp plan -k 10 --dimension 100 --epsilon 1
      feddp plan -k 10 --server public.csv --unit client --client-size 50 --clients 2000 --json
      feddp plan -k 10 --schema schema.toml --ignore name
      feddp plan -k 3 --range age=0:120 --categories sex=female,male

    """
    from feddp_kmeans.tables.client_files import open_table
    from feddp_kmeans.tables.inputs import prepared_for
    from feddp_kmeans.tables.schema_source import read_or_learn

    hidden = (*stated.ignore, *([client_column] if client_column else []))
    schema = read_or_learn(server, stated, hidden, reading, [column.name for column in stated.fields()])
    points = None if server is None else open_table(server, schema, ignore=hidden, reading=reading).read()
    if schema is not None:
        dimension = len(schema.columns)
    elif points is not None:
        dimension = points.shape[1]
    if dimension is None or dimension < 1:
        raise InputError(f"--server, --schema, --range or a --dimension of at least 1 must be given, got {dimension}.")
    if points is None and settings.method is not MethodName.REFINED:
        points = _stand_in(settings, dimension)
    prepared = prepared_for(settings, points, schema, dimension, n_clients)
    if as_json:
        typer.echo(json.dumps(prepared.plan.to_dict(), indent=2))
        return
    title = f"Plan: epsilon {settings.epsilon:g}, delta {settings.delta:g}, unit {settings.privacy_unit}"
    show_ledger(prepared.plan.ledger_rows(), title)
    for reason in prepared.plan.reasons:
        out.print(f"- {reason}", highlight=False)


def _stand_in(settings: Settings, dimension: int) -> FloatArray:
    """Return random points on a sphere, for the paper's method, which cannot be planned without server data."""
    points = np.random.default_rng(0).standard_normal((30 * settings.largest_k, dimension))
    log.warning("No server data: random points are used instead, so whatever depends on server data is only an example.")
    stand_in: FloatArray = (settings.radius or 1.0) * points / np.linalg.norm(points, axis=1, keepdims=True)
    return stand_in
