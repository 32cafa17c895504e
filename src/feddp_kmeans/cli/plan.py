"""``feddp plan``: the noise of every release, before any data is read."""

import json
import logging
import math
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

FIRST = 3.0
"""Cost mu**2 of a first run relative to a later one. With 1, a first run that misses a cluster spoils the year: docs/next_month.md."""


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
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=1000, help="Share --epsilon out to so many runs on the same people, as with --from.")
    ] = 1,
    first: Annotated[
        float, typer.Option("--first", min=0.01, max=100.0, help="How many times the cost of a later run the first one has.")
    ] = FIRST,
    as_json: options.Json = False,
) -> None:
    """Show the noise of every release for a budget. Reads no client data, and with --dimension no data at all.

    With the options of a feddp fit it shows the plan of that fit.

    Examples:
      feddp plan -k 10 --dimension 100 --epsilon 1
      feddp plan -k 10 --server public.csv --unit client --client-size 50 --clients 2000 --json
      feddp plan -k 10 --schema schema.toml --ignore name
      feddp plan -k 3 --range age=0:120 --categories sex=female,male
      feddp plan -k 5 --dimension 8 --epsilon 2 --runs 12

    """
    from feddp_kmeans.tables.client_files import open_table
    from feddp_kmeans.tables.inputs import prepared_for
    from feddp_kmeans.tables.schema_source import read_or_learn

    if runs > 1:
        _show_runs(settings, runs, first, as_json=as_json)
        return
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


def _show_runs(settings: Settings, runs: int, first: float, *, as_json: bool) -> None:
    """Print the epsilon of every run that shares in the total, and what all runs up to it cost together."""
    from feddp_kmeans.cli.show import new_table
    from feddp_kmeans.privacy.accounting import gaussian_epsilon, gaussian_mu, shares_of_total

    if settings.epsilon == math.inf:
        raise InputError("--epsilon must be finite to be shared out, got inf.")
    delta = settings.delta
    shares = [_rounded_down(epsilon) for epsilon in shares_of_total(settings.epsilon, delta, [first, *[1.0] * (runs - 1)])]
    spent = np.sqrt(np.cumsum([gaussian_mu(epsilon, delta) ** 2 for epsilon in shares]))
    totals = [gaussian_epsilon(float(mu), delta) for mu in spent]
    if as_json:
        typer.echo(json.dumps({"epsilon": settings.epsilon, "delta": delta, "runs": shares, "totals": totals}, indent=2))
        return
    table = new_table(f"{runs} runs: epsilon {settings.epsilon:g} in all, delta {delta:g}", "run", "--epsilon", "all so far")
    for number, (epsilon, total) in enumerate(zip(shares, totals, strict=True), 1):
        table.add_row(str(number), f"{epsilon:g}", f"{total:.4g}")
    out.print(table)
    for line in (
        f"The first run has {first:g} times the cost of each later one, which only has to follow: feddp fit --from.",
        f"Every run: --odometer FILE --limit {settings.epsilon:g} --limit-delta {delta:g}; one that would exceed the total is refused.",
        "The sum is exact for Gaussian noise: with one or two columns and no server data, give the first run a smaller epsilon.",
    ):
        out.print(f"- {line}", highlight=False)


def _rounded_down(epsilon: float) -> float:
    """Return four digits, never more than there are: what is typed must not exceed the total."""
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    return float(f"{math.floor(epsilon / step) * step:.4g}")


def _stand_in(settings: Settings, dimension: int) -> FloatArray:
    """Return random points on a sphere, for the paper's method, which cannot be planned without server data."""
    points = np.random.default_rng(0).standard_normal((30 * settings.largest_k, dimension))
    log.warning("No server data: random points are used instead, so whatever depends on server data is only an example.")
    stand_in: FloatArray = (settings.radius or 1.0) * points / np.linalg.norm(points, axis=1, keepdims=True)
    return stand_in
