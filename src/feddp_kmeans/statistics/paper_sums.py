"""The statistics of the paper: of points, each clipped to the ball; and of clients, each clipped to a bound of its own."""

import math
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import arithmetic
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import RESOLUTION, row_norms
from feddp_kmeans.statistics.gate import BALL, BOUND, CLUSTERS
from feddp_kmeans.statistics.query import Statistic, constant

MEAN_STEPS = 1 << 8
"""Integer steps of a mean in one step of a point, so that rounding a mean costs nothing."""

COUNT_STEPS = 1 << 16
"""Integer steps of one count where a client's counts are scaled down to a bound."""

SLACK = 1 - 2.0**-24
"""Room for the rounding of a norm of up to MOST_VALUES numbers, whatever the order they are added in."""

ONE = constant(Sensitivity(l1=1.0, l2=1.0))
"""The sensitivity of a histogram: a unit is counted once."""

_RADIUS = constant(Sensitivity(l1=None, l2=float(RESOLUTION)))
_RADIUS_SQUARED = constant(Sensitivity(l1=None, l2=float(RESOLUTION) ** 2))


def _outer_product(batch: ClientBatch, *, center: FloatArray, radius: float) -> IntArray:
    product = arithmetic.gram(arithmetic.encoded_points(batch, center, radius))
    return product[np.triu_indices(len(product))]


OUTER_PRODUCT = Statistic("outer-product", _outer_product, PrivacyUnit.POINT, _RADIUS_SQUARED, BALL, lambda *, d, **_: d * (d + 1) // 2)
"""Upper triangle of ``sum z z^T``. One point changes it by at most ``R**2`` in L2 norm (``radius**2`` in the data's units).

Proof. The upper triangle of ``z z^T`` has squared norm ``(|z|**4 + sum z_i**4) / 2 <= |z|**4 <= R**4``, reached by z on an axis.
"""


def _cluster_counts(batch: ClientBatch, *, centers: FloatArray, **where: Any) -> IntArray:
    _, labels = arithmetic.encoded_and_labels(batch, centers=centers, **where)
    return np.bincount(labels, minlength=len(centers)).astype(np.int64)


CLUSTER_COUNTS = Statistic("cluster-counts", _cluster_counts, PrivacyUnit.POINT, ONE, CLUSTERS, lambda *, k, **_: k)
"""How many points are nearest to each center. One point changes it by 1 in L1 and in L2 norm: it has one nearest center."""


def _cluster_sums(batch: ClientBatch, **where: Any) -> IntArray:
    return arithmetic.nearest_sums(batch, **where).astype(np.int64).ravel()


CLUSTER_SUMS = Statistic("cluster-sums", _cluster_sums, PrivacyUnit.POINT, _RADIUS, CLUSTERS, lambda *, k, d, **_: k * d)
"""Sum of the points nearest to each center. One point changes one block, by ``|z| <= R`` (``radius``)."""


def _client_outer_product(batch: ClientBatch, *, center: FloatArray, radius: float, bound: float) -> IntArray:
    encoded = arithmetic.dense(arithmetic.encoded_points(batch, center, radius))
    norms = arithmetic.outer_product_norms(encoded, batch)
    factors = outer_product_factors(norms, batch.sizes * encoded.shape[1], bound / (radius / RESOLUTION) ** 2)
    product = arithmetic.gram(arithmetic.scaled_points(encoded, np.repeat(factors, batch.sizes)))
    return product[np.triu_indices(len(product))]


def outer_product_factors(norms: FloatArray, counts: IntArray, limit: float) -> FloatArray:
    """Return what the points of each client are scaled by, given the norms of outer products and how many numbers each client holds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.maximum(0.0, np.sqrt(limit) * SLACK - (np.sqrt(counts) / 2 + 1)) / np.sqrt(norms)
    return np.where(norms <= limit * SLACK, 1.0, np.minimum(shrink, 1.0))


CLIENT_OUTER_PRODUCT = Statistic(
    "client-outer-product",
    _client_outer_product,
    PrivacyUnit.CLIENT,
    lambda *, radius, bound, **_: Sensitivity(l1=None, l2=bound * (radius / RESOLUTION) ** -2),
    BALL | BOUND,
    lambda *, d, **_: d * (d + 1) // 2,
)
"""Outer products, each client's scaled to ``|Z^T Z|_F <= bound`` by scaling its points by a: the paper's clipping, since the outer product
is quadratic in the points. A client within the bound is left as it is.

Proof. Write ``|Z|_4 = sqrt(|Z^T Z|_F)``, the Schatten 4-norm. Rounding n points of d coordinates moves Z by at most ``sqrt(n d)/2`` in the
Frobenius norm, hence in this one, so ``a = (sqrt(bound) - sqrt(n d)/2 - 1) / |Z|_4`` gives ``|rint(a Z)|_4 <= sqrt(bound)``; a client
of so many points that a would be negative adds zero. The 1 is for the rounding of ``a Z``, SLACK for that of ``|Z|_4``.
"""


def _counts_by_client(batch: ClientBatch, *, centers: FloatArray, **where: Any) -> FloatArray:
    """Return the (clients, k) numbers of points nearest to each center."""
    _, labels = arithmetic.encoded_and_labels(batch, centers=centers, **where)
    cells = np.bincount(batch.owners * len(centers) + labels, minlength=batch.n_clients * len(centers))
    return cells.reshape(batch.n_clients, len(centers)).astype(np.float64)


def sum_bounded_l1(counts: FloatArray, bound: float) -> IntArray:
    """Return the sum of the rows, each scaled to L1 norm at most ``bound``, in steps of 1/COUNT_STEPS, rounded down.

    Totals of whole counts are exact. A row above the bound is scaled with 2**-40 to spare for the rounding of the products.
    """
    totals = counts.sum(axis=1)
    factor = COUNT_STEPS * np.where(totals <= bound, 1.0, bound * (1 - 2.0**-40) / np.maximum(totals, 1.0))
    total: IntArray = np.floor(counts * factor[:, None]).astype(np.int64).sum(axis=0)
    return total


def _client_cluster_counts(batch: ClientBatch, *, bound: float, **where: Any) -> IntArray:
    return sum_bounded_l1(_counts_by_client(batch, **where), bound)


CLIENT_CLUSTER_COUNTS = Statistic(
    "client-cluster-counts",
    _client_cluster_counts,
    PrivacyUnit.CLIENT,
    lambda *, bound, **_: Sensitivity(l1=bound * COUNT_STEPS, l2=bound * COUNT_STEPS),
    CLUSTERS | BOUND,
    lambda *, k, **_: k,
)
"""Counts per center, each client's scaled to L1 norm at most ``bound``, in steps of 1/COUNT_STEPS."""


def _client_presence(batch: ClientBatch, *, bound: float, **where: Any) -> IntArray:
    return sum_bounded_l1((_counts_by_client(batch, **where) > 0).astype(np.float64), bound)


CLIENT_PRESENCE = Statistic(
    "client-presence",
    _client_presence,
    PrivacyUnit.CLIENT,
    lambda *, bound, **_: Sensitivity(l1=bound * COUNT_STEPS, l2=min(bound, math.sqrt(bound)) * COUNT_STEPS),
    CLUSTERS | BOUND,
    lambda *, k, **_: k,
)
"""In how many clients each cluster is not empty (c_r of the paper), each client's vector scaled to L1 norm at most ``bound``.

Its L2 norm is at most ``sqrt(bound)`` too: m ones have ``sqrt(m)`` while m is within the bound, and ``bound / sqrt(m)`` beyond.
"""


def _sums_by_client(batch: ClientBatch, *, centers: FloatArray, **where: Any) -> FloatArray:
    """Return the (clients, k, d) sums of the integer points nearest to each center."""
    encoded, labels = arithmetic.encoded_and_labels(batch, centers=centers, **where)
    pairs = arithmetic.pairs_of(batch, labels, len(centers))
    sums = np.zeros((batch.n_clients, len(centers), encoded.shape[1]))
    sums[pairs.units, pairs.clusters] = pairs.sums(encoded)
    return sums


def _sum_bounded_l2(values: FloatArray, bound: float, radius: float) -> IntArray:
    """Return the sum of the clients' (k, d) arrays, each scaled to L2 norm at most ``bound`` and truncated to steps of grid/MEAN_STEPS.

    Truncation only shortens an array; the factor leaves 2**-24 of slack for the norm's rounding, which is within 2**-26 for MOST_VALUES.
    """
    rows = values.reshape(len(values), math.prod(values.shape[1:]))
    total: IntArray = np.trunc(rows * mean_factors(row_norms(rows), bound, radius)[:, None]).astype(np.int64).sum(axis=0)
    return total


def mean_factors(norms: FloatArray, bound: float, radius: float) -> FloatArray:
    """Return what arrays of these norms are scaled by."""
    with np.errstate(divide="ignore"):
        factors: FloatArray = MEAN_STEPS * np.minimum(1.0, bound / (radius / RESOLUTION) * SLACK / norms)
    return factors


def _bounded_sums(*, radius: float, bound: float, **_: Any) -> Sensitivity:
    return Sensitivity(l1=None, l2=bound * (MEAN_STEPS / (radius / RESOLUTION)))


def _client_cluster_sums(batch: ClientBatch, *, radius: float, bound: float, **where: Any) -> IntArray:
    return _sum_bounded_l2(_sums_by_client(batch, radius=radius, **where), bound, radius)


CLIENT_CLUSTER_SUMS = Statistic(
    "client-cluster-sums", _client_cluster_sums, PrivacyUnit.CLIENT, _bounded_sums, CLUSTERS | BOUND, lambda *, k, d, **_: k * d
)
"""Sums per cluster, each client's k x d array scaled to L2 norm at most ``bound``, in steps of grid/MEAN_STEPS."""


def _client_cluster_means(batch: ClientBatch, *, radius: float, bound: float, **where: Any) -> IntArray:
    counts = _counts_by_client(batch, radius=radius, **where)
    means = _sums_by_client(batch, radius=radius, **where) / np.maximum(counts, 1)[:, :, None]
    return _sum_bounded_l2(means, bound, radius)


CLIENT_CLUSTER_MEANS = Statistic(
    "client-cluster-means", _client_cluster_means, PrivacyUnit.CLIENT, _bounded_sums, CLUSTERS | BOUND, lambda *, k, d, **_: k * d
)
"""Means per cluster (u_r of the paper), each client's k x d array scaled to L2 norm at most ``bound``, in steps of grid/MEAN_STEPS."""
