"""Choosing k: the elbow of the k-means cost on weighted server points, which stand for the client data at no further privacy cost."""

from collections.abc import Sequence

import numpy as np

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.server import weighted_kmeans


def elbow_curve(points: FloatArray, weights: FloatArray, cluster_numbers: Sequence[int], seed: int) -> FloatArray:
    """Return the weighted within-cluster sum of squares, a unit of weight, for every number of clusters."""
    costs = []
    for k in cluster_numbers:
        centers = weighted_kmeans(points, weights, k, seed)
        distances = np.square(points[:, None] - centers[None]).sum(axis=2).min(axis=1)
        costs.append(float(distances @ weights / weights.sum()))
    return np.array(costs)


def pick_elbow(cluster_numbers: Sequence[int], costs: FloatArray) -> int:
    """Return the k where the curve lies farthest below the line between its ends (Satopaa et al. 2011, "kneedle", without smoothing)."""
    if len(cluster_numbers) < 3:
        raise FedDPError(f"cluster_numbers must be at least three to have an elbow, got {list(cluster_numbers)}.")
    k = np.asarray(cluster_numbers, dtype=np.float64)
    across = (k - k[0]) / (k[-1] - k[0])
    down = (costs - costs[-1]) / max(float(costs[0] - costs[-1]), 1e-300)
    return int(cluster_numbers[int(np.argmax(1 - across - down))])
