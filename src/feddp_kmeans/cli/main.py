"""``feddp demo``, ``feddp plan`` and ``feddp fit``. Exit status: 0 done, 1 refused or failed (one line on stderr), 2 usage."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from feddp_kmeans import __version__
from feddp_kmeans._errors import BudgetError, FedDPError
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.feddp_kmeans import Clustering, Prepared, prepare, run
from feddp_kmeans.algorithm.settings import AUTO, Settings
from feddp_kmeans.cli.encode import encode
from feddp_kmeans.cli.evaluate import evaluate
from feddp_kmeans.cli.predict import predict
from feddp_kmeans.cli.show import show_clusters, show_demo_costs, show_ledger, show_profiles
from feddp_kmeans.data.inputs import open_inputs, read_server
from feddp_kmeans.data.mixture import gaussian_mixture
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.report.result import check_folder, result_dict, write_result

app = typer.Typer(no_args_is_help=True, add_completion=True, rich_markup_mode=None, help="Private federated k-means.")
out = Console()
err = Console(stderr=True)
for command in (encode, predict, evaluate):
    app.command()(command)

Clusters = Annotated[int, typer.Option("-k", "--clusters", help="Number of clusters.")]
Epsilon = Annotated[float, typer.Option("--epsilon", help="Total privacy budget; inf adds no noise.")]
Delta = Annotated[float, typer.Option("--delta", help="Chance that the guarantee may fail.")]
Unit = Annotated[str, typer.Option("--unit", help="What is protected: point or client.")]
MethodOption = Annotated[str, typer.Option("--method", help="refined or paper.")]
Steps = Annotated[str, typer.Option("--lloyd-steps", help="A whole number, or auto.")]
Radius = Annotated[float | None, typer.Option("--radius", help="Public bound on a point's norm. [default: the server data's]")]
ClientSize = Annotated[int | None, typer.Option("--client-size", help="Public typical number of points of a client (client level).")]
Points = Annotated[int | None, typer.Option("--n-points", help="Public rough number of points in total.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Reproducible simulation: NOT private.")]
Json = Annotated[bool, typer.Option("--json", help="Print result.json on stdout and nothing else there.")]


def main() -> None:
    """Run the command; errors of ours become one line and exit status 1."""
    try:
        app()
    except (FedDPError, BudgetError) as error:
        print(f"feddp: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


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
    epsilon: Epsilon = 1.0,
    method: MethodOption = "refined",
    seed: Annotated[int, typer.Option("--data-seed", help="Which mixture is made up.")] = 0,
) -> None:
    """Cluster the paper's Gaussian mixture: 100 clients, 1,000 points each, 100 dimensions, 10 clusters."""
    check_folder(folder, force=True)
    err.print("Making up 100 clients with 1,000 points each ...", highlight=False)
    data = gaussian_mixture(seed)
    settings = Settings(10, epsilon, method=method)
    prepared = prepare(settings, data.server_points, len(data.clients))
    found = _run_with_progress(InMemoryFederation(data.clients), prepared, None)
    columns = [f"x{i}" for i in range(data.server_points.shape[1])]
    result = result_dict(found, columns=columns, seed=None)
    written = write_result(folder, result)
    _show(found, result)
    show_demo_costs(out, data, found)
    out.print(f"Open [bold]{written[1]}[/bold] in a browser; the numbers are in {written[2]}.", highlight=False)


@app.command()
def plan(
    clusters: Clusters,
    server: Annotated[Path | None, typer.Option("--server", help="The public server data: a table.")] = None,
    dimension: Annotated[int | None, typer.Option("--dimension", help="Number of coordinates, where there is no --server.")] = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    unit: Unit = "point",
    method: MethodOption = "refined",
    lloyd_steps: Steps = AUTO,
    radius: Radius = None,
    client_size: ClientSize = None,
    n_points: Points = None,
    n_clients: Annotated[int, typer.Option("--clients", help="Public number of clients.")] = 1,
    as_json: Json = False,
) -> None:
    """Show the noise of every release for a budget. Reads no client data, and with --dimension no data at all."""
    settings = _settings(clusters, epsilon, delta, unit, method, lloyd_steps, radius, client_size, n_points)
    prepared = prepare(settings, _server_or_stand_in(server, dimension, settings), n_clients)
    if as_json:
        typer.echo(json.dumps(prepared.plan.to_dict(), indent=2))
        return
    show_ledger(out, prepared.plan.ledger_rows(), title=f"Plan: epsilon {epsilon:g}, delta {delta:g}, unit {unit}")
    for reason in prepared.plan.reasons:
        out.print(f"- {reason}", highlight=False)


@app.command()
def fit(
    clients: Annotated[str, typer.Argument(help="A folder or glob with one file per client, or one table with --client-column.")],
    server: Annotated[Path, typer.Option("--server", help="The public server data: a table.")],
    clusters: Clusters,
    epsilon: Epsilon,
    delta: Delta = 1e-6,
    unit: Unit = "point",
    method: MethodOption = "refined",
    lloyd_steps: Steps = AUTO,
    radius: Radius = None,
    client_size: ClientSize = None,
    n_points: Points = None,
    client_column: Annotated[str | None, typer.Option("--client-column", help="Column that names the client of a row.")] = None,
    schema_file: Annotated[Path | None, typer.Option("--schema", help="Public encoding of mixed tables, made by feddp encode.")] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", help="A column to leave out; may be given again.")] = None,
    seed: Seed = None,
    folder: Annotated[Path | None, typer.Option("--out", help="Folder for result.json, centers.parquet and report.html.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a result that is there already.")] = False,
    as_json: Json = False,
) -> None:
    """Cluster the clients' files privately."""
    settings = _settings(clusters, epsilon, delta, unit, method, lloyd_steps, radius, client_size, n_points)
    if folder is not None:
        check_folder(folder, force=force)
    inputs = open_inputs(clients, server, client_column=client_column, schema_file=schema_file, ignore=ignore or ())
    assert inputs.server_points is not None
    if inputs.schema is not None and radius is None:
        settings = replace(settings, radius=inputs.schema.radius)
    settings.check_server(inputs.server_points, inputs.federation.dimension)
    prepared = prepare(settings, inputs.server_points, inputs.federation.n_clients)
    found = _run_with_progress(inputs.federation, prepared, seed)
    result = result_dict(found, columns=inputs.columns, seed=seed, schema=inputs.schema)
    if folder is not None:
        write_result(folder, result)
    if as_json:
        typer.echo(json.dumps(result, indent=2, allow_nan=False))
        return
    _show(found, result)
    if folder is not None:
        out.print(f"Written to [bold]{folder}[/bold]: result.json, centers.parquet, report.html.", highlight=False)


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment, or all; without it they are listed.")] = None,
    folder: Annotated[
        Path, typer.Option("--out", help="Folder for runs, figures and the page; an interrupted run goes on from it.")
    ] = Path("reproduction"),
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Runs of every setting. [default: the experiment's]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few settings and seeds: a first look in minutes.")] = False,
    processes: Annotated[int, typer.Option("--jobs", min=1, help="Runs side by side.")] = 1,
    tables: Annotated[
        Path | None, typer.Option("--tables", envvar="FEDDP_TABLES", help="Folder with the census and Stack Exchange tables.")
    ] = None,
) -> None:
    """Make the paper's figures and tables, and a page that puts them beside the paper's words."""
    from feddp_kmeans.cli.reproduce import list_experiments, run_experiments

    if name is None:
        list_experiments(out)
        return
    for path in run_experiments(name, folder, seeds=seeds, quick=quick, processes=processes, tables=tables, console=err):
        out.print(str(path), highlight=False, soft_wrap=True)


def _server_or_stand_in(server: Path | None, dimension: int | None, settings: Settings) -> FloatArray:
    """Return the server data; without them, made-up points on a sphere of the given radius (1 by default)."""
    if server is not None:
        return read_server(server)
    if dimension is None or dimension < 1:
        raise FedDPError(f"--server or a --dimension of at least 1 must be given, got {dimension}.")
    points = np.random.default_rng(0).standard_normal((30 * settings.n_clusters, dimension))
    err.print("No server data: made-up points stand in, so what depends on server data is only an example.", highlight=False)
    stand_in: FloatArray = (settings.radius or 1.0) * points / np.linalg.norm(points, axis=1, keepdims=True)
    return stand_in


def _settings(
    clusters: int,
    epsilon: float,
    delta: float,
    unit: str,
    method: str,
    lloyd_steps: str,
    radius: float | None,
    client_size: int | None,
    n_points: int | None,
) -> Settings:
    steps: int | str = int(lloyd_steps) if lloyd_steps.lstrip("-").isdigit() else lloyd_steps
    return Settings(
        clusters,
        epsilon,
        delta,
        privacy_unit=unit,
        method=method,
        lloyd_steps=steps,
        radius=radius,
        client_size=client_size,
        n_points=n_points,
    )


def _run_with_progress(federation: Federation, prepared: Prepared, seed: int | None) -> Clustering:
    total = sum(release.times for release in prepared.plan.releases)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        console=err,
        transient=True,
    )
    with bar:
        task = bar.add_task("starting", total=total)

        def on_release(name: str) -> None:
            if not err.is_terminal:
                err.print(f"release: {name}", highlight=False)
            bar.update(task, description=name, advance=1)

        return run(federation, prepared, seed=seed, on_release=on_release)


def _show(found: Clustering, result: dict[str, Any]) -> None:
    show_ledger(out, result["ledger"], title="What was released")
    show_clusters(out, found.counts, found.center_stddev, np.linalg.norm(found.centers, axis=1))
    if result["schema"] is not None:
        show_profiles(out, result["profiles"])
    for remark in found.remarks:
        out.print(f"Note: {remark}.", style="yellow", highlight=False)
    out.print(result["guarantee"], style="bold", highlight=False)
