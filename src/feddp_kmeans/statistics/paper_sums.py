"""The statistics of the paper: of points, each clipped to the ball; and of clients, each clipped to a bound of its own."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arguments import BALL, BOUND, CLUSTERS
from feddp_kmeans.statistics.arithmetic import (
    Encoded,
    dense,
    encoded_and_labels,
    encoded_points,
    gram,
    joint_sums,
    nearest_sums,
    outer_product_norms,
)
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.clipping import row_norms
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.query import Statistic, constant

MEAN_STEPS = 1 << 8
"""Integer steps of a mean in one step of a point, so that rounding a mean costs nothing."""

COUNT_STEPS = 1 << 16
"""Integer steps of one count where a client's counts are scaled down to a bound."""

SLACK = 1 - 2.0**-24
"""Room for the rounding of a norm of up to MOST_VALUES numbers, whatever the order they are added in."""


def _outer_product(batch: ClientBatch, *, center: FloatArray, radius: float) -> IntArray:
    return _upper_triangle(gram(encoded_points(batch, center, radius)))


def _cluster_counts(batch: ClientBatch, **where: Any) -> IntArray:
    found = _assigned(batch, **where)
    return np.bincount(found.labels, minlength=found.k).astype(np.int64)


def _cluster_sums(batch: ClientBatch, **where: Any) -> IntArray:
    return nearest_sums(batch, **where).astype(np.int64).ravel()


def _client_outer_product(batch: ClientBatch, *, center: FloatArray, radius: float, bound: float) -> IntArray:
    ball = Ball(center, float(radius))
    encoded = dense(encoded_points(batch, center, radius))
    scaled = encoded * _outer_product_shrink(encoded, batch, bound / ball.grid**2)
    return _upper_triangle(gram(np.rint(scaled, out=scaled)))


def _client_cluster_counts(batch: ClientBatch, *, bound: float, **where: Any) -> IntArray:
    return _sum_bounded_l1(_counts_by_client(batch, _assigned(batch, **where)), bound)


def _client_presence(batch: ClientBatch, *, bound: float, **where: Any) -> IntArray:
    counts = _counts_by_client(batch, _assigned(batch, **where))
    return _sum_bounded_l1((counts > 0).astype(np.float64), bound)


def _client_cluster_sums(batch: ClientBatch, *, bound: float, **where: Any) -> IntArray:
    found = _assigned(batch, **where)
    return _sum_bounded_l2(_sums_by_client(batch, found), bound / found.ball.grid)


def _client_cluster_means(batch: ClientBatch, *, bound: float, **where: Any) -> IntArray:
    found = _assigned(batch, **where)
    counts = _counts_by_client(batch, found)
    means = _sums_by_client(batch, found) / np.maximum(counts, 1)[:, :, None]
    return _sum_bounded_l2(means, bound / found.ball.grid)


ONE = constant(Sensitivity(l1=1.0, l2=1.0))
"""The sensitivity of a histogram: a unit is counted once."""


def _bounded_outer_product(*, radius: float, bound: float, **_: Any) -> Sensitivity:
    return Sensitivity(l1=None, l2=bound * (float(radius) / RESOLUTION) ** -2)


def _bounded_counts(*, bound: float, **_: Any) -> Sensitivity:
    return Sensitivity(l1=bound * COUNT_STEPS, l2=bound * COUNT_STEPS)


def _bounded_presence(*, bound: float, **_: Any) -> Sensitivity:
    return Sensitivity(l1=bound * COUNT_STEPS, l2=min(bound, math.sqrt(bound)) * COUNT_STEPS)


def _bounded_sums(*, radius: float, bound: float, **_: Any) -> Sensitivity:
    return Sensitivity(l1=None, l2=bound * (MEAN_STEPS / (float(radius) / RESOLUTION)))


def _pairs(*, d: int, **_: Any) -> int:
    return d * (d + 1) // 2


def _centers(*, k: int, **_: Any) -> int:
    return k


def _coordinates(*, k: int, d: int, **_: Any) -> int:
    return k * d


OUTER_PRODUCT = Statistic(
    "outer-product", _outer_product, PrivacyUnit.POINT, constant(Sensitivity(l1=None, l2=float(RESOLUTION) ** 2)), BALL, _pairs
)
"""Upper triangle of ``sum z z^T``. One point changes it by at most ``R**2`` in L2 norm (``radius**2`` in the data's units).

Proof. The upper triangle of ``z z^T`` has squared norm ``(|z|**4 + sum z_i**4) / 2 <= |z|**4 <= R**4``, reached by z on an axis.
"""

CLUSTER_COUNTS = Statistic("cluster-counts", _cluster_counts, PrivacyUnit.POINT, ONE, CLUSTERS, _centers)
"""How many points are nearest to each center. One point changes it by 1 in L1 and in L2 norm: it has one nearest center."""

CLUSTER_SUMS = Statistic(
    "cluster-sums", _cluster_sums, PrivacyUnit.POINT, constant(Sensitivity(l1=None, l2=float(RESOLUTION))), CLUSTERS, _coordinates
)
"""Sum of the points nearest to each center. One point changes one block, by ``|z| <= R`` (``radius``)."""

CLIENT_OUTER_PRODUCT = Statistic(
    "client-outer-product", _client_outer_product, PrivacyUnit.CLIENT, _bounded_outer_product, BALL | BOUND, _pairs
)
"""Outer products, each client's scaled to Frobenius norm at most ``bound``; see ``_outer_product_shrink`` for the proof."""

CLIENT_CLUSTER_COUNTS = Statistic(
    "client-cluster-counts", _client_cluster_counts, PrivacyUnit.CLIENT, _bounded_counts, CLUSTERS | BOUND, _centers
)
"""Counts per center, each client's scaled to L1 norm at most ``bound``, in steps of 1/COUNT_STEPS."""

CLIENT_PRESENCE = Statistic("client-presence", _client_presence, PrivacyUnit.CLIENT, _bounded_presence, CLUSTERS | BOUND, _centers)
"""In how many clients each cluster is not empty (c_r of the paper), each client's vector scaled to L1 norm at most ``bound``.

Its L2 norm is at most ``sqrt(bound)`` too: m ones have ``sqrt(m)`` while m is within the bound, and ``bound / sqrt(m)`` beyond.
"""

CLIENT_CLUSTER_SUMS = Statistic(
    "client-cluster-sums", _client_cluster_sums, PrivacyUnit.CLIENT, _bounded_sums, CLUSTERS | BOUND, _coordinates
)
"""Sums per cluster, each client's k x d array scaled to L2 norm at most ``bound``, in steps of grid/MEAN_STEPS."""

CLIENT_CLUSTER_MEANS = Statistic(
    "client-cluster-means", _client_cluster_means, PrivacyUnit.CLIENT, _bounded_sums, CLUSTERS | BOUND, _coordinates
)
"""Means per cluster (u_r of the paper), each client's k x d array scaled to L2 norm at most ``bound``, in steps of grid/MEAN_STEPS."""


def _upper_triangle(matrix: IntArray) -> IntArray:
    return matrix[np.triu_indices(len(matrix))]


@dataclass(frozen=True)
class _Assigned:
    """Encoded points and the cluster of each."""

    ball: Ball
    encoded: Encoded
    labels: IntArray
    k: int


def _assigned(batch: ClientBatch, *, center: FloatArray, radius: float, centers: FloatArray, **projection: Any) -> _Assigned:
    encoded, labels = encoded_and_labels(batch, center=center, radius=radius, centers=centers, **projection)
    return _Assigned(Ball(center, float(radius)), encoded, labels, len(centers))


def _counts_by_client(batch: ClientBatch, found: _Assigned) -> FloatArray:
    cells = np.bincount(batch.owners * found.k + found.labels, minlength=batch.n_clients * found.k)
    return cells.reshape(batch.n_clients, found.k).astype(np.float64)


def _sums_by_client(batch: ClientBatch, found: _Assigned) -> FloatArray:
    """Return the (clients, k, d) sums of integer points."""
    sums = np.zeros((batch.n_clients, found.k, found.encoded.shape[1]))
    units, clusters, values = joint_sums(batch, dense(found.encoded), found.labels, found.k, 1.0)
    sums[units, clusters] = values[:, :-1]
    return sums


def _sum_bounded_l1(counts: FloatArray, bound: float) -> IntArray:
    """Return the sum of the rows, each scaled to L1 norm at most ``bound``, in steps of 1/COUNT_STEPS, rounded down.

    Totals of whole counts are exact. A row above the bound is scaled with 2**-40 to spare for the rounding of the products.
    """
    totals = counts.sum(axis=1)
    factor = COUNT_STEPS * np.where(totals <= bound, 1.0, bound * (1 - 2.0**-40) / np.maximum(totals, 1.0))
    total: IntArray = np.floor(counts * factor[:, None]).astype(np.int64).sum(axis=0)
    return total


def _sum_bounded_l2(values: FloatArray, bound: float) -> IntArray:
    """Return the sum of the clients' (k, d) arrays, each scaled to L2 norm at most ``bound`` and truncated to steps of 1/MEAN_STEPS.

    Truncation only shortens an array; the factor leaves 2**-24 of slack for the norm's rounding, which is within 2**-26 for MOST_VALUES.
    """
    values = values.reshape(len(values), math.prod(values.shape[1:]))
    norms = row_norms(values)
    with np.errstate(divide="ignore"):
        factor = MEAN_STEPS * np.minimum(1.0, bound * SLACK / norms)
    total: IntArray = np.trunc(values * factor[:, None]).astype(np.int64).sum(axis=0)
    return total


def _outer_product_shrink(encoded: FloatArray, batch: ClientBatch, bound: float) -> FloatArray:
    """Return, a column over the rows, by what each point must be scaled so that ``|Z_j^T Z_j|_F <= bound`` for every client j.

    The outer product is quadratic in the points: scaling the points of client j by a scales it by a**2, the paper's clipping. Write
    ``|Z|_4 = sqrt(|Z^T Z|_F)``, the Schatten 4-norm. Rounding n points of d coordinates moves Z by at most ``sqrt(n d)/2`` in the
    Frobenius norm, hence in this one, so ``a = (sqrt(bound) - sqrt(n d)/2 - 1) / |Z|_4`` gives ``|rint(a Z)|_4 <= sqrt(bound)``; a client
    of so many points that nothing is left of this adds zero. The 1 is for the rounding of ``a Z``, SLACK for that of ``|Z|_4``.
    A client whose outer product is within the bound is left as it is.
    """
    norms = outer_product_norms(encoded, batch)
    slack = np.sqrt(batch.sizes * encoded.shape[1]) / 2 + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.maximum(0.0, np.sqrt(bound) * SLACK - slack) / np.sqrt(norms)
    factors = np.where(norms <= bound * SLACK, 1.0, np.minimum(shrink, 1.0))
    return np.repeat(factors, batch.sizes)[:, None]
