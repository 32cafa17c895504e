"""``feddp demo``: the paper's mixture, clustered and compared with centers that are not private."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from feddp_kmeans._typing import FloatArray, Points
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.show import new_table, show_run
from feddp_kmeans.cli.terminal import out, progress

if TYPE_CHECKING:
    from feddp_kmeans.mixture import FederatedData

log = logging.getLogger(__name__)


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where the report goes.")] = Path("out"),
    epsilon: options.Epsilon = 1.0,
    method: options.MethodOption = "refined",
    seed: Annotated[int, typer.Option("--data-seed", help="Seed of the mixture.")] = 0,
) -> None:
    """Cluster the paper's Gaussian mixture: 100 clients, 1,000 points each, 100 dimensions, 10 clusters."""
    from feddp_kmeans.algorithm.clustering import run
    from feddp_kmeans.algorithm.prepare import prepare
    from feddp_kmeans.federation.in_memory import InMemoryFederation
    from feddp_kmeans.mixture import gaussian_mixture
    from feddp_kmeans.report.result import check_folder, result_dict, write_result

    check_folder(folder, force=True)
    log.info("Generating 100 clients with 1,000 points each ...")
    data = gaussian_mixture(seed)
    prepared = prepare(Settings(10, epsilon, method=MethodName.parse(method)), data.server_points, len(data.clients))
    with progress(prepared.plan) as on_release:
        found = run(InMemoryFederation(data.clients), prepared, on_release=on_release)
    columns = [f"x{i}" for i in range(data.server_points.shape[1])]
    result = result_dict(found, columns=columns, seed=None, server_points=prepared.server_points, command=options.command_line())
    written = write_result(folder, result)
    show_run(folder)
    _show_costs(data, found.centers)
    out.print(f"Open [bold]{written[1]}[/bold] in a browser; the numbers are in {written[2]}.", highlight=False)


def _show_costs(data: "FederatedData", centers: FloatArray) -> None:
    """Print the cost of the centers. This uses the generated points themselves: it is not private."""
    from feddp_kmeans.algorithm.server import kmeans_cost, weighted_kmeans

    assert data.means is not None
    points = data.pooled
    server_only = weighted_kmeans(data.server_points, np.ones(len(data.server_points)), len(centers), seed=0)
    optimal = nonprivate_lloyd(points, data.means)
    title = "k-means cost per point (NON-PRIVATE check, possible because the data are generated)"
    table = new_table(title, "centers", "cost", "above optimal")
    best = kmeans_cost(points, optimal)
    for name, shown in (("this run, private", centers), ("server data only", server_only), ("optimal, not private", optimal)):
        cost = kmeans_cost(points, shown)
        table.add_row(name, f"{cost:.3f}", f"{100 * (cost / best - 1):.2f} %")
    out.print(table)


def nonprivate_lloyd(points: Points, start: FloatArray) -> FloatArray:
    """Return the centers that plain Lloyd's algorithm finds from these starting centers: not private."""
    from sklearn.cluster import KMeans

    centers: FloatArray = KMeans(len(start), init=start, n_init=1).fit(points).cluster_centers_
    return centers
