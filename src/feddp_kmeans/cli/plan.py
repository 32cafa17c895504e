"""``feddp plan``: the noise of every release, before any data is read."""

import json
import logging
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.show import show_ledger
from feddp_kmeans.cli.terminal import out
from feddp_kmeans.errors import InputError

log = logging.getLogger(__name__)


@options.takes_settings(defaults={"epsilon": 1.0})
def plan(
    settings: Settings,
    server: options.Server = None,
    dimension: Annotated[int | None, typer.Option("--dimension", help="Number of coordinates, if there is no --server.")] = None,
    n_clients: Annotated[int, typer.Option("--clients", help="Public number of clients.")] = 1,
    as_json: options.Json = False,
) -> None:
    """Show the noise of every release for a budget. Reads no client data, and with --dimension no data at all.

    Examples:
      feddp plan -k 10 --dimension 100 --epsilon 1
      feddp plan -k 10 --server public.csv --unit client --client-size 50 --clients 2000 --json

    """
    from feddp_kmeans.algorithm.prepare import prepare

    points = _server_or_stand_in(server, dimension, settings)
    prepared = prepare(settings, points, n_clients, dimension if points is None else None)
    if as_json:
        typer.echo(json.dumps(prepared.plan.to_dict(), indent=2))
        return
    title = f"Plan: epsilon {settings.epsilon:g}, delta {settings.delta:g}, unit {settings.privacy_unit}"
    show_ledger(prepared.plan.ledger_rows(), title)
    for reason in prepared.plan.reasons:
        out.print(f"- {reason}", highlight=False)


def _server_or_stand_in(server: Path | None, dimension: int | None, settings: Settings) -> FloatArray | None:
    """Return the server data. If there are none: None, or random points on a sphere for the paper's method."""
    if server is not None:
        from feddp_kmeans.tables.client_files import open_table
        from feddp_kmeans.tables.inputs import read_or_learn

        return open_table(server, read_or_learn(server, None, ())).read()
    if dimension is None or dimension < 1:
        raise InputError(f"--server or a --dimension of at least 1 must be given, got {dimension}.")
    if settings.method is MethodName.REFINED:
        return None
    points = np.random.default_rng(0).standard_normal((30 * settings.largest_k, dimension))
    log.warning("No server data: random points are used instead, so whatever depends on server data is only an example.")
    stand_in: FloatArray = (settings.radius or 1.0) * points / np.linalg.norm(points, axis=1, keepdims=True)
    return stand_in
