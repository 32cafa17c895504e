"""Optimal: plain k-means of all points in one place. Neither private nor federated; the lower end of every figure."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_studies.rivals.outside import dense_points, nonprivate_clients, outside_result, pooled, rival_plan

NAME = "optimal"

RESTARTS = 10


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray,
    *,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,  # noqa: ARG001
) -> Clustering:
    """Return the best of ten runs of k-means on the pooled points."""
    points = pooled(nonprivate_clients(federation, settings, server_points))
    centers, labels = nonprivate_kmeans(points, settings.fixed_k, StreamFactory(seed).integer_seed("optimal"))
    return outside_result(
        NAME,
        "NOT PRIVATE, NOT FEDERATED: all points in one place, and no noise.",
        federation,
        rival_plan(NAME, settings, federation),
        centers,
        np.bincount(labels, minlength=len(centers)).astype(np.float64),
        trust="one place holds all points",
    )


def nonprivate_kmeans(points: Any, k: int, seed: int, *, start: FloatArray | None = None) -> tuple[FloatArray, Any]:
    """Return the centers and labels of scikit-learn's k-means, from ``start`` or the best of ten restarts.

    Where there are no more than k points, the centers are those and copies of them.
    """
    n = points.shape[0]
    if n <= k:
        return dense_points(points[np.arange(k) % n]), np.arange(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Fewer distinct points than clusters: some centers coincide.
        given = {"n_init": RESTARTS} if start is None else {"init": start, "n_init": 1}
        model = KMeans(k, random_state=seed, **given).fit(points)
    return np.asarray(model.cluster_centers_, dtype=np.float64), model.labels_
