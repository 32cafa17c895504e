"""Breathing k-means (Fritzke 2020): centers are added where the cost is, then as many taken away where they save least.

This moves centers across the space, which Lloyd steps cannot. It finds what hundreds of restarts miss if there are many clusters.
"""

import warnings

import numpy as np
from scipy.spatial import distance

from feddp_kmeans._typing import FloatArray, IntArray

_DEPTH = 5  # centers that are added and taken away at first; fewer and fewer when nothing is gained
_LEAST_GAIN = 1e-4  # part of the cost


def breathe(points: FloatArray, weights: FloatArray, centers: FloatArray, seed: int) -> FloatArray:
    """Return better centers of the weighted points, as many as given; more points than centers are needed."""
    rng, k = np.random.default_rng(seed), len(centers)
    centers, cost = _lloyd(points, weights, centers)
    depth = min(_DEPTH, k - 1, len(points) - k)
    while depth > 0:
        more = np.vstack([centers, _where_cost_is(points, weights, centers, depth, rng)])
        more, _ = _lloyd(points, weights, more)
        fewer, new_cost = _lloyd(points, weights, np.delete(more, _least_useful(points, weights, more, depth), axis=0))
        if new_cost < cost * (1 - _LEAST_GAIN):
            centers, cost = fewer, new_cost
        else:
            depth -= 1
    return centers


def _lloyd(points: FloatArray, weights: FloatArray, centers: FloatArray) -> tuple[FloatArray, float]:
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(len(centers), init=centers, n_init=1).fit(points, sample_weight=weights)
    return model.cluster_centers_, float(model.inertia_)


def _where_cost_is(points: FloatArray, weights: FloatArray, centers: FloatArray, number: int, rng: np.random.Generator) -> FloatArray:
    """Return points of the costliest clusters, drawn by their own cost."""
    squares = distance.cdist(points, centers, "sqeuclidean")
    members, costs = squares.argmin(axis=1), weights * squares.min(axis=1)
    costliest = np.argsort(np.bincount(members, costs, minlength=len(centers)))[-number:]
    own = [np.where(members == cluster, costs, 0.0) for cluster in costliest]
    return points[[int(rng.choice(len(points), p=cost / cost.sum())) if cost.sum() > 0 else int(rng.integers(len(points))) for cost in own]]


def _least_useful(points: FloatArray, weights: FloatArray, centers: FloatArray, number: int) -> IntArray:
    """Return the centers without which the cost rises least; of two that are next to each other only one."""
    nearest = np.partition(squares := distance.cdist(points, centers, "sqeuclidean"), 1, axis=1)
    use = np.bincount(squares.argmin(axis=1), weights * (nearest[:, 1] - nearest[:, 0]), minlength=len(centers))
    between = distance.cdist(centers, centers)
    np.fill_diagonal(between, np.inf)
    gone: list[int] = []
    frozen: set[int] = set()
    order = [int(center) for center in np.argsort(use)]
    for center in order:
        if len(gone) < number and center not in frozen:
            gone.append(center)
            frozen.add(int(between[center].argmin()))
    gone += [center for center in order if center not in gone][: number - len(gone)]
    return np.array(gone, dtype=np.int64)
