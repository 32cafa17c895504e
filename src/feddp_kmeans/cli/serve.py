"""``feddp serve``: the server's half of a federation between machines."""

import logging
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feddp_kmeans._logs import LOG, kept_log
from feddp_kmeans.cli import options
from feddp_kmeans.cli.folders import check_new_file, files_at_hand, folder_of
from feddp_kmeans.cli.report import write_report
from feddp_kmeans.cli.show import finish
from feddp_kmeans.cli.terminal import say, show_log
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.settings import Settings
    from feddp_kmeans.network.deployment.run_request import RunRequest

log = logging.getLogger(__name__)


@options.takes_settings()
@options.takes_reading
@options.takes_columns
def serve(
    settings: "Settings",
    reading: Reading,
    stated: StatedColumns,
    federation: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="Federation folder made by feddp keys.")] = None,
    *,
    folder: options.RunFolder,
    server: options.Server = None,
    last: options.From = None,
    asked_about: options.About = None,
    min_sites: options.MinSites = None,
    trust: options.TrustOption = "secure-sum",
    threshold: options.Threshold = None,
    colluders: options.Colluders = None,
    confirmed: options.Confirmed = None,
    round_timeout: options.RoundTimeout = 300.0,
    expected_points: options.ExpectedPoints = None,
    metrics: options.Metrics = None,
    wait: Annotated[float, typer.Option("--wait", help="Seconds to wait for --min-sites.")] = 3600.0,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Port of an --insecure server; a federation folder has its own.")
    ] = options.PORT,
    insecure: Annotated[bool, typer.Option("--insecure", help=options.TRIAL)] = False,
    force: options.Force = False,
    log_json: options.LogJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Cluster the data of sites on other machines, which take part by feddp join.

    Exit status: 0 done, 1 refused, 3 finished and written in full, but useless: the noise hides the clusters.

    Examples:
      feddp serve federation/ --server public.csv -k 10 --epsilon 1 --out run/
      feddp serve federation/ --from last-month/ --epsilon 0.5 --out this-month/
      feddp serve --insecure -k 10 --epsilon 1 --box 0,1 --min-sites 3 --out run/

    """
    from feddp_kmeans.network.deployment import serve as serving
    from feddp_kmeans.network.deployment.children import ended_by_signals
    from feddp_kmeans.network.deployment.kit import open_federation
    from feddp_kmeans.network.deployment.run_request import asked_question
    from feddp_kmeans.report.result import check_folder

    show_log(quiet=quiet, times=True, as_json=log_json)
    check_folder(folder, force=force)
    if insecure == (federation is not None):
        raise InputError("feddp serve must be given either a federation folder or --insecure.")
    opened = None if federation is None else open_federation(federation)
    sums = {"min_sites": min_sites, "trust": trust, "threshold": threshold, "colluders": colluders, "confirmed": confirmed}
    kit = None if opened is None else str(opened.kit.folder.resolve())
    more = {"reading": reading, "round_timeout": round_timeout, "wait": wait, "kit": kit, "expected_points": expected_points}
    more |= {"last": None if last is None else str(last.resolve()), "about": None if asked_about is None else str(asked_about.resolve())}
    request = new_request(settings, folder, server, stated, **sums, **more)
    if asked_about is not None:
        check_new_file(folder_of(asked_about) / asked_question(request).file, force=force)
    if insecure:
        log.warning(options.TRIAL)
    with files_at_hand(), kept_log(folder / LOG), ended_by_signals():
        serving.serve(request, port if opened is None else opened.kit.port, opened, metrics)
    if asked_about is None:
        finish(folder, quiet=quiet)
    else:
        _show_answer(folder, asked_about, quiet=quiet)


def _show_answer(folder: Path, run: Path, *, quiet: bool) -> None:
    """Put the answer to a question into the folder of the run that it is about, show it on its page, and say where it is."""
    from feddp_kmeans.report.about import PROFILE, WORDS

    name = next(name for name in (PROFILE, WORDS) if (folder / name).exists())
    place = folder_of(run)
    shutil.copyfile(folder / name, place / name)
    write_report(place, None)
    if not quiet:
        say(f"Written to {folder / name}, and shown in {place / 'report.html'}.")


def new_request(settings: "Settings", folder: Path, server: Path | None, stated: StatedColumns, **more: Any) -> "RunRequest":
    """Return a new run with these options; its paths are absolute, so that any process of this machine can read them."""
    from feddp_kmeans.network.deployment.run_request import RunRequest

    return RunRequest(
        run=secrets.token_hex(16),
        settings=settings,
        out=str(folder.resolve()),
        command=options.command_line(),
        server=None if server is None else str(server.resolve()),
        **vars(stated) | {"schema": None if stated.schema is None else str(Path(stated.schema).resolve())},
        **more,
    )
