"""``feddp simulate``: a federation on one machine, on Flower's simulation engine."""

from typing import TYPE_CHECKING

from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of
from feddp_kmeans.cli.folders import files_at_hand
from feddp_kmeans.cli.serve import new_request
from feddp_kmeans.cli.show import finish
from feddp_kmeans.cli.terminal import show_log
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.settings import Settings


@options.takes_settings()
@options.takes_reading
@options.takes_columns
@options.takes_clients
def simulate(
    settings: "Settings",
    reading: Reading,
    stated: StatedColumns,
    clients: options.Where,
    folder: options.RunFolder,
    server: options.Server = None,
    skip_broken: options.SkipBroken = False,
    trust: options.TrustOption = "secure-sum",
    threshold: options.Threshold = None,
    colluders: options.Colluders = None,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a federation on Flower's simulation engine: one simulated node per client file, all on this machine.

    Exit status: 0 done, 1 refused, 3 finished and written in full, but useless: the noise hides the clusters.

    Examples:
      feddp simulate clients/ --server public.csv -k 10 --epsilon 1 --out run/

    """
    from feddp_kmeans.network.deployment import simulate as simulation
    from feddp_kmeans.network.deployment.children import ended_by_signals
    from feddp_kmeans.report.result import check_folder
    from feddp_kmeans.tables.client_files import client_paths
    from feddp_kmeans.tables.inputs import open_inputs

    show_log(quiet=quiet, times=True)
    options.limit_of(limit, limit_delta)
    check_folder(folder, force=force)
    paths = client_paths(clients, server)
    inputs = open_inputs(clients, server, stated, skip_broken=skip_broken, reading=reading)
    sums = {"min_sites": len(paths), "trust": trust, "threshold": threshold, "colluders": colluders, "seed": seed}
    books = {"odometer": str(odometer_of(clients, odometer).path.resolve()), "limit": limit, "limit_delta": limit_delta}
    request = new_request(settings, folder, server, stated, reading=reading, **sums, **books)
    with files_at_hand(), ended_by_signals():
        simulation.simulate(request, paths, inputs.columns, inputs.schema, skip_broken=skip_broken)
    finish(folder, quiet=quiet)
