"""``feddp keys``, ``serve``, ``join`` and ``simulate``: federations between machines, and the same on one."""

import logging
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of
from feddp_kmeans.cli.options import command_line, err, out
from feddp_kmeans.cli.show import show_ledger
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.odometer import LIMIT_DELTA

if TYPE_CHECKING:
    from feddp_kmeans.network.deployment.run_request import RunRequest

_LOG = logging.getLogger(__name__)
_PORT = 9443
_STATE = ".feddp-runs"
_TRIAL = "No TLS and no keys: for trials on one machine only."

MinSites = Annotated[
    int | None,
    typer.Option("--min-sites", min=1, help="Sites that must be connected before the run starts. (default: all of the federation)"),
]
TrustOption = Annotated[str, typer.Option("--trust", help="secure-sum: the server learns noisy sums alone; aggregator: it adds the noise.")]
Threshold = Annotated[
    int | None, typer.Option("--threshold", min=1, help="Fewest sites that a sum is made of. (default: two thirds, or more where safe)")
]
Colluders = Annotated[
    int | None, typer.Option("--colluders", min=0, help="Sites that may side with the server. (default: a tenth, at least one)")
]
Confirmed = Annotated[
    bool | None,
    typer.Option("--confirmed/--not-confirmed", help="Sites sign who is in a sum before it is opened. (default: where there are keys)"),
]
RoundTimeout = Annotated[float, typer.Option("--round-timeout", help="Seconds that a site has for an answer.")]
RunFolder = Annotated[Path, typer.Option("--out", help="Folder for result.json, centers.parquet and report.html.")]


def keys(
    folder: Annotated[Path | None, typer.Argument(help="Federation folder to make, on the server.")] = None,
    host: Annotated[
        list[str] | None, typer.Option("--host", help="Name or address by which sites reach the server; may be given again.")
    ] = None,
    port: Annotated[int, typer.Option("--port", help="The server's port.")] = _PORT,
    site: Annotated[str | None, typer.Option("--site", help="Make NAME.key and NAME.pub here, where the site's data are.")] = None,
) -> None:
    """Make the keys of a federation: its folder on the server, or a site's key pair at the site.

    Examples:
      feddp keys federation/ --host server.example.org     # public/ goes to the sites, private/ stays
      feddp keys --site berlin                             # berlin.pub goes to the server, into public/sites/

    """
    from feddp_kmeans.network.deployment.keys import write_site_key
    from feddp_kmeans.network.deployment.kit import check_site_name, make_federation

    if (folder is None) == (site is None):
        raise FedDPError("feddp keys must be given either a folder with --host, or --site.")
    if site is not None:
        check_site_name(site)
        private, public = write_site_key(Path(), site)
        _say(f"{private} stays here and is shown to nobody; {public} goes to the server, into public/sites/ of its federation folder.")
    elif folder is not None:
        make_federation(folder, host or (), port)
        _say(f"Put the .pub file of every site into {folder / 'public' / 'sites'}; then give {folder / 'public'} to the sites.")
        _say(f"{folder / 'private'} never leaves this machine.")


@options.takes_settings()
def serve(
    settings: Settings,
    federation: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="Federation folder made by feddp keys.")] = None,
    *,
    folder: RunFolder,
    server: options.Server = None,
    schema_file: options.SchemaFile = None,
    ignore: options.Ignore = None,
    min_sites: MinSites = None,
    trust: TrustOption = "secure-sum",
    threshold: Threshold = None,
    colluders: Colluders = None,
    confirmed: Confirmed = None,
    round_timeout: RoundTimeout = 300.0,
    wait: Annotated[float, typer.Option("--wait", help="Seconds to wait for --min-sites.")] = 3600.0,
    port: Annotated[int, typer.Option("--port", help="Port of an --insecure server; a federation folder states its own.")] = _PORT,
    insecure: Annotated[bool, typer.Option("--insecure", help=_TRIAL)] = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Cluster the data of sites on other machines, which take part by feddp join.

    Examples:
      feddp serve federation/ --server public.csv -k 10 --epsilon 1 --out run/
      feddp serve --insecure -k 10 --epsilon 1 --box 0,1 --min-sites 3 --out run/

    """
    from feddp_kmeans.network.deployment.children import ended_by_signals
    from feddp_kmeans.network.deployment.kit import open_federation
    from feddp_kmeans.network.deployment.serve import listening_of
    from feddp_kmeans.network.deployment.serve import serve as serve_job
    from feddp_kmeans.network.deployment.superlink import Listening
    from feddp_kmeans.report.result import check_folder

    _show_log(quiet)
    check_folder(folder, force=force)
    if insecure == (federation is not None):
        raise FedDPError("feddp serve must be given either a federation folder or --insecure.")
    opened = None if federation is None else open_federation(federation)
    kit = None if opened is None else opened.kit
    job = _job(
        settings,
        folder,
        server,
        schema_file,
        ignore,
        min_sites=min_sites,
        trust=trust,
        threshold=threshold,
        colluders=colluders,
        confirmed=confirmed,
        round_timeout=round_timeout,
        wait=wait,
        kit=None if kit is None else str(kit.folder.resolve()),
    )
    if insecure:
        _note(_TRIAL)
    listening = Listening("127.0.0.1", port) if opened is None else listening_of(opened)
    with ended_by_signals():
        serve_job(job, listening, kit)
    if not quiet:
        _show_run(folder)


def join(
    kit: Annotated[Path | None, typer.Argument(help="The public/ folder of the federation, as the server gave it.")] = None,
    *,
    data: Annotated[str, typer.Option("--data", help="This site's table, or a folder or glob of tables.")],
    limit: Annotated[float, typer.Option("--limit", help="Largest epsilon that all runs on these data may spend together.")],
    key: Annotated[Path | None, typer.Option("--key", help="This site's private key, made by feddp keys --site.")] = None,
    delta: Annotated[float, typer.Option("--delta", help="Largest delta, and the one at which runs are added up.")] = LIMIT_DELTA,
    unit: options.Unit = "point",
    schema_file: options.SchemaFile = None,
    ignore: options.Ignore = None,
    skip_broken: options.SkipBroken = False,
    allow_aggregator: Annotated[bool, typer.Option("--allow-aggregator", help="Trust the server with this site's sums.")] = False,
    min_sites: Annotated[int, typer.Option("--min-sites", min=1, help="Refuse runs of fewer sites.")] = 2,
    threshold: Annotated[
        int | None, typer.Option("--threshold", min=1, help="Refuse sums of fewer sites. (default: the least that is safe)")
    ] = None,
    colluders: Annotated[
        int | None,
        typer.Option("--colluders", min=0, help="Refuse runs that allow for fewer colluding sites. (default: a tenth, at least one)"),
    ] = None,
    confirmed: Confirmed = None,
    state: Annotated[
        Path | None, typer.Option("--state", help="Folder for what is remembered. (default: .feddp-runs beside the data)")
    ] = None,
    odometer: options.OdometerFile = None,
    name: Annotated[str | None, typer.Option("--name", help="This site's name where there is no key. (default: the data's)")] = None,
    insecure: Annotated[str | None, typer.Option("--insecure", metavar="ADDRESS", help=_TRIAL)] = None,
    quiet: options.Quiet = False,
) -> None:
    """Take part in a federation with this machine's data, until interrupted. The server's code is never run here.

    Examples:
      feddp join kit/ --key berlin.key --data berlin.csv --limit 2
      feddp join --insecure 127.0.0.1:9443 --data berlin.csv --limit 2

    """
    from feddp_kmeans.network.deployment.children import ended_by_signals
    from feddp_kmeans.network.deployment.join import Connection
    from feddp_kmeans.network.deployment.join import join as stay
    from feddp_kmeans.network.deployment.kit import check_site_name, read_kit
    from feddp_kmeans.network.deployment.site import Site
    from feddp_kmeans.network.secure_sum.identity import load_identity

    _show_log(quiet)
    known = None
    if insecure is not None:
        if kit is not None or key is not None:
            raise FedDPError("--insecure must stand without a kit and a key: neither is used.")
        called, connection = name or Path(data).stem, Connection(insecure)
        check_site_name(called)
        _note(_TRIAL)
    elif kit is None or key is None:
        raise FedDPError("feddp join must be given the federation's kit and --key, or --insecure with an address.")
    else:
        known = read_kit(kit)
        called = known.name_of(load_identity(key).public_key())
        connection = Connection(known.address, known.authority.resolve(), key.resolve())
    books = odometer_of(data, odometer).path
    site = Site(
        name=called,
        data=data,
        limit=limit,
        state=str(state or books.parent / _STATE),
        odometer=str(books),
        delta=delta,
        unit=unit,
        schema=None if schema_file is None else str(schema_file),
        ignore=tuple(ignore or ()),
        skip_broken=skip_broken,
        allow_aggregator=allow_aggregator,
        min_sites=min_sites,
        threshold=threshold,
        colluders=colluders,
        confirmed=confirmed,
        key=None if key is None else str(key),
        kit=None if kit is None else str(kit),
    )
    if known is not None:
        site.policy.check_federation(len(known.sites()))
    columns = site.read(_note).columns
    _LOG.info("%s: %d columns; all runs together may spend epsilon %g.", called, len(columns), limit)
    if known is not None:
        _LOG.info("%s: %s.", called, site.policy.floor(len(known.sites())))
    with ended_by_signals():
        stay(connection, site.participant().handle)


@options.takes_settings()
def simulate(
    settings: Settings,
    clients: options.Clients,
    folder: RunFolder,
    server: options.Server = None,
    schema_file: options.SchemaFile = None,
    ignore: options.Ignore = None,
    skip_broken: options.SkipBroken = False,
    trust: TrustOption = "secure-sum",
    threshold: Threshold = None,
    colluders: Colluders = None,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a federation on Flower's simulation engine: one simulated node a client file, all on this machine.

    Examples:
      feddp simulate clients/ --server public.csv -k 10 --epsilon 1 --out run/

    """
    from feddp_kmeans.network.deployment.children import ended_by_signals
    from feddp_kmeans.network.deployment.simulate import simulate as simulate_job
    from feddp_kmeans.report.result import check_folder
    from feddp_kmeans.tables.client_files import client_paths
    from feddp_kmeans.tables.inputs import open_inputs

    _show_log(quiet)
    options.limit_of(limit, limit_delta)
    check_folder(folder, force=force)
    paths = client_paths(clients)
    inputs = open_inputs(clients, server, schema_file=schema_file, ignore=ignore or (), skip_broken=skip_broken, tell=_note)
    job = _job(
        settings,
        folder,
        server,
        schema_file,
        ignore,
        min_sites=len(paths),
        trust=trust,
        threshold=threshold,
        colluders=colluders,
        seed=seed,
        odometer=str(odometer_of(clients, odometer).path.resolve()),
        limit=limit,
        limit_delta=limit_delta,
    )
    with ended_by_signals():
        simulate_job(job, paths, columns=() if inputs.schema else inputs.columns, skip_broken=skip_broken)
    if not quiet:
        _show_run(folder)


def _job(settings: Settings, folder: Path, server: Path | None, schema: Path | None, ignore: list[str] | None, **more: Any) -> "RunRequest":
    """Return a new run with these options, its paths as any process of this machine reads them."""
    from feddp_kmeans.network.deployment.run_request import RunRequest

    return RunRequest(
        run=secrets.token_hex(16),
        settings=settings,
        out=str(folder.resolve()),
        command=command_line(),
        server=_absolute(server),
        schema=_absolute(schema),
        ignore=tuple(ignore or ()),
        **more,
    )


def _show_run(folder: Path) -> None:
    """Print what a finished run released, and its guarantee last."""
    from feddp_kmeans.cli.report import read_result

    result = read_result(folder / "result.json")
    show_ledger(out, result["ledger"], title="What was released")
    out.print(result["guarantee"], style="bold", highlight=False)
    _say(f"Written to {folder}: result.json, centers.parquet, report.html.")


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())


def _say(line: str) -> None:
    out.print(line, highlight=False, markup=False, soft_wrap=True)


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _note(self.format(record))


def _show_log(quiet: bool) -> None:
    """Show this package's log on stderr."""
    package = logging.getLogger("feddp_kmeans")
    package.handlers = [] if quiet else [_Lines()]
    package.setLevel(logging.INFO)


def _note(line: str) -> None:
    err.print(line, highlight=False, markup=False, soft_wrap=True)
