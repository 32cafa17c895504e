"""The statistic of the closing look: how many points each center attracts, and how far from it they lie."""

from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import arithmetic
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.gate import RESIDUAL_BOUND, SPREADS
from feddp_kmeans.statistics.query import Statistic, constant
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, client_factors, residual_squares

UNIT_STEPS = BOUNDED_STEPS // 11
"""What the integer steps of a point are multiples of: (6, 6, 7) is 11 long, and gives sizes, spreads and the total alike their due."""

SIZE_STEPS = 6 * UNIT_STEPS
"""Integer steps of every point in the count of its cluster."""

SQUARE_STEPS, TOTAL_STEPS = 6 * UNIT_STEPS, 7 * UNIT_STEPS
"""Integer steps of a point at the reach, or farther out, in the square of its cluster and in the total of all squares."""

POINT_L1 = float(SIZE_STEPS + SQUARE_STEPS + TOTAL_STEPS)
"""What a point can move in L1 norm."""


def _numbers(*, k: int, **_: Any) -> int:
    return 2 * k + 1


def _labels_and_steps(batch: ClientBatch, *, centers: FloatArray, reach: float, **ball: Any) -> tuple[IntArray, IntArray]:
    """Return each point's cluster, and its squared distance from that center in steps: UNIT_STEPS at the reach and beyond."""
    _, labels, squares = residual_squares(batch, origins=centers, centers=centers, **ball)
    return labels, (UNIT_STEPS * np.minimum(squares / reach**2, 1.0)).astype(np.int64)


def _point_spreads(batch: ClientBatch, *, centers: FloatArray, **where: Any) -> IntArray:
    labels, steps = _labels_and_steps(batch, centers=centers, **where)
    counts = SIZE_STEPS * np.bincount(labels, minlength=len(centers))
    squares = arithmetic.added(len(centers), labels, steps)
    return np.concatenate([counts, 6 * squares, [7 * squares.sum()]]).astype(np.int64)


POINT_SPREADS = Statistic(
    "point-spreads", _point_spreads, PrivacyUnit.POINT, constant(Sensitivity(l1=POINT_L1, l2=float(BOUNDED_STEPS))), SPREADS, _numbers
)
"""Per center the number of points nearest to it, then per center the sum of their squared distances, then the sum of these over all
centers. A squared distance is in parts of ``reach**2`` and counts as one beyond the reach; a count is never scaled, so sizes are unbiased.

Sensitivity. Write m = UNIT_STEPS. A point adds 6 m to one count, 6 q to one square and 7 q to the total, q a whole number. The squared
distance of whole-number points of norm at most 2**16 from centers of norm at most 2**24 is a whole number below 2**49, hence exact; its
quotient is cut at 1 and the product with m rounded down, so ``0 <= q <= m`` for any reach that the gate accepts. So the squared L2 norm
is ``36 m**2 + 36 q**2 + 49 q**2 <= (11 m)**2 <= BOUNDED_STEPS**2``, and the L1 norm is at most 19 m; both are reached at the reach.

Why a total, if the squares add up to it: noise in k squares adds up k times. The total is noisy once.
"""


def _client_spreads(batch: ClientBatch, *, centers: FloatArray, bound: float, **where: Any) -> IntArray:
    k = len(centers)
    labels, steps = _labels_and_steps(batch, centers=centers, **where)
    pairs = arithmetic.pairs_of(batch, labels, k)
    squares = arithmetic.added(len(pairs.counts), pairs.places, steps)
    totals = 7.0 * arithmetic.added(batch.n_clients, pairs.units, squares)
    values = np.column_stack([float(SIZE_STEPS) * pairs.counts, 6.0 * squares])
    norms = np.sqrt(np.bincount(pairs.units, np.square(values).sum(axis=1), minlength=batch.n_clients) + np.square(totals))
    factors = client_factors(11.0 * UNIT_STEPS * bound, norms)
    bounded = np.trunc(values * factors[pairs.units, None])
    summed = arithmetic.in_blocks(len(bounded), lambda some: arithmetic.sums_by(bounded[some], pairs.clusters[some], k))
    return np.append(summed.T.ravel(), np.trunc(totals * factors).astype(np.int64).sum())


CLIENT_SPREADS = Statistic(
    "client-spreads",
    _client_spreads,
    PrivacyUnit.CLIENT,
    constant(Sensitivity(l1=None, l2=float(BOUNDED_STEPS))),
    SPREADS | RESIDUAL_BOUND,
    _numbers,
)
"""As POINT_SPREADS; each client's vector is scaled to the length that ``bound`` points at the reach of one center have, and expressed in
parts of that. A client within the bound is scaled like all others, so the counts of such clients are unbiased.

Sensitivity: one client adds one vector of norm at most BOUNDED_STEPS. Its steps are whole numbers added in int64, exact for 2**33 points;
the factor leaves 2**-24 of slack for the rounding of the norm of up to MOST_VALUES numbers, and truncation only shortens.
"""
