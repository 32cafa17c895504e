"""Cluster(P) of Awasthi and Sheffet (2012), the paper's Algorithm "Cluster(P)": not private, on points in one place."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from sklearn.cluster import KMeans, kmeans_plusplus

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.algorithm.server import RESTARTS

MARGIN = 1 / 3
"""How much nearer than to any other center a point must be in Part 2."""

_SMALL = 1 << 13
"""Values up to which our own short k-means is faster than scikit-learn's set-up."""


@dataclass(frozen=True)
class NonprivateClustering:
    """Centers, the cluster of each point, and the Lloyd steps of Part 3."""

    centers: FloatArray
    labels: IntArray
    steps: int


def awasthi_sheffet(
    points: FloatArray, k: int, *, margin: float = MARGIN, seed: int = 0, restarts: int = RESTARTS, most_steps: int = 100
) -> NonprivateClustering:
    """Return the clustering of Cluster(P): spectral projection, k-means there, the margin step, Lloyd's steps until nothing moves."""
    # Part 1: project onto the top k singular vectors, and cluster there.
    vectors = top_singular_vectors(points, k)
    projected = points @ vectors
    nu = approximate_kmeans(projected, k, seed, restarts)
    # Part 2: means of the points that are clearly nearest to one center.
    distances = squared_distances(projected, nu)
    labels = distances.argmin(axis=1)
    clear = is_clear(distances, labels, margin)
    # If clusters are separated, at least half of each is clear; if it is not, the margin is not justified.
    sizes, clear_sizes = (np.bincount(some, minlength=k) for some in (labels, labels[clear]))
    clear |= (2 * clear_sizes < sizes)[labels]
    centers = means_of(points[clear], labels[clear], nu @ vectors.T)
    # Part 3: Lloyd's steps.
    for step in range(most_steps):
        after = squared_distances(points, centers).argmin(axis=1)
        if step and (after == labels).all():
            return NonprivateClustering(centers, labels, step)
        labels, centers = after, means_of(points, after, centers)
    return NonprivateClustering(centers, labels, most_steps)


def squared_distances(points: FloatArray, centers: FloatArray) -> FloatArray:
    """Return the squared distance of every point to every center."""
    squares: FloatArray = np.square(points).sum(axis=1)[:, None] - 2 * points @ centers.T + np.square(centers).sum(axis=1)
    return np.maximum(squares, 0.0)


def is_clear(distances: FloatArray, labels: IntArray, margin: float) -> BoolArray:
    """Return which points satisfy ``|p - nu_r| <= margin |p - nu_s|`` for their nearest center r and every other s."""
    rows = np.arange(len(labels))
    nearest = distances[rows, labels]
    if distances.shape[1] == 1:
        return np.ones(len(labels), dtype=bool)
    others = distances.copy()
    others[rows, labels] = np.inf
    clear: BoolArray = nearest <= margin**2 * others.min(axis=1)
    return clear


def top_singular_vectors(points: FloatArray, k: int) -> FloatArray:
    """Return the top k right singular vectors as columns."""
    n, d = points.shape
    k = min(k, d)
    if n < d:
        return np.ascontiguousarray(np.linalg.svd(points, full_matrices=False)[2][:k].T)
    _, vectors = linalg.eigh(points.T @ points, subset_by_index=[d - k, d - 1])
    columns: FloatArray = np.ascontiguousarray(vectors[:, ::-1])
    return columns


def approximate_kmeans(points: FloatArray, k: int, seed: int, restarts: int) -> FloatArray:
    """Return k centers within a constant factor of the best: k-means++ and Lloyd's steps, the best of ``restarts``."""
    if points.size > _SMALL or restarts > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Fewer distinct points than clusters: some centers coincide.
            found: FloatArray = KMeans(k, n_init=restarts, random_state=seed).fit(points).cluster_centers_
        return found
    centers, _ = kmeans_plusplus(points, k, random_state=seed)
    for _ in range(20):
        centers = means_of(points, squared_distances(points, centers).argmin(axis=1), centers)
    small: FloatArray = centers
    return small


def means_of(points: FloatArray, labels: IntArray, fallback: FloatArray) -> FloatArray:
    """Return the mean of the points of each label, and the fallback if there are none."""
    k = len(fallback)
    counts = np.bincount(labels, minlength=k)
    shares = np.zeros((k, len(points)))
    shares[labels, np.arange(len(points))] = 1.0
    means = (shares @ points) / np.maximum(counts, 1)[:, None]
    return np.where(counts[:, None] > 0, means, fallback)
