"""``feddp fit``: from the files of clients to private clusters."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feddp_kmeans.algorithm.settings import AUTO, Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.after_run import AfterRun
from feddp_kmeans.cli.budget import odometer_of, run_entries, table_of
from feddp_kmeans.cli.fit_profile import FitProfile, forget_profile, shared_out
from feddp_kmeans.cli.folders import RELEASES, checked_folder, kept_run, new_folder
from feddp_kmeans.cli.show import finish
from feddp_kmeans.cli.terminal import show_log
from feddp_kmeans.errors import BudgetError
from feddp_kmeans.federation.recorded import RecordedFederation, plan_digest, read_record
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.prepare import Prepared
    from feddp_kmeans.privacy.odometer import Odometer
    from feddp_kmeans.tables.inputs import Inputs


@options.takes_settings()
@options.takes_reading
@options.takes_columns
@options.takes_clients
def fit(
    settings: Settings,
    reading: Reading,
    stated: StatedColumns,
    clients: options.Where,
    server: options.Server = None,
    client_column: options.ClientColumn = None,
    skip_broken: options.SkipBroken = False,
    engine: options.InEngine = None,
    last: options.From = None,
    new_people: options.NewPeople = False,
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="NAME,NAME", help="Columns to tell of in each cluster, clustered or left out by --ignore."),
    ] = None,
    profile_share: Annotated[float, typer.Option("--profile-share", min=0.01, max=0.99, help="Part of the budget that is for it.")] = 0.2,
    resume: Annotated[
        Path | None, typer.Option(help="Folder of a stopped fit or of a choose-k to continue: its releases are not paid again.")
    ] = None,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    rehearse: options.Rehearse = False,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for result, report and releases. (default: a new folder named after the time)")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Cluster the clients' files privately.

    Every release is saved in the folder as it is made. To continue a stopped run, give the same options and --resume FOLDER: nothing is
    paid twice. For a finished run, this writes the result again from the saved releases.

    Exit status: 0 done, 1 refused, 3 finished and written in full, but useless: the noise hides the clusters.

    Examples:
      feddp fit clients/ --server public.csv -k 10 --epsilon 1 --out run/
      feddp fit table.parquet --client-column hospital -k auto --epsilon 2 --box 0,1
      feddp fit clients/ --server public.csv -k 10 --epsilon 1 --rehearse
      feddp fit people.csv -k 4 --epsilon 1 --ignore sex --profile sex --categories sex=f,m
      feddp fit "phones/*.csv" --unit client --client-size 50 -k 5 --epsilon 2 --limit 4
      feddp fit february/ --from january-run/ --epsilon 0.3 --odometer people.jsonl --out february-run/

    """
    from feddp_kmeans.algorithm import clustering
    from feddp_kmeans.cli.rehearsal import marked, rehearsed
    from feddp_kmeans.report.going_on import Start
    from feddp_kmeans.report.result import result_dict, write_result
    from feddp_kmeans.report.spent import spent_so_far
    from feddp_kmeans.tables.inputs import open_inputs

    show_log(quiet=quiet)
    most = options.limit_of(limit, limit_delta)
    folder = checked_folder(folder, resume, clients, force=force)
    start = Start.read(last, client_column, new_people=new_people)
    like, of_profile = None if start is None else start.like, 0.0
    clustered = stated if like is None or profile is None else StatedColumns(ignore=stated.ignore)  # the rest is about the profile
    opening: dict[str, Any] = {"client_column": client_column, "skip_broken": skip_broken, "reading": reading, "engine": engine}
    inputs = open_inputs(clients, server, clustered, like=like, **opening)
    if profile is not None:
        settings, of_profile = shared_out(settings, profile_share)
    asked = None if profile is None else FitProfile.open(profile, of_profile, settings, inputs, clients, server, stated, **opening)
    if rehearse:
        inputs = rehearsed(inputs, settings, resume, seed)
    prepared, chosen = _prepared(inputs, settings, resume) if start is None else (inputs.prepared(settings, start.last), None)
    clustering.check(prepared, inputs.federation.dimension, chosen)
    command = options.command_line()
    books = Books(odometer_of(clients, odometer), most, command, table_of(clients))
    if last is not None and not new_people:
        _check_same_books(last, books.odometer)
    if resume is None and not rehearse:  # before earlier releases are replaced
        books.check(prepared.plan, *([asked.plan()] if asked else []), secure=seed is None)
    folder = folder or new_folder()
    if folder != resume:
        shutil.rmtree(folder / RELEASES, ignore_errors=True)
        forget_profile(folder)
    recorded = RecordedFederation(inputs.federation, (resume or folder) / RELEASES)
    recorded.books = None if rehearse else books
    with kept_run(recorded, prepared.plan, seed, folder, f"--resume {resume or folder}", quiet=quiet) as run:
        found = clustering.carry_out(run, prepared, chosen_k=chosen)
        result = result_dict(
            found,
            columns=inputs.columns,
            seed=seed,
            server_points=prepared.server_points,
            command=command,
            schema=inputs.schema,
            left_out=dict.fromkeys(stated.ignore, "asked for") | ({client_column: "names the client"} if client_column else {}),
            spent=spent_so_far(books.odometer, prepared.plan),
        )
        result = marked(result) if rehearse else result
        result = result if start is None else start.told(result)
        write_result(folder, result)
    if as_json:
        typer.echo(json.dumps(result, indent=2, allow_nan=False))
    finish(folder, quiet=quiet or as_json)
    if asked is not None and not rehearse:
        more = (limit, limit_delta, odometer, seed)
        after = AfterRun(
            folder, clients, of_profile, settings.delta, *more, force=force, as_json=False, quiet=quiet or as_json, reading=reading
        )
        asked.carry_out(after)


def _check_same_books(last: Path, odometer: "Odometer") -> None:
    """Refuse an odometer without the run that this one goes on from: the people are the same, so both must add up."""
    booked = odometer.entries()
    if not all(any(entry.same_plan(other) for other in booked) for entry in run_entries([last])):
        raise BudgetError(
            f"the odometer must be that of the run of --from, on which both add up, got {str(odometer.path)!r} without it. "
            "Give its file as --odometer; or state that nobody is in both: --new-people."
        )


def _prepared(inputs: "Inputs", settings: Settings, resume: Path | None) -> tuple["Prepared", int | None]:
    """Return the plan, and the number of clusters if it is chosen only now: the run to continue may be a choose-k, which left it open."""
    prepared = inputs.prepared(settings)
    if resume is None or settings.n_clusters == AUTO or read_record(resume / RELEASES)["plan"] == plan_digest(prepared.plan):
        return prepared, None
    return inputs.prepared(replace(settings, n_clusters=AUTO)), settings.fixed_k
