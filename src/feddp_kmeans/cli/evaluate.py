"""``feddp evaluate``: how good centers are, from the points themselves. Not private, and says so first."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report.finished_run import Run, read_run
from feddp_kmeans.tables.client_files import check_client_column, client_paths
from feddp_kmeans.tables.inputs import open_points
from feddp_kmeans.tables.lines import silent
from feddp_kmeans.tables.point_files import Tell

_ROWS = 1 << 16


@dataclass(frozen=True)
class Evaluation:
    """Exact numbers about private points: NOT private."""

    cost: float
    """Mean squared distance of a point to its center."""
    one_center_cost: float
    """The same with the mean of all points as the only center."""
    sizes: IntArray
    n_left_out: int
    """Rows with a NaN or an infinity."""


def show_evaluation(run: Path, clients: str, client_column: str | None, console: Console, tell: Tell = silent) -> None:
    """Print the exact cost and sizes of a run's clusters, and first of all that they are not private."""
    found = read_run(run)
    if client_column is not None:
        check_client_column(Path(clients), client_column)
    paths = [Path(clients)] if client_column is not None else client_paths(clients)
    for path in paths:
        open_points(path, found.columns, found.schema).check(tell)
    made = nonprivate_evaluation(found, paths)
    console.print("NON-PRIVATE: these numbers are exact and must not leave those who may see the points.", highlight=False, soft_wrap=True)
    console.print(f"points             {made.sizes.sum():,} ({made.n_left_out:,} left out: a value is missing)", highlight=False)
    console.print(f"cost a point       {made.cost:.6g}", highlight=False)
    console.print(f"with one center    {made.one_center_cost:.6g}", highlight=False)
    console.print(f"explained          {_explained(made):.2%}", highlight=False)
    table = Table(title="Cluster sizes (exact)", title_justify="left")
    for name in ("cluster", "points", "share"):
        table.add_column(name, justify="right")
    for index, size in enumerate(made.sizes):
        table.add_row(str(index), f"{size:,}", f"{size / made.sizes.sum():.1%}")
    console.print(table)


def nonprivate_evaluation(run: Run, paths: list[Path]) -> Evaluation:
    """Return cost and sizes over all files, read twice in pieces: once for the mean, once for the costs."""
    sizes = np.zeros(len(run.centers), dtype=np.int64)
    total, cost, one, left_out = np.zeros(len(run.columns)), 0.0, 0.0, 0
    for points, n_rows in _pieces(run, paths):
        total += points.sum(axis=0)
        sizes += np.bincount(run.labels(points), minlength=len(sizes))
        left_out += n_rows - len(points)
    n_points = int(sizes.sum())
    if n_points == 0:
        raise FedDPError("clients must have at least one point, got none.")
    mean = (total / n_points)[None]
    for points, _ in _pieces(run, paths):
        cost += kmeans_cost(points, run.centers) * len(points)
        one += kmeans_cost(points, mean) * len(points)
    return Evaluation(max(0.0, cost) / n_points, max(0.0, one) / n_points, sizes, left_out)


def _pieces(run: Run, paths: list[Path]) -> Iterator[tuple[FloatArray, int]]:
    for source in [open_points(path, run.columns, run.schema) for path in paths]:
        for points in source.pieces(_ROWS):
            yield points[np.isfinite(points).all(axis=1)].astype(np.float64, copy=False), len(points)


def _explained(made: Evaluation) -> float:
    return 1 - made.cost / made.one_center_cost if made.one_center_cost > 0 else 0.0
