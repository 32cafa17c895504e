"""The map: centers and public server points in the first two directions of the private subspace; never a client's point."""

from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.column_units import ColumnUnits

MOST_POINTS = 1500
"""Most server points on a map; of more, every n-th is shown."""


def server_map(clustering: Clustering, server_points: FloatArray | None) -> dict[str, Any] | None:
    """Return the map's points ``[x, y, weight]`` and centers ``[x, y]``; None where there is no subspace to draw in.

    All of it is public: the projection, the weights and the centers were released with noise, and server data are public.
    """
    axes, units = clustering.projection[:, :2], clustering.units or ColumnUnits(np.ones(clustering.centers.shape[1]))
    if axes.shape[1] == 0 or axes.shape[0] != clustering.centers.shape[1]:
        return None
    rows: list[list[float]] = []
    if server_points is not None and len(server_points):
        chosen = np.unique(np.linspace(0, len(server_points) - 1, min(MOST_POINTS, len(server_points))).round().astype(int))
        weights = clustering.server_weights
        weights = weights if len(weights) == len(server_points) else np.ones(len(server_points))
        rows = _short(np.column_stack([_flat(units.read(server_points[chosen]), axes), weights[chosen]]))
    return {"points": rows, "centers": _short(_flat(units.read(clustering.centers), axes))}


def _flat(points: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the points' first two coordinates in the subspace; the second is zero if the subspace has one dimension."""
    placed = np.zeros((len(points), 2))
    placed[:, : axes.shape[1]] = points @ axes
    return placed


def _short(rows: FloatArray) -> list[list[float]]:
    return [[float(f"{value:.6g}") for value in row] for row in rows]
