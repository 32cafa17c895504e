"""``feddp fit`` and ``feddp choose-k``: from files to clusters, through plan, odometer and ledger."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from feddp_kmeans._files import write_whole
from feddp_kmeans.algorithm.settings import AUTO, Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of
from feddp_kmeans.cli.folders import LOOK, RELEASES, check_no_client, checked_folder, emptied, keeping, new_folder
from feddp_kmeans.cli.options import command_line, err, note, out
from feddp_kmeans.cli.show import show_clusters, show_elbow, show_ledger, show_profiles
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.recorded import RecordedFederation, plan_digest, read_record
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import LIMIT_DELTA

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.clustering import Clustering
    from feddp_kmeans.algorithm.prepare import Prepared
    from feddp_kmeans.tables.inputs import Inputs

Resume = Annotated[
    Path | None, typer.Option("--resume", help="Folder of a fit that was stopped, or of a choose-k: what is released is not paid again.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder for result.json, centers.parquet, report.html and releases. (default: a new one, named by the time)"
    ),
]


@options.takes_settings()
def fit(
    settings: Settings,
    clients: options.Clients,
    server: options.Server = None,
    client_column: options.ClientColumn = None,
    schema_file: options.SchemaFile = None,
    ignore: options.Ignore = None,
    skip_broken: options.SkipBroken = False,
    resume: Resume = None,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    folder: Out = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Cluster the clients' files privately.

    Every release is kept in the folder as it is made. A run that was stopped goes on with the same options and --resume FOLDER: nothing
    is paid twice. So does one that has ended: its result is written again from the releases.

    Examples:
      feddp fit clients/ --server public.csv -k 10 --epsilon 1 --out run/
      feddp fit table.parquet --client-column hospital -k auto --epsilon 2 --box 0,1
      feddp fit "phones/*.csv" --unit client --client-size 50 -k 5 --epsilon 2 --limit 4

    """
    from feddp_kmeans.algorithm import clustering
    from feddp_kmeans.report.result import result_dict, write_result
    from feddp_kmeans.tables.inputs import open_inputs

    most = options.limit_of(limit, limit_delta)
    folder = checked_folder(folder, resume, clients, force=force)
    inputs = open_inputs(
        clients, server, client_column=client_column, schema_file=schema_file, ignore=ignore or (), skip_broken=skip_broken, tell=note
    )
    prepared, chosen = _prepared(inputs, settings, resume)
    clustering.check(prepared, inputs.federation.dimension, chosen)
    books = Books(odometer_of(clients, odometer), most, command_line())
    if resume is None:  # before anything that was paid for is replaced
        books.check(prepared.plan, secure=seed is None)
    folder = emptied(folder, resume) if folder else new_folder(clients)
    recorded = RecordedFederation(inputs.federation, (resume or folder) / RELEASES)
    recorded.books = books
    with (
        keeping(folder, f"--resume {resume or folder}") as begun,
        progress(prepared, quiet=quiet, folder=folder) as on_release,
        begun(recorded.open(prepared.plan, seed, on_release)) as run,
    ):
        found = clustering.carry_out(run, prepared, chosen_k=chosen)
        result = result_dict(
            found, columns=inputs.columns, seed=seed, server_points=prepared.server_points, command=command_line(), schema=inputs.schema
        )
        write_result(folder, result)
    if as_json:
        typer.echo(json.dumps(result, indent=2, allow_nan=False))
    elif not quiet:
        show(found, result)
        out.print(f"Written to [bold]{folder}[/bold]: result.json, centers.parquet, report.html.", highlight=False)


def _prepared(inputs: "Inputs", settings: Settings, resume: Path | None) -> tuple["Prepared", int | None]:
    """Return the plan, and the number of clusters if it is chosen now: the run to go on with may be a look that left it open."""
    prepared = inputs.prepared(settings)
    if resume is None or settings.n_clusters == AUTO or read_record(resume / RELEASES)["plan"] == plan_digest(prepared.plan):
        return prepared, None
    return inputs.prepared(replace(settings, n_clusters=AUTO)), settings.fixed_k


@options.takes_settings(clusters=AUTO)
def choose_k(
    settings: Settings,
    clients: options.Clients,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the curve, and for the releases that feddp fit --resume goes on from.")],
    server: options.Server = None,
    client_column: options.ClientColumn = None,
    schema_file: options.SchemaFile = None,
    ignore: options.Ignore = None,
    skip_broken: options.SkipBroken = False,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose the number of clusters: the first steps of a fit, and the elbow they show.

    The budget is that of the whole fit. Go on with feddp fit, the same options, and --resume: what is paid for is not paid again. A look
    that was interrupted goes on where it stopped.

    Examples:
      feddp choose-k clients/ --server public.csv --epsilon 1 --out look/
      feddp fit clients/ --server public.csv -k 7 --epsilon 1 --resume look/ --out run/

    """
    from feddp_kmeans.algorithm import clustering
    from feddp_kmeans.report.charts import elbow_chart
    from feddp_kmeans.report.result import check_folder
    from feddp_kmeans.tables.inputs import open_inputs

    most = options.limit_of(limit, limit_delta)
    check_folder(folder, force=True)
    check_no_client(clients, folder)
    if (folder / LOOK).exists() and read_record(folder / RELEASES):
        raise FedDPError(f"--out must not hold releases already, got {str(folder)!r}.")
    inputs = open_inputs(
        clients, server, client_column=client_column, schema_file=schema_file, ignore=ignore or (), skip_broken=skip_broken, tell=note
    )
    prepared = inputs.prepared(settings)
    clustering.check(prepared, inputs.federation.dimension)
    recorded = RecordedFederation(inputs.federation, folder / RELEASES)
    recorded.books = Books(odometer_of(clients, odometer), most, command_line())
    with (
        keeping(folder, f"--out {folder}") as begun,
        progress(prepared, quiet=quiet) as on_release,
        begun(recorded.open(prepared.plan, seed, on_release)) as run,
    ):
        elbow = clustering.look(run, prepared)
    write_whole(folder / "elbow.svg", elbow_chart(elbow.to_dict(), alone=True).encode())
    ledger = run.ledger.rows()
    made = {"elbow": elbow.to_dict(), "ledger": ledger, "plan": prepared.plan.to_dict(), "command": command_line()}
    write_whole(folder / LOOK, (json.dumps(made, indent=2) + "\n").encode())
    if as_json:
        typer.echo(json.dumps(made, indent=2))
    elif not quiet:
        show_elbow(out, elbow)
        show_ledger(out, ledger, title="What was released so far")
        out.print(f"Go on: feddp fit with the same options, -k {elbow.picked} and --resume {folder}", highlight=False, soft_wrap=True)


@contextmanager
def progress(prepared: "Prepared", *, quiet: bool = False, folder: Path | None = None) -> Iterator[Callable[[str], None]]:
    """Show the releases as they are made, the folder they are kept in first: a bar on a terminal that vanishes, a line each elsewhere."""
    total = sum(release.times for release in prepared.plan.releases)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("starting", total=total)

        def on_release(name: str) -> None:
            if folder is not None and not quiet and bar.tasks[task].completed == 0:
                note(f"Releases and result go to {folder}")
            if not (err.is_terminal or quiet):
                err.print(f"release: {name}", highlight=False)
            bar.update(task, description=name, advance=1)

        yield on_release


def show(found: "Clustering", result: dict[str, Any]) -> None:
    """Print what came out, and the guarantee last."""
    show_ledger(out, result["ledger"], title="What was released")
    if found.elbow is not None:
        show_elbow(out, found.elbow)
    show_clusters(out, found.counts, found.center_stddev, np.linalg.norm(found.centers, axis=1))
    if result["schema"] is not None:
        show_profiles(out, result["profiles"])
    for remark in found.remarks:
        out.print(f"Note: {remark}.", style="yellow", highlight=False)
    out.print(result["guarantee"], style="bold", highlight=False)
