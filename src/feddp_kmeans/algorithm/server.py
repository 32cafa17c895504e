"""Post-processing on the server: free of privacy cost, so it is done well. Sees noisy sums and public data, nothing else."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import FloatArray, IntArray, Points
from feddp_kmeans.algorithm.breathing import breathe
from feddp_kmeans.algorithm.error_bars import blocks
from feddp_kmeans.algorithm.looks import Moment
from feddp_kmeans.algorithm.many_centers import many_centers
from feddp_kmeans.algorithm.merging import merged_centers
from feddp_kmeans.algorithm.seeding import seeding_of
from feddp_kmeans.algorithm.tuning import REFINED
from feddp_kmeans.statistics.arithmetic import assign
from feddp_kmeans.statistics.residual_sums import TRACE_WEIGHT

RESTARTS = 30
"""Starts of the weighted k-means for up to 10 clusters; a single one ends in a bad local optimum in about one run of four."""

_FEW = 600
"""Most points whose pairs are merged, which costs the square of their number; a start from merging then replaces many random ones."""

_FEW_CLUSTERS, _FEW_RESTARTS = 10, 5
"""With more points and more clusters a start that meets each of them is rare: a few starts, and centers are moved from the best of them."""

_MANY_CLUSTERS = 128
"""Beyond, centers are moved by steps that look only at what changes (see ``many_centers.py``): 1,000 are found 12 times as fast. 100 that
overlap have centers that all move, step after step: there it is no faster at the same cost."""

LEAST_WEIGHT = 1e-6
"""Least weight of a point relative to the heaviest, so that a mean of light points is still a mean."""

SMALLEST = 1e-300
"""Stands for zero in a divisor."""

_LEAST_TRACE = 1e-9  # least trace of a second moment, as a part of the bound on one unit's
_LEAST_SIGNAL = 1e-3  # least signal of a second moment, as a part of what noise alone shows
_LEAST_TOTAL = 1e-9  # least weight of all cells together, and of one cell if all are too small to be believed
_LIGHTEST = 1e-9  # least weight of a server point relative to the heaviest, for means outside a subspace ...
_LEAST_SAMPLE = 0.5  # ... and least size of a sample, less one
_COST_ROWS = 20_000  # rows of a block of points whose cost is computed at once


def symmetric_from_upper(values: FloatArray, dimension: int) -> FloatArray:
    """Return the symmetric matrix with this upper triangle."""
    matrix = np.zeros((dimension, dimension))
    matrix[np.triu_indices(dimension)] = values
    return matrix + np.triu(matrix, 1).T


def top_subspace(matrix: FloatArray, rank: int) -> FloatArray:
    """Return orthonormal columns that span the top ``rank`` eigenvectors, largest eigenvalue first."""
    dimension = len(matrix)
    rank = min(rank, dimension)
    _, vectors = linalg.eigh(matrix, subset_by_index=[dimension - rank, dimension - 1])
    return np.ascontiguousarray(vectors[:, ::-1])


@dataclass(frozen=True)
class Directions:
    """What a noisy second moment shows."""

    basis: FloatArray
    """Its eigenvectors as columns, largest first."""
    above_noise: int
    """How many stand above the noise, and above those of least variance; all of few, if noise is low: see ``proxies.Shape.rank``."""
    n_points: float
    edge: float
    """Largest eigenvalue that noise only would give ..."""
    signal: float
    """... and a rough one of the directions that hold the clusters."""


def steadied_directions(moment: Moment, server: FloatArray, k: int) -> Directions:
    """Return the directions of a noisy second moment.

    The trace shows how many points there are. The server's own covariance is added with a weight that grows with the noise, that of its
    clusters' centers once more: if noise dominates, the directions are the server's.
    """
    d = server.shape[1]
    covariance = server.T @ server / len(server)
    trace = max(moment.trace, moment.noise * np.sqrt(d) / TRACE_WEIGHT, _LEAST_TRACE * moment.bound)
    points = trace / max(np.trace(covariance), SMALLEST)
    edge = moment.noise * np.sqrt(2 * d) / points
    top = linalg.eigvalsh(moment.matrix / points)[::-1][: max(min(k, d) - 1, 1)]
    over = max(float(top.mean() + top.sum() / max(d - len(top), 1)), _LEAST_SIGNAL * edge, SMALLEST)
    prior = REFINED.prior_weight * (edge / max(linalg.norm(covariance, 2), SMALLEST)) ** 2
    expected = covariance + REFINED.between_weight * _between(server, k)
    steadied = moment.matrix / points + prior * (expected - np.eye(d) * np.trace(expected) / d)
    eigenvalues, vectors = linalg.eigh(steadied)
    is_clear = d <= REFINED.few_directions * k and edge < REFINED.clear_edge * np.trace(covariance) / d
    above = d if is_clear else int(np.sum(eigenvalues > np.quantile(eigenvalues, REFINED.bulk) + edge * (1 + prior)))
    signal = max(over - edge**2 / over, _LEAST_SIGNAL * edge, SMALLEST)
    return Directions(np.ascontiguousarray(vectors[:, ::-1]), above, float(points), edge, signal)


def _between(points: FloatArray, k: int) -> FloatArray:
    """Return the second moment of the centers of the points' own clusters, each with its weight."""
    centers = weighted_kmeans(points, np.ones(len(points)), min(k, len(points)), seed=0, restarts=REFINED.prior_restarts)
    sizes = np.bincount(cdist(points, centers, "sqeuclidean").argmin(axis=1), minlength=len(centers))
    moment: FloatArray = (centers * sizes[:, None]).T @ centers / len(points)
    return moment


def server_cells(points: FloatArray, n: int, seed: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the centers of n cells of server points, or of fewer if there are not so many, each point's cell, and the cells' sizes."""
    from sklearn.cluster import KMeans

    distinct = np.unique(points, axis=0)
    if len(distinct) > n:
        distinct = KMeans(n, n_init=1, max_iter=REFINED.cell_iterations, random_state=seed).fit(points).cluster_centers_
    centers = np.rint(distinct)
    members = assign(points, centers)
    return centers, members, np.bincount(members, minlength=len(centers))


def credible_weights(weights: FloatArray, noise_stddev: float, k: int) -> FloatArray:
    """Return the weights with those that may be noise only set to zero; at least the k largest stay.

    Noise of standard deviation s on N weights of zero exceeds ``s sqrt(2 log N)`` about once; a weight above that is hardly noise.
    """
    threshold = noise_stddev * np.sqrt(2 * np.log(max(2, len(weights))))
    kth = np.sort(weights)[-k]
    credible: FloatArray = np.where(weights >= min(threshold, kth), np.maximum(weights, 0.0), 0.0)
    if np.count_nonzero(credible) < k:
        credible = np.where(weights >= kth, np.maximum(weights, np.finfo(float).tiny), 0.0)
    return credible


def weighted_kmeans(points: FloatArray, weights: FloatArray, k: int, seed: int, restarts: int | None = None) -> FloatArray:
    """Return k centers of the weighted points, the best of many restarts or moved from a few; a point of weight zero has no say."""
    from sklearn.cluster import KMeans

    heavy = weights > 0
    points, weights = points[heavy], weights[heavy]
    distinct = np.unique(points, axis=0)
    if len(distinct) <= k:
        padding = np.resize(distinct, (k - len(distinct), points.shape[1]))
        return np.vstack([distinct, padding])
    relative = np.maximum(weights / weights.max(), LEAST_WEIGHT)
    few = len(points) <= _FEW
    if k > _MANY_CLUSTERS and not few:
        return many_centers(points, relative, k, seed)
    moves = restarts is None and k > _FEW_CLUSTERS and not few
    starts: list[dict[str, Any]] = [
        {"init": seeding_of(relative), "n_init": restarts or (_FEW_RESTARTS if moves else RESTARTS), "random_state": seed}
    ]
    starts += [{"n_init": 1, "init": merged_centers(points, relative, k)}] if few else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [KMeans(k, **start).fit(points, sample_weight=relative) for start in starts]
    found: FloatArray = min(models, key=lambda model: float(model.inertia_)).cluster_centers_
    return breathe(points, relative, found, seed) if moves else found


def variance_of(median_square: float, dimension: int) -> float:
    """Return the variance along one direction of normal points whose median squared length is this (Wilson and Hilferty)."""
    return median_square / (dimension * (1 - 2 / (9 * dimension)) ** 3)


def variance_around(cells: FloatArray, points: FloatArray, weights: FloatArray) -> float:
    """Return the variance along one direction of a new point around its cell: the median over points, each as if not in its cell."""
    squares = cdist(points, cells, "sqeuclidean")
    rows, members = np.arange(len(points)), squares.argmin(axis=1)
    sizes = np.bincount(members, minlength=len(cells))[members]
    own = np.where(sizes > 1, squares[rows, members] * np.square(sizes / np.maximum(sizes - 1, 1)), np.inf)
    squares[rows, members] = np.inf
    nearest = np.minimum(own, squares.min(axis=1))
    order = np.argsort(nearest)
    cumulated = np.cumsum(weights[order])
    median = float(nearest[order][np.searchsorted(cumulated, cumulated[-1] / 2)])
    return variance_of(median if np.isfinite(median) else 0.0, points.shape[1])


def kmeans_cost(points: Points, centers: FloatArray) -> float:
    """Return the mean squared distance of the points to their nearest centers; as private as the points it is given.

    Rows are taken in blocks, and a sparse matrix stays sparse. The cost of no points is zero.
    """
    norms = np.square(centers).sum(axis=1)
    total, n_points = 0.0, int(points.shape[0])
    for start in range(0, n_points, _COST_ROWS):
        rows = points[start : start + _COST_ROWS].astype(np.float64)
        own = np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1) if sparse.issparse(rows) else np.square(rows).sum(axis=1)
        distances = own[:, None] - 2 * (rows @ centers.T) + norms
        total += float(distances.min(axis=1).sum())
    return total / max(1, n_points)


def centers_from_sums(sums: FloatArray, counts: FloatArray, fallback: FloatArray, smallest_count: float) -> FloatArray:
    """Return ``sums / counts``, and the fallback center wherever the noisy count is too small to divide by."""
    usable = counts >= smallest_count
    safe = np.where(usable, counts, 1.0)[:, None]
    return np.where(usable[:, None], sums / safe, fallback)


def shrunk_weights(counts: FloatArray, sizes: IntArray, noise_stddev: float) -> FloatArray:
    """Return noisy counts of cells drawn towards the server's own proportions, as far as noise explains the difference.

    James and Stein: with b the proportions, ``b + (1 - noise energy / energy of (counts - b)) (counts - b)``, never below zero. What is
    then smaller than its noise has no credible weight and is dropped; at least one cell stays.
    """
    n = len(counts)
    total = max(float(counts.sum()), n**0.5 * noise_stddev, _LEAST_TOTAL)
    base = sizes * (total / sizes.sum())
    difference = counts - base
    energy = max(float(difference @ difference), SMALLEST)
    keep = max(0.0, 1 - n * noise_stddev**2 * (1 + 2 * np.sqrt(2 / n)) / energy)
    weights = np.maximum(0.0, base + keep * difference)
    weights[weights < keep * noise_stddev] = 0.0
    credible: FloatArray = weights if (weights > 0).any() else np.maximum(base, _LEAST_TOTAL)
    return credible


def filtered(
    means: FloatArray, variances: FloatArray, first: int, caps: FloatArray, known: FloatArray | None = None, *, doubt: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return noisy mean residuals drawn towards zero, as far as noise explains them, and the variance of error that is left.

    Row r has noise of variance ``variances[r]`` in each coordinate. Coordinates are taken in blocks of ``first``, then ever larger
    ones: in a basis sorted by variance the first ones hold the signal. A block's signal is estimated over all rows together, but for rows
    that stand out by twice the error of their own estimate: those are clusters that have moved. No signal is believed beyond ``caps``,
    and none below ``known``, the variance of the error that the origins are known to have: this makes repeated releases around
    centers that hardly move an average of all of them (a Kalman filter). What all rows show together is believed beyond it from ``doubt``
    standard deviations on.
    """
    shrunk, left = means.copy(), np.zeros_like(means)
    known = np.zeros_like(means) if known is None else known
    precision = np.square(variances.min() / np.maximum(variances, SMALLEST))
    for block in blocks(means.shape[1], first):
        low, high = block.start, block.stop
        own = np.square(means[:, low:high]).mean(axis=1) - variances
        pooled = float(own @ precision / max(precision.sum(), SMALLEST))
        error = np.sqrt(2 / (high - low)) * float(linalg.norm(precision * variances) / max(precision.sum(), SMALLEST))
        floor = known[:, low:high].mean(axis=1)
        stands_out = own > floor + np.where(floor > 0, 3, 2) * (variances + floor) * np.sqrt(2 / (high - low))
        expected = np.where((floor > 0) & (pooled < floor + doubt * error), floor, pooled)
        signal = np.maximum(np.clip(np.where(stands_out, own, expected), 0.0, caps[low:high].mean()), floor)
        factor = np.where(variances > 0, signal / np.maximum(signal + variances, SMALLEST), 1.0)
        shrunk[:, low:high] *= factor[:, None]
        left[:, low:high] = (factor * variances)[:, None]
    return shrunk, left


def offsets_outside(points: FloatArray, weights: FloatArray, members: IntArray, k: int, projection: FloatArray) -> FloatArray:
    """Return the clusters' weighted means outside the subspace, drawn towards zero as far as their sampling error explains them."""
    outside = points - (points @ projection) @ projection.T
    weights = weights + _LIGHTEST * weights.max()
    shares = np.eye(k)[members] * weights[:, None]
    totals = np.maximum(shares.sum(axis=0), SMALLEST)
    means = shares.T @ outside / totals[:, None]
    spread = float(np.square(outside - means[members]).sum(axis=1) @ weights / weights.sum())
    effective = np.square(totals) / np.maximum(np.square(shares).sum(axis=0), SMALLEST)
    errors = max(spread, SMALLEST) / np.maximum(effective - 1, _LEAST_SAMPLE)
    precision = np.square(errors.min() / errors)
    signal = max(0.0, float((np.square(means).sum(axis=1) - errors) @ precision / precision.sum()))
    offsets: FloatArray = means * (signal / (signal + errors))[:, None]
    return offsets
