"""The statistics of the refined method: one vector per unit, scaled to a bound that a typical unit just meets."""

import math
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import arithmetic
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.gate import BALL, MOMENT_BOUND, RESIDUAL_BOUND, RESIDUALS, SQUARES
from feddp_kmeans.statistics.nearest import score_error
from feddp_kmeans.statistics.paper_sums import ONE, SLACK
from feddp_kmeans.statistics.query import Statistic, constant

BOUNDED_STEPS = 1 << 30
"""Integer steps of a contribution that is as long as its bound."""

LONGEST_STEPS = BOUNDED_STEPS * (1 - 2.0**-32)
"""What a point's factor makes of it at most, with room for rounding: see POINT_RESIDUALS."""

MOMENT_STEPS = math.floor(BOUNDED_STEPS / math.sqrt(2.0))
"""Integer steps of a second moment as long as its bound, whose coordinates are sqrt(2) times as long; its points are rounded to 14 bits."""

_POINT_LIMIT, _CLIENT_LIMIT = MOMENT_STEPS * (1 - 2.0**-30), MOMENT_STEPS * (1 - 2.0**-20)
"""What a unit's moment is scaled to, with room for rounding. A client's norm is within 2**-25, and taking off the trace makes that 16 times
as large; a point's is exact up to a square root."""

_LEVELS = 64
"""Scales of points between one power of two and the next: a long point may weigh 2 % less than its bound allows."""

_DENSE_ROWS = 1 << 8
"""Rows made dense at a time."""

TRACE_WEIGHT = 0.25
"""Weight of the trace relative to the traceless part: enough to read off the number of points, light enough to cost little."""

SIZE_CLASSES = 20
"""Number of classes of client sizes, each twice as wide as the one before."""

_BOUNDED = constant(Sensitivity(l1=None, l2=float(BOUNDED_STEPS)))
"""All sums of bounded vectors have this sensitivity, so one planned release can be any of them."""


def _moments(*, d: int, **_: Any) -> int:
    return d * (d - 1) // 2 + d + 1


def _vectors(*, k: int, q: int, square_weight: float | None, **_: Any) -> int:
    return k * (q + 1 if square_weight is None else q + 2)


def _sizes(batch: ClientBatch) -> IntArray:
    held = batch.sizes[batch.sizes > 0]
    classes = np.minimum(np.log2(held).astype(np.int64), SIZE_CLASSES - 1)
    return np.bincount(classes, minlength=SIZE_CLASSES).astype(np.int64)


CLIENT_SIZES = Statistic("client-sizes", _sizes, PrivacyUnit.CLIENT, ONE, {}, lambda **_: SIZE_CLASSES)
"""How many clients hold 1, 2-3, 4-7, ... points. One client changes it by 1: it is in one class."""


def _point_second_moment(batch: ClientBatch, *, center: FloatArray, radius: float, bound: float) -> IntArray:
    encoded = arithmetic.encoded_points(batch, center, radius)
    scaled = arithmetic.scaled_points(encoded, point_scales(arithmetic.squared_norms(encoded), encoded.shape[1], bound))
    diagonal = arithmetic.in_blocks(len(scaled), lambda some: _diagonal_sum(np.square(arithmetic.dense(scaled[some]))), _DENSE_ROWS)
    return np.concatenate([_above_diagonal(scaled), diagonal])


def _client_second_moment(batch: ClientBatch, *, center: FloatArray, radius: float, bound: float) -> IntArray:
    encoded = arithmetic.dense(arithmetic.encoded_points(batch, center, radius))
    scales = client_scales(*second_moment_norms(encoded, batch), batch.sizes * encoded.shape[1], bound)
    scaled = arithmetic.scaled_points(encoded, np.repeat(scales, batch.sizes))
    return np.concatenate([_above_diagonal(scaled), _diagonal_sum(arithmetic.sums_of_runs(np.square(scaled), batch))])


POINT_SECOND_MOMENT = Statistic("point-second-moment", _point_second_moment, PrivacyUnit.POINT, _BOUNDED, BALL | MOMENT_BOUND, _moments)
CLIENT_SECOND_MOMENT = Statistic("client-second-moment", _client_second_moment, PrivacyUnit.CLIENT, _BOUNDED, BALL | MOMENT_BOUND, _moments)
"""The refined outer product: the traceless part and, with a small weight w, the trace of ``S = Z^T Z``, in coordinates whose distances are
those of the Frobenius norm; each unit's scaled to norm at most ``bound`` and expressed in units of it.

Coordinates, times sqrt(2): ``2 S_ij`` above the diagonal, ``sqrt(2) (S_ii - tr/d)``, ``sqrt(2) w tr / sqrt(d)``. The identity is
orthogonal to the traceless matrices, so the squared norm is ``2 (|S|_F^2 - (1 - w^2) tr^2 / d)``; ``client_scales`` keeps half of that
below MOMENT_STEPS squared, and truncating the last d + 1 coordinates only shortens. Sensitivity: ``sqrt(2) MOMENT_STEPS <=
BOUNDED_STEPS`` steps, which stand for 1 (bound).
"""


def _above_diagonal(scaled: Any) -> IntArray:
    return 2 * arithmetic.gram(scaled)[np.triu_indices(scaled.shape[1], 1)]


def _diagonal_sum(diagonals: FloatArray) -> IntArray:
    """Return the sum of the last d + 1 coordinates over units, from the diagonal of S of each."""
    dimension = diagonals.shape[1]
    traces = diagonals.sum(axis=1, keepdims=True)
    traceless = np.sqrt(2) * (diagonals - traces / dimension)
    weighted = np.sqrt(2 / dimension) * TRACE_WEIGHT * traces
    return np.concatenate([np.trunc(part).astype(np.int64).sum(axis=0) for part in (traceless, weighted)])


def second_moment_norms(encoded: FloatArray, batch: ClientBatch) -> tuple[FloatArray, FloatArray]:
    """Return each unit's ``sqrt(|S|_F^2 - (1 - w^2) tr^2 / d)``, and ``|S|_F``."""
    frobenius = arithmetic.outer_product_norms(encoded, batch)
    traces = arithmetic.sums_of_runs(np.square(encoded).sum(axis=1, keepdims=True).astype(np.int64), batch)[:, 0].astype(np.float64)
    return moment_norms(frobenius, traces, encoded.shape[1]), frobenius


def moment_norms(frobenius: FloatArray, traces: FloatArray, dimension: int) -> FloatArray:
    """Return ``sqrt(|S|_F^2 - (1 - w^2) tr^2 / d)`` of each unit."""
    squared = np.square(frobenius) - (1 - TRACE_WEIGHT**2) * np.square(traces) / dimension
    norms: FloatArray = np.sqrt(np.maximum(squared, 0.0))
    return norms


def client_scales(norms: FloatArray, frobenius: FloatArray, counts: IntArray, bound: float) -> FloatArray:
    """Return the scales of the units' points with which ``bound`` becomes MOMENT_STEPS and no unit exceeds it after rounding.

    Counts are those of the numbers that each unit holds.

    Write N for the norm of the unit's coordinates (traceless part and weighted trace), F = |S|_F >= N. Scaling by a and rounding
    changes Z by E with ``|E|_F <= e = sqrt(n d)/2``, hence S by at most ``2 a sqrt(F) e + e**2`` in the Frobenius norm, hence the
    coordinates. So the norm stays within MOMENT_STEPS if ``N a**2 + 2 e sqrt(F) a + e**2 <= MOMENT_STEPS``: a is the lesser of the wanted
    scale and this quadratic's root.
    """
    largest = _largest_scales(norms, frobenius, np.sqrt(counts) / 2, _CLIENT_LIMIT)
    return np.minimum(np.sqrt(_CLIENT_LIMIT / bound), largest)


def point_scales(squares: FloatArray, dimension: int, bound: float) -> FloatArray:
    """Return ``client_scales`` of single points, rounded down to a few values.

    Points of one scale share what they have in common, so sparse ones need not be made dense one by one. For one point F is the squared
    norm and N is F times a constant, so the scale depends only on the squared norm.
    """
    shorter = math.sqrt(1 - (1 - TRACE_WEIGHT**2) / dimension)
    largest = _largest_scales(squares * shorter, squares, math.sqrt(dimension) / 2, _POINT_LIMIT)
    wanted = math.sqrt(_POINT_LIMIT / bound)
    with np.errstate(divide="ignore"):
        levels = np.maximum(np.ceil(_LEVELS * np.log2(wanted / largest)), 0.0)
    return np.where(largest > 0, wanted * (1 - 2.0**-40) * 2.0 ** (-levels / _LEVELS), 0.0)


def _largest_scales(norms: FloatArray, frobenius: FloatArray, slack: FloatArray | float, limit: float) -> FloatArray:
    """Return the root of the quadratic in ``client_scales``; zero where nothing is to be scaled."""
    linear = slack * np.sqrt(frobenius)
    room = np.maximum(limit - slack * slack, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = room / (linear + np.sqrt(linear**2 + norms * room))
    return np.where(frobenius > 0, np.nan_to_num(largest), 0.0)


def traceless(values: FloatArray, dimension: int) -> tuple[FloatArray, float]:
    """Return the traceless matrix and the trace that these noisy coordinates stand for; see POINT_SECOND_MOMENT."""
    pairs = dimension * (dimension - 1) // 2
    matrix = np.zeros((dimension, dimension))
    matrix[np.triu_indices(dimension, 1)] = values[:pairs] / np.sqrt(2)
    matrix += matrix.T
    diagonal = values[pairs:-1]
    matrix[np.diag_indices(dimension)] = diagonal - diagonal.mean()
    return matrix, float(values[-1] * np.sqrt(dimension) / TRACE_WEIGHT)


def residual_vectors(
    batch: ClientBatch, *, origins: FloatArray, count_weight: float, square_weight: float | None = None, **where: Any
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return unit, cluster and vector of every pair of these that occurs, and the length of each unit's whole vector.

    A vector is the sum of residuals, the weighted sum of their squares where this has a weight, and the weighted count.
    """
    coordinates, labels, squares = residual_squares(batch, origins=origins, **where)
    pairs = arithmetic.pairs_of(batch, labels, len(origins))
    sums = pairs.sums(coordinates) - pairs.counts[:, None] * np.rint(origins)[pairs.clusters]
    weighted_squares = [] if square_weight is None else [square_weight * pairs.squares(squares)]
    values = np.column_stack([sums, *weighted_squares, count_weight * pairs.counts])
    norms = np.sqrt(np.bincount(pairs.units, np.square(values).sum(axis=1), minlength=batch.n_clients))
    return pairs.units, pairs.clusters, values, norms


def client_factors(bound: float, norms: FloatArray) -> FloatArray:
    """Return what vectors of these norms are scaled by, so that ``bound`` becomes BOUNDED_STEPS and no vector is longer."""
    factors: FloatArray = BOUNDED_STEPS * SLACK / np.maximum(bound, norms)
    return factors


def _client_residuals(batch: ClientBatch, *, bound: float, **where: Any) -> IntArray:
    units, clusters, values, norms = residual_vectors(batch, **where)
    bounded = np.trunc(values * client_factors(bound, norms)[units, None])
    k = len(where["origins"])
    return arithmetic.in_blocks(len(bounded), lambda some: arithmetic.sums_by(bounded[some], clusters[some], k)).ravel()


CLIENT_RESIDUALS = Statistic(
    "client-residuals", _client_residuals, PrivacyUnit.CLIENT, _BOUNDED, RESIDUALS | SQUARES | RESIDUAL_BOUND, _vectors
)
"""Per cluster, the sum of residuals ``x - origin_r``, ``square_weight`` times the sum of their squares where this is given, and
``count_weight`` times the count, as one vector; each unit's vector is scaled to norm at most ``bound`` (counts with sums, so that their
quotient stays a mean) and expressed in units of it.

Sensitivity: one unit adds one vector of norm at most BOUNDED_STEPS, which stand for 1 (bound): the factor leaves 2**-24 of slack for the
rounding of the norm of up to MOST_VALUES numbers, and truncation only shortens. Which cluster a point is in depends only on that point
and public centers.
"""


def residual_squares(
    batch: ClientBatch, *, origins: FloatArray, residual_projection: FloatArray | None = None, **where: Any
) -> tuple[Any, IntArray, FloatArray]:
    """Return each point's coordinates, its cluster and the squared length of its residual, a whole number: sparse points stay sparse."""
    starts = np.rint(origins)
    points = arithmetic.points_around(batch, origins, residual_projection=residual_projection, **where)
    if points is not None:
        found = arithmetic.labelled(batch, points, starts)
        return points, found.labels, found.squares
    coordinates = arithmetic.projected_points(batch, where["center"], where["radius"], residual_projection)
    _, labels = arithmetic.encoded_and_labels(batch, **where)
    products = arithmetic.products_with(coordinates, starts, labels)
    squares = arithmetic.squared_norms(coordinates) - 2 * products + arithmetic.squared_norms(starts)[labels]
    return coordinates, labels, squares


def _point_residuals(
    batch: ClientBatch, *, origins: FloatArray, bound: float, count_weight: float, square_weight: float | None = None, **where: Any
) -> IntArray:
    k, starts = len(origins), np.rint(origins).astype(np.int64)
    points = arithmetic.points_around(batch, origins, **where)
    if points is not None:
        weights = LONGEST_STEPS, bound, count_weight, square_weight or 0.0
        sums, numbers = points.residual_sums(np.rint(origins), score_error(starts.shape[1]), weights)
        return np.column_stack([sums - numbers[:, :1] * starts, numbers[:, 2 if square_weight is None else 1 :]]).ravel()
    coordinates, labels, squares = residual_squares(batch, origins=origins, **where)
    weighted_squares = squares * (square_weight or 0.0)
    lengths = np.sqrt(squares + np.square(weighted_squares) + count_weight**2)
    factors = np.floor(LONGEST_STEPS / np.maximum(bound, lengths))
    # Sums of factor times coordinate stay below 2**53, and so exact, in as many rows as this.
    rows = max(1, int(2.0**53 / (max(float(factors.max(initial=0.0)), 1.0) * 2.0**17)))

    def part(some: slice) -> IntArray:
        summed = arithmetic.weighted_sums(coordinates[some], factors[some], labels[some], k).astype(np.int64)
        counted = np.bincount(labels[some], factors[some], minlength=k).astype(np.int64)
        numbers = [count_weight] if square_weight is None else [weighted_squares[some], count_weight]
        weighted = [np.bincount(labels[some], np.trunc(factors[some] * number), minlength=k).astype(np.int64) for number in numbers]
        return np.column_stack([summed - counted[:, None] * starts, *weighted])

    return arithmetic.in_blocks(len(labels), part, rows).ravel()


POINT_RESIDUALS = Statistic(
    "point-residuals", _point_residuals, PrivacyUnit.POINT, _BOUNDED, RESIDUALS | SQUARES | RESIDUAL_BOUND, _vectors
)
"""As CLIENT_RESIDUALS, for points: residual ``x - origin_r``, weighted square and ``count_weight``, times a whole factor that depends on
the point.

A point's factor is the largest whole number that keeps its vector within BOUNDED_STEPS: ``floor(BOUNDED_STEPS / max(bound, length))``.
So sums are whole-number combinations of the points, linear in them, and never dense where the points are sparse. The squared length of a
residual is a whole number below 2**53, exact; the slack of 2**-32 covers the products, sums, root and quotient of positive numbers;
truncating square and count only shortens. A
factor may be one part in ``BOUNDED_STEPS / bound`` short of the ideal; residuals and counts have the same one, so their quotient stays a
mean.
"""


def whole_bound(bound: float) -> float:
    """Return a bound at most a little larger, of which BOUNDED_STEPS is a whole multiple: points within it have just that factor."""
    factor = math.floor(BOUNDED_STEPS / bound)
    return BOUNDED_STEPS * (1 - 2.0**-31) / factor if factor >= 1 else bound
