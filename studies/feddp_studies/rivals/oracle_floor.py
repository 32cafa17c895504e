"""Oracle floor: the optimal clusters, found without privacy, and one noisy release of their sums with the whole budget.

A yardstick for methods that have to find the clusters too. Noise is that of a sum of residuals whose bound is their root mean square
over points (or clients), and the bias that such a bound would bring is left out.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import sums_by
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_studies.rivals.optimal import nonprivate_kmeans
from feddp_studies.rivals.outside import dense_points, nonprivate_clients, outside_result, pooled, rival_plan

NAME = "oracle-floor"


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray,
    *,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,  # noqa: ARG001
    optimal_centers: FloatArray | None = None,
) -> Clustering:
    """Return the optimal centers (found here if they are not given), moved by the noise of one release of their clusters' sums."""
    # The server data play no part: where centers are given, these stand for them.
    clients = nonprivate_clients(federation, settings, server_points if optimal_centers is None else optimal_centers)
    streams = StreamFactory(seed)
    points = pooled(clients)
    if optimal_centers is None:
        centers, labels = nonprivate_kmeans(points, settings.fixed_k, streams.integer_seed("optimal"))
    else:
        centers, labels = optimal_centers, pairwise_distances_argmin(points, optimal_centers)
    counts = np.bincount(labels, minlength=len(centers)).astype(np.float64)
    bound = _residual_norm(clients, centers, labels, settings.unit)
    release = Release("optimal sums", Mechanism.GAUSSIAN, bound, float(RESOLUTION), 1.0, centers.size)
    plan = rival_plan(NAME, settings, federation, [release])
    noise = plan["optimal sums"].noisy(np.zeros(centers.size, dtype=np.int64), streams.stream(NAME))
    found = centers + noise.reshape(centers.shape) / np.maximum(counts, 1)[:, None]
    caveat = "NOT PRIVATE: the clusters were found without noise; only their sums are noisy. A yardstick."
    return outside_result(NAME, caveat, federation, plan, found, counts, trust="one place holds all points")


def _residual_norm(clients: Sequence[Any], centers: FloatArray, labels: IntArray, unit: PrivacyUnit) -> float:
    """Return the root mean square, over points or over clients, of the norm of what one of them adds to the residual sums."""
    total, units, start = 0.0, 0, 0
    for points in clients:
        own = labels[start : start + points.shape[0]]
        start += points.shape[0]
        residuals = dense_points(points) - centers[own]
        added = residuals if unit is PrivacyUnit.POINT else sums_by(residuals, own, len(centers))
        total += float(np.square(added).sum())
        units += len(own) if unit is PrivacyUnit.POINT else 1
    return max(math.sqrt(total / units), 1e-12)
