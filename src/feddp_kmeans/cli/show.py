"""Tables for the terminal."""

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from feddp_kmeans._typing import FloatArray

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.choose_k import Elbow
    from feddp_kmeans.algorithm.clustering import Clustering
    from feddp_kmeans.federated_data import FederatedData


def show_ledger(console: Console, rows: list[dict[str, Any]], title: str) -> None:
    """Print the releases, a row each."""
    table = _table(title, "release", "mechanism", "sensitivity", "noise scale", "multiplier", "times")
    for row in rows:
        norm = "L2" if "l2_sensitivity" in row else "L1"
        sensitivity = row.get("l2_sensitivity", row.get("l1_sensitivity"))
        table.add_row(
            row["release"],
            row["mechanism"],
            f"{sensitivity:.4g} {norm}",
            f"{row['scale']:.4g}",
            f"{row['noise_multiplier']:.4g}",
            str(row["times"]),
        )
    console.print(table)


def show_elbow(console: Console, elbow: "Elbow") -> None:
    """Print the cost of every number of clusters as a bar, the number picked marked."""
    table = _table("Choosing k: cost of the weighted points that stand for the client data", "k", "cost, of k = 1", "")
    top = max(elbow.costs[0], 1e-300)
    for number, cost in zip(elbow.numbers, elbow.costs, strict=True):
        mark = "  <- sharpest bend" if number == elbow.picked else ""
        table.add_row(str(number), f"{cost / top:.3f}", "#" * round(30 * cost / top) + mark)
    console.print(table)


def show_clusters(console: Console, counts: FloatArray, stddev: FloatArray, norms: FloatArray) -> None:
    """Print the clusters, a row each."""
    table = _table("Clusters", "cluster", "noisy size", "norm of center", "noise in a coordinate")
    for index, (count, deviation, norm) in enumerate(zip(counts, stddev, norms, strict=True)):
        table.add_row(str(index), f"{count:,.0f}", f"{norm:.4g}", f"{deviation:.2g}")
    console.print(table)


def show_profiles(console: Console, profiles: list[list[dict[str, Any]]]) -> None:
    """Print what each cluster is like in the columns' own words, a row a column."""
    table = _table("Profiles: mean or most frequent value, and the noise in it", "column", *(f"cluster {i}" for i in range(len(profiles))))
    for told in zip(*profiles, strict=True):
        table.add_row(escape(told[0]["column"]), *(escape(_told(described)) for described in told))
    console.print(table)


def _told(described: dict[str, Any]) -> str:
    error = described["error"]
    if described["kind"] == "number":
        return f"{described['value']:.4g}" + (f" ± {error:.1g}" if error else "")
    return f"{described['value']} {described['shares'][described['value']]:.0%}" + (f" ± {error:.0%}" if error else "")


def show_demo_costs(console: Console, data: "FederatedData", found: "Clustering") -> None:
    """Print how good the centers are. This looks at the made-up points themselves: it is not private."""
    from feddp_kmeans.algorithm.server import weighted_kmeans

    assert data.means is not None
    points = data.pooled
    k = len(found.centers)
    server_only = weighted_kmeans(data.server_points, np.ones(len(data.server_points)), k, seed=0)
    optimal = nonprivate_lloyd(points, data.means)
    table = _table("k-means cost per point (NON-PRIVATE check, possible because the data are made up)", "centers", "cost", "above optimal")
    best = nonprivate_cost(points, optimal)
    for name, centers in (("this run, private", found.centers), ("server data alone", server_only), ("optimal, not private", optimal)):
        cost = nonprivate_cost(points, centers)
        table.add_row(name, f"{cost:.3f}", f"{100 * (cost / best - 1):.2f} %")
    console.print(table)


def nonprivate_cost(points: FloatArray, centers: FloatArray) -> float:
    """Return the k-means cost per point, computed from the points exactly: not private."""
    from feddp_kmeans.algorithm.server import kmeans_cost

    return kmeans_cost(points, centers)


def nonprivate_lloyd(points: FloatArray, start: FloatArray) -> FloatArray:
    """Return the centers that plain Lloyd's algorithm finds from a start: not private."""
    from sklearn.cluster import KMeans

    centers: FloatArray = KMeans(len(start), init=start, n_init=1).fit(points).cluster_centers_
    return centers


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table
