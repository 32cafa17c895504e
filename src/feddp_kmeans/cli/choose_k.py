"""``feddp choose-k``: the first steps of a fit, and the number of clusters they suggest."""

import json
from pathlib import Path
from typing import Annotated

import typer

from feddp_kmeans._files import write_whole
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of, table_of
from feddp_kmeans.cli.folders import LOOK, RELEASES, check_no_client, kept_run
from feddp_kmeans.cli.show import show_elbow, show_ledger
from feddp_kmeans.cli.terminal import out, show_log
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.recorded import RecordedFederation, read_record
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.report.charts import elbow_chart
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns


@options.takes_settings(clusters="auto")
@options.takes_reading
@options.takes_columns
@options.takes_clients
def choose_k(
    settings: Settings,
    reading: Reading,
    stated: StatedColumns,
    clients: options.Where,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the curve, and for the releases that feddp fit --resume continues.")],
    server: options.Server = None,
    client_column: options.ClientColumn = None,
    skip_broken: options.SkipBroken = False,
    engine: options.InEngine = None,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    rehearse: options.Rehearse = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose the number of clusters: run the first steps of a fit and show the elbow.

    The budget is that of the whole fit. Continue with feddp fit, the same options, and --resume: nothing is paid twice. If interrupted, run
    the same command again: it continues where it stopped.

    Examples:
      feddp choose-k clients/ --server public.csv --epsilon 1 --out look/
      feddp choose-k clients/ --server public.csv --epsilon 1 --out tried/ --rehearse
      feddp fit clients/ --server public.csv -k 7 --epsilon 1 --resume look/ --out run/

    """
    from feddp_kmeans.algorithm import clustering
    from feddp_kmeans.cli.rehearsal import SAID, marked, rehearsed
    from feddp_kmeans.report.result import check_folder
    from feddp_kmeans.tables.inputs import open_inputs

    show_log(quiet=quiet)
    most = options.limit_of(limit, limit_delta)
    check_folder(folder, force=True)
    check_no_client(clients, folder)
    if (folder / LOOK).exists() and read_record(folder / RELEASES):
        raise InputError(f"--out must not hold releases already, got {str(folder)!r}.")
    inputs = open_inputs(clients, server, stated, client_column=client_column, skip_broken=skip_broken, reading=reading, engine=engine)
    if rehearse:
        inputs = rehearsed(inputs, settings, folder, seed)
    prepared = inputs.prepared(settings)
    clustering.check(prepared, inputs.federation.dimension)
    recorded = RecordedFederation(inputs.federation, folder / RELEASES)
    if not rehearse:
        recorded.books = Books(odometer_of(clients, odometer), most, options.command_line(), table_of(clients))
    with kept_run(recorded, prepared.plan, seed, folder, f"--out {folder}", quiet=quiet) as run:
        elbow = clustering.look(run, prepared)
    write_whole(folder / "elbow.svg", elbow_chart(elbow.to_dict(), alone=True).encode())
    ledger = run.ledger.rows()
    made = {"format": 1, "elbow": elbow.to_dict(), "ledger": ledger, "plan": prepared.plan.to_dict(), "command": options.command_line()}
    if rehearse:
        made = marked(made)
    write_whole(folder / LOOK, (json.dumps(made, indent=2) + "\n").encode())
    if as_json:
        typer.echo(json.dumps(made, indent=2))
    elif not quiet:
        show_elbow(elbow.to_dict())
        show_ledger(ledger, "What was released so far")
        continued = f"Continue: feddp fit with the same options, -k {elbow.picked} and --resume {folder}"
        out.print(f"{SAID}." if rehearse else continued, highlight=False, soft_wrap=True)
