"""``feddp export-app``: the files that a stock ``flwr run`` and stock SuperNodes need."""

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of
from feddp_kmeans.cli.serve import new_request
from feddp_kmeans.cli.terminal import say
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.settings import Settings

log = logging.getLogger(__name__)

LOST = (
    "With stock Flower a site trusts the server with everything: a stock SuperNode downloads the app that the server sends and runs it "
    "next to the data, whatever it is. The limits in site.json bind our app only. feddp serve and feddp join need no such trust."
)
_SERVER_ONLY = {"clusters": "-k", "epsilon": "--epsilon", "server": "--server", "federation": "--federation", "trust": "--trust"}
_SITE_ONLY = {"data": "--data", "limit": "--limit", "key": "--key", "kit": "--kit", "allow_aggregator": "--allow-aggregator"}


@options.takes_settings({"clusters": "auto", "epsilon": 1.0})
@options.takes_reading
@options.takes_columns
def export_app(
    settings: "Settings",
    reading: Reading,
    stated: StatedColumns,
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder for the files: app/ and run/job.json, or site.json with --site.")],
    *,
    server: options.Server = None,
    federation: Annotated[Path | None, typer.Option("--federation", help="Server: the federation folder, if sites have keys.")] = None,
    trust: options.TrustOption = "secure-sum",
    min_sites: options.MinSites = None,
    threshold: options.Threshold = None,
    colluders: options.Colluders = None,
    confirmed: options.Confirmed = None,
    site: Annotated[str | None, typer.Option("--site", help="Write site.json for the site of this name instead.")] = None,
    data: Annotated[str | None, typer.Option("--data", help="Site: its table, or a folder or glob of tables.")] = None,
    limit: Annotated[float | None, typer.Option("--limit", help="Site: largest epsilon that all runs on its data may spend.")] = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    kit: Annotated[Path | None, typer.Option("--kit", help="Site: the public/ folder of the federation, with --key.")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Site: its private key.")] = None,
    allow_aggregator: Annotated[bool, typer.Option("--allow-aggregator", help="Site: trust the server with its sums.")] = False,
    odometer: options.OdometerFile = None,
    force: options.Force = False,
) -> None:
    """Write what a stock flwr run needs; with --site, what a stock SuperNode is told of its site. See first what trust is lost.

    Examples:
      feddp export-app out/ -k 10 --epsilon 1 --server public.csv --min-sites 3
      feddp export-app out/ --site berlin --data berlin.csv --limit 2

    """
    from feddp_kmeans.network.deployment import export
    from feddp_kmeans.network.deployment.kit import open_federation, read_kit
    from feddp_kmeans.network.deployment.site import Site
    from feddp_kmeans.network.secure_sum.identity import load_identity
    from feddp_kmeans.network.site_key import check_site_name
    from feddp_kmeans.report.result import check_folder

    log.warning(LOST)
    given = {name for name in context.params if _is_stated(context, name)}
    wrong = [option for name, option in (_SITE_ONLY if site is None else _SERVER_ONLY).items() if name in given]
    if wrong:
        raise InputError(f"{wrong[0]} must be given {'with' if site is None else 'without'} --site.")
    sums: dict[str, Any] = {"threshold": threshold, "colluders": colluders, "confirmed": confirmed}
    if site is None:
        missing = [_SERVER_ONLY[name] for name in ("clusters", "epsilon") if name not in given]
        if missing:
            raise InputError(f"{missing[0]} must be given: the app is made for one run.")
        check_folder(folder / "run", force=force)
        public = None if federation is None else str(open_federation(federation).kit.folder.resolve())
        more = {"reading": reading, "trust": trust, "min_sites": min_sites, "kit": public}
        app = export.export_app(folder, new_request(settings, folder / "run", server, stated, **sums, **more))
        say(f"Written to {folder}: app/ and run/job.json. On the server: flwr run {app}")
        return
    check_site_name(site)
    if data is None or limit is None:
        raise InputError(f"{'--data' if data is None else '--limit'} must be given with --site.")
    if (kit is None) != (key is None):
        raise InputError("--kit and --key must be given together: the one says who the others are, the other who this site is.")
    if kit is not None and key is not None and (known := read_kit(kit).name_of(load_identity(key).public_key())) != site:
        raise InputError(f"--site must be the name of --key in the kit, {known!r}, got {site!r}.")
    described = Site(
        name=site,
        data=os.path.abspath(data),  # noqa: PTH100 - may be a pattern
        limit=limit,
        state=str(folder.resolve() / "state"),
        odometer=str(odometer_of(data, odometer).path.resolve()),
        delta=limit_delta,
        unit=settings.privacy_unit.value,
        **vars(stated) | {"schema": None if stated.schema is None else str(Path(stated.schema).resolve())},
        reading=reading,
        allow_aggregator=allow_aggregator,
        min_sites=min_sites or 2,
        **sums,
        key=None if key is None else str(key.resolve()),
        kit=None if kit is None else str(kit.resolve()),
    )
    path = export.export_site(folder, described)
    say(f"Written: {path}. At the site: flower-supernode --superlink HOST:PORT --node-config 'site={json.dumps(str(path))}'")


def _is_stated(context: typer.Context, name: str) -> bool:
    """Return whether an option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
