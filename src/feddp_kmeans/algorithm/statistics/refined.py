"""The statistics of the refined method: one vector a unit, scaled to a bound that a typical unit just meets.

A statistic of points is a statistic of clients that hold one point each.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.statistics.arithmetic import (
    assign,
    check_rows,
    gram,
    joint_sums,
    outer_product_norms,
    positive,
    project,
    sums_by,
    sums_of_runs,
    whole,
)
from feddp_kmeans.algorithm.statistics.paper import ONE
from feddp_kmeans.federation.base import ClientBatch, Statistic, constant
from feddp_kmeans.privacy.fixed_point import Ball
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit

BOUNDED_STEPS = 1 << 30
"""Integer steps of a contribution that is as long as its bound."""

MOMENT_STEPS = 1 << 32
"""The same for second moments, whose points are rounded to 16 bits."""

MOMENT_SENSITIVITY = math.sqrt(2.0) * MOMENT_STEPS
"""What a unit's second moment can be, in integer steps of its coordinates; see POINT_SECOND_MOMENT."""

TRACE_WEIGHT = 0.25
"""Weight of the trace beside the traceless part: enough to tell the number of points, light enough to cost little."""

SIZE_CLASSES = 20
"""Powers of two that client sizes are told apart by."""


def each_point(compute: Callable[..., IntArray]) -> Callable[..., IntArray]:
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
    scaled = np.rint(encoded * np.repeat(_moment_scales(encoded, batch, positive(bound)), batch.sizes)[:, None])
    dimension = encoded.shape[1]
    off_diagonal = 2 * gram(scaled)[np.triu_indices(dimension, 1)]
    diagonals = sums_of_runs(np.square(scaled), batch)
    traces = diagonals.sum(axis=1, keepdims=True)
    traceless = np.trunc(np.sqrt(2) * (diagonals - traces / dimension)).sum(axis=0)
    trace = np.trunc(np.sqrt(2 / dimension) * TRACE_WEIGHT * traces).sum(axis=0)
    return np.concatenate([off_diagonal, traceless, trace]).astype(np.int64)


def residual_vectors(
    batch: ClientBatch,
    *,
    center: FloatArray,
    radius: float,
    centers: FloatArray,
    origins: FloatArray,
    count_weight: float,
    projection: FloatArray | None = None,
    residual_projection: FloatArray | None = None,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return unit, cluster and (sum of residuals, weighted count) of every pair that occurs, and the length of each unit's whole vector."""
    check_rows("origins", origins, "centers", centers)
    encoded = Ball(center, float(radius)).encode(batch.points)
    labels = assign(encoded, centers, projection)
    residuals = project(encoded, residual_projection) - whole(origins)[labels]
    units, clusters, values = joint_sums(batch, residuals, labels, len(centers), float(count_weight))
    norms = np.sqrt(np.bincount(units, np.square(values).sum(axis=1), minlength=batch.n_clients))
    return units, clusters, values, norms


def _bounded_residuals(batch: ClientBatch, *, centers: FloatArray, bound: float, **where: Any) -> IntArray:
    units, clusters, values, norms = residual_vectors(batch, centers=centers, **where)
    factors = BOUNDED_STEPS * (1 - 2.0**-32) / np.maximum(positive(bound), norms)
    bounded = np.trunc(values * factors[units, None])
    return sums_by(bounded, clusters, len(centers)).astype(np.int64).ravel()


_MOMENT = constant(Sensitivity(l1=None, l2=MOMENT_SENSITIVITY))
_RESIDUALS = constant(Sensitivity(l1=None, l2=float(BOUNDED_STEPS)))

CLIENT_SIZES = Statistic("client-sizes", _sizes, PrivacyUnit.CLIENT, ONE)
"""How many clients hold 1, 2-3, 4-7, ... points. One client changes it by 1: it is in one class."""

POINT_SECOND_MOMENT = Statistic("point-second-moment", each_point(_bounded_second_moment), PrivacyUnit.POINT, _MOMENT)
CLIENT_SECOND_MOMENT = Statistic("client-second-moment", _bounded_second_moment, PrivacyUnit.CLIENT, _MOMENT)
"""The refined outer product: traceless part and, lightly, trace of ``S = Z^T Z``, in coordinates in which distances are those of the
Frobenius norm; each unit's scaled to norm at most ``bound``, then expressed in units of it.

Coordinates, times sqrt(2): ``2 S_ij`` above the diagonal, ``sqrt(2) (S_ii - tr/d)``, ``sqrt(2) w tr / sqrt(d)``. The identity is
orthogonal to the traceless matrices, so the squared norm is ``2 (|S|_F^2 - (1 - w^2) tr^2 / d)``; ``_moment_scales`` keeps half of that
below MOMENT_STEPS squared, and truncating the last d + 1 coordinates only shortens. Sensitivity: ``sqrt(2) MOMENT_STEPS`` steps, which
stand for 1 (bound).
"""

POINT_RESIDUALS = Statistic("point-residuals", each_point(_bounded_residuals), PrivacyUnit.POINT, _RESIDUALS)
CLIENT_RESIDUALS = Statistic("client-residuals", _bounded_residuals, PrivacyUnit.CLIENT, _RESIDUALS)
"""Per cluster, the sum of residuals ``x - origin_r`` and ``count_weight`` times the count, as one vector; each unit's vector is scaled to
norm at most ``bound`` (counts with sums, so that their quotient stays a mean) and expressed in units of it.

Sensitivity: one unit adds one vector of norm at most BOUNDED_STEPS, which stand for 1 (bound): the factor leaves 2**-32 of slack for the
rounding of the norm, and truncation only shortens. Which cluster a point is in depends on that point and public centers alone.
"""


def second_moment_norms(encoded: FloatArray, batch: ClientBatch) -> tuple[FloatArray, FloatArray]:
    """Return each unit's ``sqrt(|S|_F^2 - (1 - w^2) tr^2 / d)``, and ``|S|_F``."""
    frobenius = outer_product_norms(encoded, batch)
    traces = sums_of_runs(np.square(encoded).sum(axis=1, keepdims=True), batch)[:, 0]
    squared = np.square(frobenius) - (1 - TRACE_WEIGHT**2) * np.square(traces) / encoded.shape[1]
    return np.sqrt(np.maximum(squared, 0.0)), frobenius


def traceless(values: FloatArray, dimension: int) -> tuple[FloatArray, float]:
    """Return the traceless matrix and the trace that these noisy coordinates stand for; see POINT_SECOND_MOMENT."""
    pairs = dimension * (dimension - 1) // 2
    matrix = np.zeros((dimension, dimension))
    matrix[np.triu_indices(dimension, 1)] = values[:pairs] / np.sqrt(2)
    matrix += matrix.T
    diagonal = values[pairs:-1]
    matrix[np.diag_indices(dimension)] = diagonal - diagonal.mean()
    return matrix, float(values[-1] * np.sqrt(dimension) / TRACE_WEIGHT)


def _moment_scales(encoded: FloatArray, batch: ClientBatch, bound: float) -> FloatArray:
    """Return by what each unit's points are scaled so that ``bound`` becomes MOMENT_STEPS and no unit exceeds it after rounding.

    Write N for the norm of the unit's coordinates (traceless part and weighted trace), F = |S|_F >= N. Scaling by a and rounding
    changes Z by E with ``|E|_F <= e = sqrt(n d)/2``, hence S by at most ``2 a sqrt(F) e + e**2`` in the Frobenius norm, hence the
    coordinates. So the norm stays within MOMENT_STEPS if ``N a**2 + 2 e sqrt(F) a + e**2 <= MOMENT_STEPS``: a is the lesser of the wanted
    scale and this quadratic's root.
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
