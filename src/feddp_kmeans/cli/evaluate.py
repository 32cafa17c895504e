"""``feddp evaluate``: the cost of centers, computed from the points themselves. Not private, and says so first."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.cli import options
from feddp_kmeans.cli.show import new_table
from feddp_kmeans.cli.terminal import out, say
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.reading import Reading

if TYPE_CHECKING:
    from feddp_kmeans.report.finished_run import FinishedRun

_ROWS = 1 << 16


@options.takes_reading
@options.takes_clients
def evaluate(
    reading: Reading,
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    clients: options.Where,
    client_column: options.ClientColumn = None,
) -> None:
    """Print the k-means cost of a run's centers on the clients' points. NON-PRIVATE: only for those who may see the points."""
    from feddp_kmeans.report.finished_run import read_run
    from feddp_kmeans.tables.client_files import check_client_column, client_paths

    run = read_run(made, reading)
    paths = [check_client_column(clients, client_column, reading)] if client_column else client_paths(clients)
    for path in paths:
        run.open(path).check()
    found = nonprivate_evaluation(run, paths)
    say("NON-PRIVATE: these numbers are exact and must not be shared beyond those who may see the points.")
    say(f"points             {found.sizes.sum():,} ({found.n_left_out:,} left out: a value is missing)")
    say(f"cost per point     {found.cost:.6g}")
    say(f"with one center    {found.one_center_cost:.6g}")
    say(f"explained          {1 - found.cost / found.one_center_cost if found.one_center_cost else 0:.2%}")
    table = new_table("Cluster sizes (exact)", "cluster", "points", "share")
    for index, size in enumerate(found.sizes):
        table.add_row(str(index), f"{size:,}", f"{size / found.sizes.sum():.1%}")
    out.print(table)


@dataclass(frozen=True)
class Evaluation:
    """Exact numbers about private points: NOT private."""

    cost: float
    """Mean squared distance from a point to its center."""
    one_center_cost: float
    """The same with the mean of all points as the only center."""
    sizes: IntArray
    n_left_out: int
    """Rows with a NaN or an infinite value."""


def nonprivate_evaluation(run: "FinishedRun", paths: list[Path]) -> Evaluation:
    """Return costs and sizes over all files. Each is read twice, in pieces: once for the mean, once for the costs."""
    from feddp_kmeans.algorithm.server import kmeans_cost
    from feddp_kmeans.assignment import nearest_centers

    sizes = np.zeros(len(run.centers), dtype=np.int64)
    total, cost, one, left_out = np.zeros(len(run.columns)), 0.0, 0.0, 0
    for points, n_rows in _pieces(run, paths):
        total += points.sum(axis=0)
        sizes += np.bincount(nearest_centers(points, run.read(run.centers)), minlength=len(sizes))
        left_out += n_rows - len(points)
    n_points = int(sizes.sum())
    if n_points == 0:
        raise InputError("clients must have at least one point, got none.")
    mean = (total / n_points)[None]
    for points, _ in _pieces(run, paths):
        cost += kmeans_cost(points, run.read(run.centers)) * len(points)
        one += kmeans_cost(points, mean) * len(points)
    return Evaluation(max(0.0, cost) / n_points, max(0.0, one) / n_points, sizes, left_out)


def _pieces(run: "FinishedRun", paths: list[Path]) -> Iterator[tuple[FloatArray, int]]:
    for path in paths:
        for points in run.open(path).pieces(_ROWS):
            read = run.read(points)
            yield read[np.isfinite(read).all(axis=1)].astype(np.float64, copy=False), len(points)
