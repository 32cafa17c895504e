"""The same app on Flower's simulation engine: every client file is a SuperNode of its own, all on this machine."""

import logging
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.apps import make_client_app, site_handler
from feddp_kmeans.network.deployment.children import private_folder
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
from feddp_kmeans.network.deployment.site import Site
from feddp_kmeans.network.flower.body import Handler
from feddp_kmeans.network.flower.flower_federation import GridTransport
from feddp_kmeans.tables.schema import Schema

_BACKEND: dict[str, Any] = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}


def simulate(
    request: RunRequest, clients: Sequence[Path], columns: tuple[str, ...], schema: Schema | None, *, skip_broken: bool = False
) -> None:
    """Make a run on simulated SuperNodes, one per client file; the result is in its folder afterwards.

    All files have these ``columns``, by the ``schema`` if there is one; with ``skip_broken`` a file that cannot be read is a client without
    data.
    """
    try:
        from feddp_kmeans.network.deployment.own_ray import FOLDER, run_simulation, running
    except ImportError:
        raise InputError("a simulation needs Ray: pip install 'feddp-kmeans[simulation]'.") from None

    request = opened(request)
    logging.getLogger("flwr").setLevel(logging.ERROR)
    with private_folder(FOLDER) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reading: dict[str, Any] = {"columns": columns, "skip_broken": skip_broken}
        if schema is not None:
            reading |= {"columns": (), "schema": str(Path(temporary) / "schema.json")}
            schema.write(reading["schema"])
        sites = [_site(request, path, Path(temporary) / f"site{number}", **reading) for number, path in enumerate(clients)]

        def handler_of(configuration: Mapping[str, object]) -> Handler:
            return site_handler(sites[int(str(configuration["partition-id"]))])

        server, failed = ServerApp(), list[Exception]()

        @server.main()
        def _main(grid: Grid, _context: Context) -> None:
            try:
                carry_out(GridTransport(grid), request)
            except Exception as error:  # noqa: BLE001 - Flower would print its traceback; it is raised below
                failed.append(error)

        with running(temporary):
            run_simulation(server, make_client_app(handler_of), len(sites), backend_config=_BACKEND)
    if failed:
        raise failed[0]


def _site(request: RunRequest, path: Path, folder: Path, **more: Any) -> Site:
    """Return a client file as a site without limits: the run is booked once, for all files together."""
    return Site(
        name=path.stem,
        data=str(path.resolve()),
        limit=math.inf,
        state=str(folder),
        odometer=str(folder / "budget.jsonl"),
        delta=request.settings.delta,
        unit=request.settings.privacy_unit,
        ignore=request.ignore,
        reading=request.reading,
        allow_aggregator=True,
        allow_simulation=True,
        min_sites=1,
        colluders=0,
        **more,
    )
