"""Choosing k: the elbow of the k-means cost on weighted server points, which stand for the client data at no further privacy cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.server import weighted_kmeans
from feddp_kmeans.errors import InputError


@dataclass(frozen=True)
class Elbow:
    """The costs for every number of clusters tried, and the number picked."""

    numbers: tuple[int, ...]
    costs: tuple[float, ...]
    picked: int

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain data."""
        return {"numbers": list(self.numbers), "costs": list(self.costs), "picked": self.picked}


def find_elbow(points: FloatArray, weights: FloatArray, largest: int, seed: int) -> Elbow:
    """Return the costs of 1 to ``largest`` clusters, and where the curve bends most; points that are all the same are one cluster."""
    numbers = range(1, largest + 1)
    costs = elbow_curve(points, weights, numbers, seed)
    return Elbow(tuple(numbers), tuple(costs.tolist()), 1 if costs[0] == 0 else pick_elbow(numbers, costs))


def elbow_curve(points: FloatArray, weights: FloatArray, cluster_numbers: Sequence[int], seed: int) -> FloatArray:
    """Return the weighted within-cluster sum of squares per unit of weight, for every number of clusters."""
    costs = []
    for k in cluster_numbers:
        centers = weighted_kmeans(points, weights, k, seed)
        distances = np.square(points[:, None] - centers[None]).sum(axis=2).min(axis=1)
        costs.append(float(distances @ weights / weights.sum()))
    return np.array(costs)


def pick_elbow(cluster_numbers: Sequence[int], costs: FloatArray) -> int:
    """Return the k where the logarithm of the cost bends most: up to k one more cluster lowers the cost clearly, beyond k hardly.

    The point farthest from the line between the ends ("kneedle") was tried too: it picks too few clusters if their distances differ.
    """
    if len(cluster_numbers) < 3:
        raise InputError(f"cluster_numbers must be at least three to have an elbow, got {list(cluster_numbers)}.")
    logs = np.log(np.maximum(costs, 1e-12 * max(float(costs[0]), 1e-300)))
    return int(cluster_numbers[1 + int(np.argmax(np.diff(logs, 2)))])
