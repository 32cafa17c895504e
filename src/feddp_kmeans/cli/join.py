"""``feddp join``: one site's half of a federation."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from feddp_kmeans._logs import LOG, kept_log
from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of
from feddp_kmeans.cli.terminal import say, show_log
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Limit
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

_STATE = ".feddp-runs"
_THRESHOLD = "Refuse sums of fewer sites. (default: the least that is safe)"
_ROSTER = "Words of the roster, as compared with the other sites: a first or changed roster is accepted by them."
_COLLUDERS = "Refuse runs that allow for fewer colluding sites. (default: a tenth, at least one)"
log = logging.getLogger(__name__)


@options.takes_reading
@options.takes_columns
def join(
    reading: Reading,
    stated: StatedColumns,
    kit: Annotated[Path | None, typer.Argument(help="The public/ folder of the federation, as received from the server.")] = None,
    *,
    data: Annotated[str, typer.Option("--data", help="This site's table, or a folder or glob of tables.")],
    limit: Annotated[float, typer.Option("--limit", help="Largest epsilon that all runs on these data may spend together.")],
    key: Annotated[Path | None, typer.Option("--key", help="This site's private key, made by feddp keys --site.")] = None,
    delta: Annotated[float, typer.Option("--delta", "--limit-delta", help="Largest delta; runs are added up at it.")] = LIMIT_DELTA,
    unit: options.Unit = "point",
    skip_broken: options.SkipBroken = False,
    engine: options.InEngine = None,
    allow_aggregator: Annotated[bool, typer.Option("--allow-aggregator", help="Trust the server with this site's sums.")] = False,
    min_sites: Annotated[int, typer.Option("--min-sites", min=1, help="Refuse runs of fewer sites.")] = 2,
    threshold: Annotated[int | None, typer.Option("--threshold", min=1, help=_THRESHOLD)] = None,
    colluders: Annotated[int | None, typer.Option("--colluders", min=0, help=_COLLUDERS)] = None,
    confirmed: options.Confirmed = None,
    roster: Annotated[str | None, typer.Option("--roster", metavar="WORDS", help=_ROSTER)] = None,
    state: Annotated[Path | None, typer.Option("--state", help=f"Folder for the state of runs. (default: {_STATE} near the data)")] = None,
    odometer: options.OdometerFile = None,
    metrics: options.Metrics = None,
    name: Annotated[str | None, typer.Option("--name", help="This site's name if it has no key. (default: that of its data)")] = None,
    insecure: Annotated[str | None, typer.Option("--insecure", metavar="ADDRESS", help=options.TRIAL)] = None,
    check: Annotated[bool, typer.Option("--check", help="Read the data, meet the server, say what is in the way, and end.")] = False,
    log_json: options.LogJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Take part in a federation with this machine's data, until interrupted. The server's code is never run here.

    Examples:
      feddp join kit/ --key berlin.key --data berlin.csv --limit 2
      feddp join --insecure 127.0.0.1:9443 --data berlin.csv --limit 2
      feddp join kit/ --key berlin.key --data berlin.csv --limit 2 --check    # could this site take part now?

    """
    from feddp_kmeans.network.deployment import join as joining
    from feddp_kmeans.network.deployment.children import ended_by_signals
    from feddp_kmeans.network.deployment.key_status import roster_lines
    from feddp_kmeans.network.deployment.kit import read_kit
    from feddp_kmeans.network.deployment.metrics import MetricsFile, SiteFacts
    from feddp_kmeans.network.deployment.site import Site
    from feddp_kmeans.network.secure_sum.identity import load_identity
    from feddp_kmeans.network.site_key import check_site_name

    show_log(quiet=quiet, times=True, as_json=log_json)
    known = None
    if insecure is not None:
        if kit is not None or key is not None:
            raise InputError("--insecure must be given without a kit and a key: neither would be used.")
        called = name or Path(data).stem
        connection = joining.Connection(called, insecure)
        check_site_name(called)
        log.warning(options.TRIAL)
    elif kit is None or key is None:
        raise InputError("feddp join must be given the federation's kit and --key, or --insecure with an address.")
    else:
        known = read_kit(kit)
        called = known.name_of(load_identity(key).public_key())
        connection = joining.Connection(called, known.address, known.authority, key)
    books = odometer_of(data, odometer).path
    site = Site(
        name=called,
        data=data,
        limit=limit,
        state=str(state or books.parent / _STATE),
        odometer=str(books),
        delta=delta,
        unit=unit,
        **vars(stated),
        skip_broken=skip_broken,
        reading=reading,
        engine=engine,
        allow_aggregator=allow_aggregator,
        min_sites=min_sites,
        threshold=threshold,
        colluders=colluders,
        confirmed=confirmed,
        key=None if key is None else str(key),
        kit=None if kit is None else str(kit),
    )
    if known is not None:
        agreed = site.roster(roster)
        site.policy.check_federation(len(agreed.sites))
        for line in roster_lines(agreed):
            log.info("%s", line)
        log.info("%s: %s.", called, site.policy.floor(len(agreed.sites)))
    participant = site.participant()
    log.info("%s: %d columns; all runs together may spend epsilon %g.", called, len(participant.columns), limit)
    kept = Path(site.state) / LOG
    facts = SiteFacts(participant.handle, books, site.policy.unit, Limit(limit, delta))
    with ended_by_signals():
        if check:
            connection.check()
            say(f"{called} can take part: its data can be read, and the server at {connection.address} admits it.")
            return
        with kept_log(kept, makes_folder=True), joining.alone(kept.parent), MetricsFile(metrics, facts.metrics):
            joining.join(connection, participant.handle if metrics is None else facts.handle, facts.connected)
