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

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._files import write_whole
from feddp_kmeans.algorithm.settings import AUTO, Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of
from feddp_kmeans.cli.options import command_line, err, note, out
from feddp_kmeans.cli.show import show_clusters, show_elbow, show_ledger, show_profiles
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.privacy.odometer import Entry

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.feddp_kmeans import Clustering, Prepared

Resume = Annotated[Path | None, typer.Option("--resume", help="Folder of a feddp choose-k: its releases are used, not paid again.")]
RECORD, LOOK = "releases", "choose_k.json"


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
    limit: options.Limit = None,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    folder: Annotated[Path | None, typer.Option("--out", help="Folder for result.json, centers.parquet and report.html.")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Cluster the clients' files privately.

    Examples:
      feddp fit clients/ --server public.csv -k 10 --epsilon 1 --out run/
      feddp fit table.parquet --client-column hospital -k auto --epsilon 2 --box 0,1
      feddp fit "phones/*.csv" --unit client --client-size 50 -k 5 --epsilon 2 --limit 4

    """
    from feddp_kmeans.algorithm.feddp_kmeans import run
    from feddp_kmeans.data.inputs import open_inputs
    from feddp_kmeans.report.result import check_folder, result_dict, write_result

    chosen = None
    if resume is not None:
        chosen = None if settings.n_clusters == AUTO else settings.fixed_k
        settings = replace(settings, n_clusters=AUTO)
    if folder is not None:
        check_folder(folder, force=force)
    inputs = open_inputs(
        clients, server, client_column=client_column, schema_file=schema_file, ignore=ignore or (), skip_broken=skip_broken, tell=note
    )
    prepared = inputs.prepared(settings)
    federation: Federation = inputs.federation
    entry = Entry.of(prepared.plan, command_line(), secure=seed is None)
    if resume is None:
        odometer_of(clients, odometer).book(entry, limit=limit)
    else:
        federation = _recorded(federation, resume)
        odometer_of(clients, odometer).check_booked(entry)
    with progress(prepared, quiet=quiet) as on_release:
        found = run(federation, prepared, chosen_k=chosen, seed=seed, on_release=on_release)
    result = result_dict(
        found, columns=inputs.columns, seed=seed, server_points=prepared.server_points, command=command_line(), schema=inputs.schema
    )
    if folder is not None:
        write_result(folder, result)
    if as_json:
        typer.echo(json.dumps(result, indent=2, allow_nan=False))
    elif not quiet:
        show(found, result)
        if folder is not None:
            out.print(f"Written to [bold]{folder}[/bold]: result.json, centers.parquet, report.html.", highlight=False)


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
    limit: options.Limit = None,
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
    from feddp_kmeans.algorithm import feddp_kmeans
    from feddp_kmeans.data.inputs import open_inputs
    from feddp_kmeans.report.charts import elbow_chart
    from feddp_kmeans.report.result import check_folder

    check_folder(folder, force=True)
    goes_on = (folder / RECORD).exists()
    if goes_on and (folder / LOOK).exists():
        raise FedDPError(f"--out must not hold releases already, got {str(folder)!r}.")
    inputs = open_inputs(
        clients, server, client_column=client_column, schema_file=schema_file, ignore=ignore or (), skip_broken=skip_broken, tell=note
    )
    prepared = inputs.prepared(settings)
    books, entry = odometer_of(clients, odometer), Entry.of(prepared.plan, command_line(), secure=seed is None)
    if goes_on:
        books.check_booked(entry)
    else:
        books.book(entry, limit=limit)
    with progress(prepared, quiet=quiet) as on_release:
        recorded = RecordedFederation(inputs.federation, folder / RECORD)
        elbow = feddp_kmeans.choose_k(recorded, prepared, seed=seed, on_release=on_release)
    write_whole(folder / "elbow.svg", elbow_chart(elbow.to_dict(), alone=True).encode())
    ledger = recorded.ledger.rows()
    made = {"elbow": elbow.to_dict(), "ledger": ledger, "plan": prepared.plan.to_dict(), "command": command_line()}
    write_whole(folder / LOOK, (json.dumps(made, indent=2) + "\n").encode())
    if as_json:
        typer.echo(json.dumps(made, indent=2))
    elif not quiet:
        show_elbow(out, elbow)
        show_ledger(out, ledger, title="What was released so far")
        out.print(f"Go on: feddp fit with the same options, -k {elbow.picked} and --resume {folder}", highlight=False, soft_wrap=True)


@contextmanager
def progress(prepared: "Prepared", *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show the releases as they are made: a bar on a terminal that vanishes at the end, a line each elsewhere."""
    total = sum(release.times for release in prepared.plan.releases)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, console=err, transient=True, disable=quiet) as bar:
        task = bar.add_task("starting", total=total)

        def on_release(name: str) -> None:
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


def _recorded(federation: Federation, folder: Path) -> RecordedFederation:
    if not (folder / RECORD).exists():
        raise FedDPError(f"--resume must be the folder of a feddp choose-k, got {str(folder)!r}.")
    return RecordedFederation(federation, folder / RECORD)
