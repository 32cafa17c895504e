"""All that a client ever computes, and how much one privacy unit can change it.

Every statistic is a sum of bounded contributions, in integers. Statistics of *points* bound each point: a point is clipped to the
public ball and encoded as an integer vector z with ``|z| <= R`` (``privacy.fixed_point``). Statistics of *clients* bound the whole of
what a client adds. Assignments to centers are decided on those integers too, exactly, so no point's cluster can depend on another
point. Ties go to the first center. Rows and clients that are empty add zero.

Public arguments: ``center`` and ``radius`` of the ball, ``centers`` in integer coordinates (of the subspace where a ``projection`` is
given), ``bound`` on a client's contribution in the data's own units.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, IntArray
from feddp_kmeans.federation.base import ClientBatch, Statistic
from feddp_kmeans.privacy.clipping import row_norms
from feddp_kmeans.privacy.fixed_point import EXACT_ROWS, Ball

MEAN_STEPS = 1 << 8
"""Integer steps of a mean in one step of a point, so that rounding a mean costs nothing."""

COUNT_STEPS = 1 << 16
"""Integer steps of one count where a client's counts are scaled down to a bound."""

BOUNDED_STEPS = 1 << 30
"""Integer steps of a contribution that is as long as its bound."""

MOMENT_STEPS = 1 << 32
"""The same for second moments, whose points are rounded to 16 bits."""

TRACE_WEIGHT = 0.25
"""Weight of the trace beside the traceless part: enough to tell the number of points, light enough to cost little."""

SIZE_CLASSES = 20
"""Powers of two that client sizes are told apart by."""

_PROJECTION_STEPS = 2.0**20
_ASSIGN_VALUES = 1 << 20
"""Scores held at once while assigning points to centers: 8 MiB."""


def project(encoded: FloatArray, projection: FloatArray | None) -> FloatArray:
    """Return integer coordinates in the subspace, rounded; the points themselves without a projection.

    Exact: ``|z| <= 2**16`` and columns of norm 2**20 give products below 2**37.
    """
    if projection is None:
        return encoded
    projected: FloatArray = np.rint((encoded @ np.rint(projection * _PROJECTION_STEPS)) / _PROJECTION_STEPS)
    return projected


def assign(encoded: FloatArray, centers: FloatArray, projection: FloatArray | None = None) -> IntArray:
    """Return for each point the index of its nearest center: ``argmin_r |z - c_r|**2``, in exact arithmetic."""
    targets = np.rint(centers)
    points = project(encoded, projection)
    offsets = np.square(targets).sum(axis=1)
    labels = np.empty(len(points), dtype=np.int64)
    step = max(1, _ASSIGN_VALUES // len(targets))
    for start in range(0, len(points), step):
        scores = points[start : start + step] @ (2 * targets.T)
        scores -= offsets
        labels[start : start + step] = scores.argmax(axis=1)
    return labels


def _outer_product(batch: ClientBatch, *, center: FloatArray, radius: float) -> IntArray:
    return _upper_triangle(_gram(Ball(center, float(radius)).encode(batch.points)))


def _cluster_counts(
    batch: ClientBatch, *, center: FloatArray, radius: float, centers: FloatArray, projection: FloatArray | None = None
) -> IntArray:
    encoded = Ball(center, float(radius)).encode(batch.points)
    return np.bincount(assign(encoded, centers, projection), minlength=len(centers)).astype(np.int64)


def _cluster_sums(
    batch: ClientBatch, *, center: FloatArray, radius: float, centers: FloatArray, projection: FloatArray | None = None
) -> IntArray:
    encoded = Ball(center, float(radius)).encode(batch.points)
    sums = _sums_by(encoded, assign(encoded, centers, projection), len(centers))
    return sums.astype(np.int64).ravel()


def _client_outer_product(batch: ClientBatch, *, center: FloatArray, radius: float, bound: float) -> IntArray:
    ball = Ball(center, float(radius))
    encoded = ball.encode(batch.points)
    shrink = _outer_product_shrink(encoded, batch, float(bound) / ball.grid**2)
    scaled = np.where(shrink < 1, np.rint(encoded * np.minimum(shrink, 1)), encoded)
    return _upper_triangle(_gram(scaled))


def _client_cluster_counts(
    batch: ClientBatch,
    *,
    center: FloatArray,
    radius: float,
    centers: FloatArray,
    bound: float,
    projection: FloatArray | None = None,
) -> IntArray:
    encoded = Ball(center, float(radius)).encode(batch.points)
    counts = _counts_by_client(batch, assign(encoded, centers, projection), len(centers))
    return _sum_bounded_l1(counts, float(bound))


def _client_presence(
    batch: ClientBatch,
    *,
    center: FloatArray,
    radius: float,
    centers: FloatArray,
    bound: float,
    projection: FloatArray | None = None,
) -> IntArray:
    encoded = Ball(center, float(radius)).encode(batch.points)
    counts = _counts_by_client(batch, assign(encoded, centers, projection), len(centers))
    return _sum_bounded_l1((counts > 0).astype(np.float64), float(bound))


def _client_cluster_sums(
    batch: ClientBatch,
    *,
    center: FloatArray,
    radius: float,
    centers: FloatArray,
    bound: float,
    projection: FloatArray | None = None,
) -> IntArray:
    ball = Ball(center, float(radius))
    encoded = ball.encode(batch.points)
    sums = _sums_by_client(batch, encoded, assign(encoded, centers, projection), len(centers))
    return _sum_bounded_l2(sums, float(bound) / ball.grid)


def _client_cluster_means(
    batch: ClientBatch,
    *,
    center: FloatArray,
    radius: float,
    centers: FloatArray,
    bound: float,
    projection: FloatArray | None = None,
) -> IntArray:
    ball = Ball(center, float(radius))
    encoded = ball.encode(batch.points)
    labels = assign(encoded, centers, projection)
    counts = _counts_by_client(batch, labels, len(centers))
    means = _sums_by_client(batch, encoded, labels, len(centers)) / np.maximum(counts, 1)[:, :, None]
    return _sum_bounded_l2(means, float(bound) / ball.grid)


def _each_point(compute: Callable[..., IntArray]) -> Callable[..., IntArray]:
    """Return the statistic in which every point is a client of its own: the point-level form of a statistic of clients."""

    def compute_each(batch: ClientBatch, **public: Any) -> IntArray:
        return compute(ClientBatch(batch.points, np.arange(len(batch.points) + 1)), **public)

    return compute_each


def _sizes(batch: ClientBatch) -> IntArray:
    held = batch.sizes[batch.sizes > 0]
    classes = np.minimum(np.log2(np.maximum(held, 1)).astype(np.int64), SIZE_CLASSES - 1)
    return np.bincount(classes, minlength=SIZE_CLASSES).astype(np.int64)


def _bounded_second_moment(batch: ClientBatch, *, center: FloatArray, radius: float, bound: float) -> IntArray:
    encoded = Ball(center, float(radius)).encode(batch.points)
    scaled = np.rint(encoded * np.repeat(_moment_scales(encoded, batch, float(bound)), batch.sizes)[:, None])
    dimension = encoded.shape[1]
    off_diagonal = 2 * _gram(scaled)[np.triu_indices(dimension, 1)]
    diagonals = _sums_of_runs(np.square(scaled), batch)
    traces = diagonals.sum(axis=1, keepdims=True)
    traceless = np.trunc(np.sqrt(2) * (diagonals - traces / dimension)).sum(axis=0)
    trace = np.trunc(np.sqrt(2 / dimension) * TRACE_WEIGHT * traces).sum(axis=0)
    return np.concatenate([off_diagonal, traceless, trace]).astype(np.int64)


def _bounded_residuals(
    batch: ClientBatch,
    *,
    center: FloatArray,
    radius: float,
    centers: FloatArray,
    origins: FloatArray,
    bound: float,
    count_weight: float,
    projection: FloatArray | None = None,
    residual_projection: FloatArray | None = None,
) -> IntArray:
    encoded = Ball(center, float(radius)).encode(batch.points)
    labels = assign(encoded, centers, projection)
    residuals = project(encoded, residual_projection) - np.rint(origins)[labels]
    units, clusters, values = joint_sums(batch, residuals, labels, len(centers), float(count_weight))
    norms = np.sqrt(np.bincount(units, np.square(values).sum(axis=1), minlength=batch.n_clients))
    factors = BOUNDED_STEPS * (1 - 2.0**-32) / np.maximum(float(bound), norms)
    bounded = np.trunc(values * factors[units, None])
    return _sums_by(bounded, clusters, len(centers)).astype(np.int64).ravel()


OUTER_PRODUCT = Statistic("outer-product", _outer_product, whole_clients=False)
"""Upper triangle of ``sum z z^T``. One point changes it by at most ``R**2`` in L2 norm (``radius**2`` in the data's units).

Proof. The upper triangle of ``z z^T`` has squared norm ``(|z|**4 + sum z_i**4) / 2 <= |z|**4 <= R**4``, reached by z on an axis.
"""

CLUSTER_COUNTS = Statistic("cluster-counts", _cluster_counts, whole_clients=False)
"""How many points are nearest to each center. One point changes it by 1 in L1 and in L2 norm: it has one nearest center."""

CLUSTER_SUMS = Statistic("cluster-sums", _cluster_sums, whole_clients=False)
"""Sum of the points nearest to each center. One point changes one block, by ``|z| <= R`` (``radius``)."""

CLIENT_OUTER_PRODUCT = Statistic("client-outer-product", _client_outer_product, whole_clients=True)
"""Outer products, each client's scaled to Frobenius norm at most ``bound``; see ``_outer_product_shrink`` for the proof."""

CLIENT_CLUSTER_COUNTS = Statistic("client-cluster-counts", _client_cluster_counts, whole_clients=True)
"""Counts per center, each client's scaled to L1 norm at most ``bound``, in steps of 1/COUNT_STEPS."""

CLIENT_PRESENCE = Statistic("client-presence", _client_presence, whole_clients=True)
"""In how many clients each cluster is not empty (c_r of the paper), each client's vector scaled to L1 norm at most ``bound``."""

CLIENT_CLUSTER_SUMS = Statistic("client-cluster-sums", _client_cluster_sums, whole_clients=True)
"""Sums per cluster, each client's k x d array scaled to L2 norm at most ``bound``, in steps of grid/MEAN_STEPS."""

CLIENT_CLUSTER_MEANS = Statistic("client-cluster-means", _client_cluster_means, whole_clients=True)
"""Means per cluster (u_r of the paper), each client's k x d array scaled to L2 norm at most ``bound``, in steps of grid/MEAN_STEPS."""

CLIENT_SIZES = Statistic("client-sizes", _sizes, whole_clients=True)
"""How many clients hold 1, 2-3, 4-7, ... points. One client changes it by 1: it is in one class."""

POINT_SECOND_MOMENT = Statistic("point-second-moment", _each_point(_bounded_second_moment), whole_clients=False)
CLIENT_SECOND_MOMENT = Statistic("client-second-moment", _bounded_second_moment, whole_clients=True)
"""The refined outer product: traceless part and, lightly, trace of ``S = Z^T Z``, in coordinates in which distances are those of the
Frobenius norm; each unit's scaled to norm at most ``bound``, then expressed in units of it.

Coordinates, times sqrt(2): ``2 S_ij`` above the diagonal, ``sqrt(2) (S_ii - tr/d)``, ``sqrt(2) w tr / sqrt(d)``. The identity is orthogonal to
the traceless matrices, so the squared norm is ``2 (|S|_F^2 - (1 - w^2) tr^2 / d)``; ``_moment_scales`` keeps half of that below MOMENT_STEPS
squared, and truncating the last d + 1 coordinates only shortens. Sensitivity: ``sqrt(2) MOMENT_STEPS`` steps, which stand for 1 (bound).
"""

POINT_RESIDUALS = Statistic("point-residuals", _each_point(_bounded_residuals), whole_clients=False)
CLIENT_RESIDUALS = Statistic("client-residuals", _bounded_residuals, whole_clients=True)
"""Per cluster, the sum of residuals ``x - origin_r`` and ``count_weight`` times the count, as one vector; each unit's vector is scaled to
norm at most ``bound`` (counts with sums, so that their quotient stays a mean) and expressed in units of it.

Sensitivity: one unit adds one vector of norm at most BOUNDED_STEPS, which stand for 1 (bound): the factor leaves 2**-32 of slack for the
rounding of the norm, and truncation only shortens. Which cluster a point is in depends on that point and public centers alone.
"""

REGISTRY = {
    s.name: s
    for s in (
        OUTER_PRODUCT,
        CLUSTER_COUNTS,
        CLUSTER_SUMS,
        CLIENT_OUTER_PRODUCT,
        CLIENT_CLUSTER_COUNTS,
        CLIENT_PRESENCE,
        CLIENT_CLUSTER_SUMS,
        CLIENT_CLUSTER_MEANS,
        CLIENT_SIZES,
        POINT_SECOND_MOMENT,
        CLIENT_SECOND_MOMENT,
        POINT_RESIDUALS,
        CLIENT_RESIDUALS,
    )
}
"""Every statistic by its name: what a remote client can be asked for."""


def _gram(encoded: FloatArray) -> FloatArray:
    """Return ``Z^T Z`` exactly; a batch never holds more rows than stay exact in float64."""
    total = np.zeros((encoded.shape[1], encoded.shape[1]))
    for start in range(0, len(encoded), EXACT_ROWS):
        block = encoded[start : start + EXACT_ROWS]
        total += block.T @ block
    return total


def _upper_triangle(matrix: FloatArray) -> IntArray:
    return matrix[np.triu_indices(len(matrix))].astype(np.int64)


def _sums_by(encoded: FloatArray, labels: IntArray, k: int) -> FloatArray:
    indicator = np.zeros((len(labels), k))
    indicator[np.arange(len(labels)), labels] = 1.0
    sums: FloatArray = indicator.T @ encoded
    return sums


def _counts_by_client(batch: ClientBatch, labels: IntArray, k: int) -> FloatArray:
    cells = np.bincount(batch.owners * k + labels, minlength=batch.n_clients * k)
    return cells.reshape(batch.n_clients, k).astype(np.float64)


def _sums_by_client(batch: ClientBatch, encoded: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the (clients, k, d) sums of integer points: rows sorted by (client, cluster) and added in runs."""
    sums = np.zeros((batch.n_clients * k, encoded.shape[1]))
    cells = batch.owners * k + labels
    order = np.argsort(cells, kind="stable")
    present, firsts = np.unique(cells[order], return_index=True)
    if len(present):
        sums[present] = np.add.reduceat(encoded[order], firsts, axis=0)
    return sums.reshape(batch.n_clients, k, encoded.shape[1])


def joint_sums(
    batch: ClientBatch, residuals: FloatArray, labels: IntArray, k: int, count_weight: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return unit, cluster and (sum of residuals, weighted count) for every pair of a unit and a cluster that occurs."""
    cells = batch.owners * k + labels
    order = np.argsort(cells, kind="stable")
    present, firsts, counts = np.unique(cells[order], return_index=True, return_counts=True)
    values = np.empty((len(present), residuals.shape[1] + 1))
    values[:, -1] = count_weight * counts
    if len(present):
        values[:, :-1] = np.add.reduceat(residuals[order], firsts, axis=0)
    return present // k, present % k, values


def _sums_of_runs(rows: FloatArray, batch: ClientBatch) -> FloatArray:
    """Return the sum of each client's rows."""
    sums = np.zeros((batch.n_clients, rows.shape[1]))
    held = batch.sizes > 0
    if held.any():
        sums[held] = np.add.reduceat(rows, batch.starts[:-1][held], axis=0)
    return sums


def second_moment_norms(encoded: FloatArray, batch: ClientBatch) -> tuple[FloatArray, FloatArray]:
    """Return each unit's ``sqrt(|S|_F^2 - (1 - w^2) tr^2 / d)``, and ``|S|_F``."""
    frobenius = _outer_product_norms(encoded, batch)
    traces = _sums_of_runs(np.square(encoded).sum(axis=1, keepdims=True), batch)[:, 0]
    squared = np.square(frobenius) - (1 - TRACE_WEIGHT**2) * np.square(traces) / encoded.shape[1]
    return np.sqrt(np.maximum(squared, 0.0)), frobenius


def _moment_scales(encoded: FloatArray, batch: ClientBatch, bound: float) -> FloatArray:
    """Return by what each unit's points are scaled so that ``bound`` becomes MOMENT_STEPS and no unit exceeds it after rounding.

    Write N for the norm of the unit's coordinates (traceless part and weighted trace), F = |S|_F >= N. Scaling by a and rounding changes Z by E
    with ``|E|_F <= e = sqrt(n d)/2``, hence S by at most ``2 a sqrt(F) e + e**2`` in the Frobenius norm, hence the coordinates. So the norm stays
    within MOMENT_STEPS if ``N a**2 + 2 e sqrt(F) a + e**2 <= MOMENT_STEPS``: a is the lesser of the wanted scale and this quadratic's root.
    """
    norms, frobenius = second_moment_norms(encoded, batch)
    limit = MOMENT_STEPS * (1 - 2.0**-30)
    slack = np.sqrt(batch.sizes * encoded.shape[1]) / 2
    linear = slack * np.sqrt(frobenius)
    room = np.maximum(limit - slack**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = room / (linear + np.sqrt(linear**2 + norms * room))
    wanted = np.sqrt(limit / bound)
    return np.where(frobenius > 0, np.minimum(wanted, np.nan_to_num(largest)), 0.0)


def _sum_bounded_l1(counts: FloatArray, bound: float) -> IntArray:
    """Return the sum of the rows, each scaled to L1 norm at most ``bound``, in steps of 1/COUNT_STEPS, rounded down.

    Totals of whole counts are exact. A row above the bound is scaled with 2**-40 to spare for the rounding of the products.
    """
    totals = counts.sum(axis=1)
    factor = COUNT_STEPS * np.where(totals <= bound, 1.0, bound * (1 - 2.0**-40) / np.maximum(totals, 1.0))
    total: IntArray = np.floor(counts * factor[:, None]).sum(axis=0).astype(np.int64)
    return total


def _sum_bounded_l2(values: FloatArray, bound: float) -> IntArray:
    """Return the sum of the clients' (k, d) arrays, each scaled to L2 norm at most ``bound`` and truncated to steps of 1/MEAN_STEPS.

    Truncation only shortens an array; the factor leaves 2**-32 of slack for the norm's rounding (arrays of up to 2**20 values).
    """
    values = values.reshape(len(values), math.prod(values.shape[1:]))
    norms = row_norms(values)
    with np.errstate(divide="ignore"):
        factor = MEAN_STEPS * np.minimum(1.0, bound * (1 - 2.0**-32) / norms)
    total: IntArray = np.trunc(values * factor[:, None]).sum(axis=0).astype(np.int64)
    return total


def _outer_product_shrink(encoded: FloatArray, batch: ClientBatch, bound: float) -> FloatArray:
    """Return, a column over the rows, by what each point must be scaled so that ``|Z_j^T Z_j|_F <= bound`` for every client j.

    The outer product is quadratic in the points: scaling the points of client j by a scales it by a**2, the paper's clipping. Write
    ``|Z|_4 = sqrt(|Z^T Z|_F)``, the Schatten 4-norm. Rounding n points of d coordinates moves Z by at most ``sqrt(n d)/2`` in the
    Frobenius norm, hence in this one, so ``a = (sqrt(bound) - sqrt(n d)/2 - 1) / |Z|_4`` gives ``|rint(a Z)|_4 <= sqrt(bound)``.
    A client whose outer product is within the bound is left as it is.
    """
    norms = _outer_product_norms(encoded, batch)
    slack = np.sqrt(batch.sizes * encoded.shape[1]) / 2 + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.maximum(0.0, np.sqrt(bound) - slack) / np.sqrt(norms)
    factors = np.where(norms <= bound * (1 - 2.0**-32), 1.0, shrink)
    return np.repeat(factors, batch.sizes)[:, None]


def _outer_product_norms(encoded: FloatArray, batch: ClientBatch) -> FloatArray:
    """Return ``|Z_j^T Z_j|_F`` of every client: batched products over clients of like size, padded with zero points."""
    sizes = batch.sizes
    norms = np.zeros(batch.n_clients)
    classes = np.ceil(np.log2(np.maximum(sizes, 1))).astype(int)
    for size_class in np.unique(classes[sizes > 0]):
        members = np.flatnonzero((classes == size_class) & (sizes > 0))
        width = int(sizes[members].max())
        # |Z^T Z|_F = |Z Z^T|_F: form whichever is smaller, a few clients at a time.
        cells = width * encoded.shape[1] + min(width, encoded.shape[1]) ** 2
        step = max(1, (1 << 22) // cells)
        for start in range(0, len(members), step):
            some = members[start : start + step]
            rows = batch.starts[some, None] + np.arange(width)
            inside = np.arange(width) < sizes[some, None]
            padded = encoded[np.where(inside, rows, 0)] * inside[:, :, None]
            transposed: Array = padded.transpose(0, 2, 1)
            gram = padded @ transposed if width < encoded.shape[1] else transposed @ padded
            norms[some] = np.sqrt(np.square(gram).reshape(len(some), -1).sum(axis=1))
    return norms
