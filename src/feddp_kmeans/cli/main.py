"""The ``feddp`` command. Thin: it reads options and files, calls the library, and prints.

Commands import what they need when they run, so that help and small commands do not wait for scikit-learn and pyarrow.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from feddp_kmeans import __version__, plugins
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.deploy import join, keys, serve, simulate
from feddp_kmeans.cli.fit import choose_k, fit, progress, show
from feddp_kmeans.cli.folders import INTERRUPTED
from feddp_kmeans.cli.options import command_line, err, out
from feddp_kmeans.cli.show import show_demo_costs, show_ledger
from feddp_kmeans.errors import BudgetError, FedDPError, without_text
from feddp_kmeans.privacy.odometer import LIMIT_DELTA

UNFORESEEN = 70

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Private federated k-means.\n\nFirst steps: feddp demo. Then: feddp fit clients/ -k 10 --epsilon 1 --out run/",
)


def main() -> None:
    """Run the command; errors of ours become one line and exit status 1, Ctrl-C exit status 130.

    Any other error is one line too, with exit status 70: its text and a traceback could quote private data.
    """
    try:
        app(standalone_mode=True)
    except (FedDPError, BudgetError) as error:
        print(f"feddp: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    except KeyboardInterrupt:
        print("feddp: interrupted; nothing half-written is left.", file=sys.stderr)  # noqa: T201
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - whatever it is
        print(f"feddp: something went wrong that should not: {without_text(error)}.", file=sys.stderr)  # noqa: T201
        sys.exit(UNFORESEEN)


def _version(asked: bool) -> None:
    if asked:
        out.print(f"feddp {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    pass


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where the report goes.")] = Path("out"),
    epsilon: options.Epsilon = 1.0,
    method: options.MethodOption = "refined",
    seed: Annotated[int, typer.Option("--data-seed", help="Which mixture is made up.")] = 0,
) -> None:
    """Cluster the paper's Gaussian mixture: 100 clients, 1,000 points each, 100 dimensions, 10 clusters."""
    from feddp_kmeans.algorithm.clustering import run
    from feddp_kmeans.algorithm.prepare import prepare
    from feddp_kmeans.federation.in_memory import InMemoryFederation
    from feddp_kmeans.mixture import gaussian_mixture
    from feddp_kmeans.report.result import check_folder, result_dict, write_result

    check_folder(folder, force=True)
    err.print("Making up 100 clients with 1,000 points each ...", highlight=False)
    data = gaussian_mixture(seed)
    prepared = prepare(Settings(10, epsilon, method=MethodName.parse(method)), data.server_points, len(data.clients))
    with progress(prepared) as on_release:
        found = run(InMemoryFederation(data.clients), prepared, on_release=on_release)
    columns = [f"x{i}" for i in range(data.server_points.shape[1])]
    result = result_dict(found, columns=columns, seed=None, server_points=prepared.server_points, command=command_line())
    written = write_result(folder, result)
    show(found, result)
    show_demo_costs(out, data, found)
    out.print(f"Open [bold]{written[1]}[/bold] in a browser; the numbers are in {written[2]}.", highlight=False)


@app.command()
@options.takes_settings(defaults={"epsilon": 1.0})
def plan(
    settings: Settings,
    server: options.Server = None,
    dimension: Annotated[int | None, typer.Option("--dimension", help="Number of coordinates, where there is no --server.")] = None,
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
    show_ledger(
        out,
        prepared.plan.ledger_rows(),
        title=f"Plan: epsilon {settings.epsilon:g}, delta {settings.delta:g}, unit {settings.privacy_unit}",
    )
    for reason in prepared.plan.reasons:
        out.print(f"- {reason}", highlight=False)


app.command()(fit)
app.command(name="choose-k")(choose_k)
for command in (keys, serve, join, simulate):
    app.command()(command)


@app.command()
def encode(
    server: Annotated[Path, typer.Argument(help="The public server data. Never a client's: ranges and categories would leak.")],
    path: Annotated[Path, typer.Option("--out", help="Where the schema goes, as JSON.")],
    ignore: options.Ignore = None,
    categories: Annotated[list[str] | None, typer.Option("--categories", help="A column of numbers that are categories.")] = None,
    numbers: Annotated[list[str] | None, typer.Option("--number", help="A column that is a number though it looks like an id.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a schema that is there already.")] = False,
) -> None:
    """Learn from public server data how mixed columns become numbers, and write it as JSON for the clients."""
    from feddp_kmeans.cli.encode import show_schema, write_schema

    schema = write_schema(server, path, ignore=ignore or (), categories=categories or (), numbers=numbers or (), force=force)
    show_schema(out, schema)
    out.print(
        f"Written to {path}. It is public: edit it where the ranges or categories of the clients are known to differ.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


@app.command()
def predict(
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    table: Annotated[Path, typer.Argument(metavar="INPUT", help="A table with the columns of the run, in any order.")],
    path: Annotated[Path | None, typer.Option("--out", help="Where the labels go. (default: beside the input, as NAME.labels)")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Write a table again with the cluster of each row. The labels tell about single rows: they are NOT private."""
    from feddp_kmeans.cli.predict import write_predictions

    n_rows, written = write_predictions(made, table, path, force=force, tell=options.note)
    out.print(f"{n_rows:,} rows labelled in {written}.", highlight=False, markup=False, soft_wrap=True)
    out.print("Labels are the data holder's own: they depend on single rows and are NOT private.", highlight=False, soft_wrap=True)


@app.command()
def evaluate(
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    clients: options.Clients,
    client_column: options.ClientColumn = None,
) -> None:
    """Print the k-means cost of a run's centers on the clients' points. NON-PRIVATE: for whoever may see the points."""
    from feddp_kmeans.cli.evaluate import show_evaluation

    show_evaluation(made, clients, client_column, out, options.note)


@app.command()
def budget(
    places: Annotated[list[Path], typer.Argument(help="Data folders or files, odometers, or run folders.")],
    delta: Annotated[float, typer.Option("--delta", "--limit-delta", help="The delta at which runs are added up.")] = LIMIT_DELTA,
    as_json: options.Json = False,
) -> None:
    """Show what all runs on the same data have spent together: five runs at epsilon 1 are not one.

    Examples:
      feddp budget clients/
      feddp budget run1/ run2/ --json

    """
    from feddp_kmeans.cli.budget import budget_dict, run_entries, show_budget

    entries = run_entries(places)
    if as_json:
        typer.echo(json.dumps(budget_dict(entries, delta), indent=2))
    else:
        show_budget(entries, delta, out)


@app.command()
def report(
    made: Annotated[Path, typer.Argument(metavar="RUN", help="A folder with a result.json, or that file.")],
    file: Annotated[Path | None, typer.Option("--out", help="Where the page goes. (default: report.html beside the result)")] = None,
) -> None:
    """Write the report of a result again: the page for people who do not read JSON."""
    from feddp_kmeans.cli.report import write_report

    out.print(str(write_report(made, file)), highlight=False, soft_wrap=True)


@app.command()
@options.takes_settings(defaults={"clusters": "2", "epsilon": 8.0})
def audit(
    settings: Settings,
    dimension: Annotated[int, typer.Option("--dimension", help="Number of coordinates of the made-up points.")] = 3,
    without_server: Annotated[bool, typer.Option("--without-server", help="Audit the method without server data.")] = False,
    release: Annotated[list[str] | None, typer.Option("--release", help="Attack this release only; may be given again.")] = None,
    settings_only: Annotated[bool, typer.Option("--settings-only", help="Do not audit all else that a run can reach.")] = False,
    runs: Annotated[int, typer.Option("--runs", help="Runs with the worst unit, and as many without it.")] = 1000,
    processes: Annotated[int, typer.Option("--jobs", min=1, help="Runs side by side.")] = 2,
    seed: Annotated[int | None, typer.Option("--seed", help="Reproducible noise. (default: cryptographic noise, as in real runs)")] = None,
    folder: Annotated[Path, typer.Option("--out", help="Where audit.json and roc.svg go.")] = Path("audit"),
    as_json: options.Json = False,
) -> None:
    """Try to refute the guarantee with real runs on the worst neighbours; it can refute, never prove.

    Made-up points only; exit status 1 if the claim is refuted.

    Examples:
      feddp audit --method paper --unit client --lloyd-steps 2 --jobs 4
      feddp audit --release "second moment" --runs 5000

    """
    from feddp_kmeans.audit.case import AuditCase
    from feddp_kmeans.cli.audit import run_audit, show_audit

    case = AuditCase(settings, dimension, not without_server, seed)
    found, written = run_audit(
        case, folder, runs=runs, names=release or (), parts=() if settings_only else None, jobs=processes, console=err
    )
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        show_audit(found, out)
        for path in written:
            out.print(str(path), highlight=False, soft_wrap=True)
    if found.refuted:
        raise typer.Exit(1)


for _name in plugins.names(plugins.COMMANDS):
    app.command(_name)(plugins.load(plugins.COMMANDS, _name))


def _server_or_stand_in(server: Path | None, dimension: int | None, settings: Settings) -> FloatArray | None:
    """Return the server data; without them None, or made-up points on a sphere of radius 1 for the paper's method."""
    if server is not None:
        from feddp_kmeans.tables.inputs import read_server

        return read_server(server)
    if dimension is None or dimension < 1:
        raise FedDPError(f"--server or a --dimension of at least 1 must be given, got {dimension}.")
    if settings.method is MethodName.REFINED:
        return None
    points = np.random.default_rng(0).standard_normal((30 * settings.largest_k, dimension))
    err.print("No server data: made-up points stand in, so what depends on server data is only an example.", highlight=False)
    stand_in: FloatArray = (settings.radius or 1.0) * points / np.linalg.norm(points, axis=1, keepdims=True)
    return stand_in
