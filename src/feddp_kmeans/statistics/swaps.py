"""The statistic of swaps: what the points of each center would cost without it, and save with two centers in its place."""

from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import arithmetic
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.gate import RESIDUAL_BOUND, SWAPS
from feddp_kmeans.statistics.query import Statistic, constant
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, client_factors, residual_squares


def _numbers(*, k: int, **_: Any) -> int:
    return 2 * k


def _labels_and_steps(
    batch: ClientBatch, *, centers: FloatArray, others: FloatArray, ones: FloatArray, twos: FloatArray, reach: float, **ball: Any
) -> tuple[IntArray, IntArray]:
    """Return each point's cluster, and in steps what the point costs more at its other center, and less at the nearer of the two."""
    own, *there = (residual_squares(batch, origins=places, centers=centers, **ball) for places in (centers, others, ones, twos))
    other, one, two = (squares for _, _, squares in there)
    _, labels, squares = own
    differences = np.clip(np.column_stack([other - squares, squares - np.minimum(one, two)]) / reach**2, -1.0, 1.0)
    lengths = np.sqrt(np.square(differences[:, 0]) + np.square(differences[:, 1]))
    return labels, (differences * client_factors(1.0, lengths)[:, None]).astype(np.int64)


def _point_swaps(batch: ClientBatch, *, centers: FloatArray, **where: Any) -> IntArray:
    labels, steps = _labels_and_steps(batch, centers=centers, **where)
    return np.concatenate([arithmetic.added(len(centers), labels, column) for column in steps.T])


POINT_SWAPS = Statistic(
    "point-swaps", _point_swaps, PrivacyUnit.POINT, constant(Sensitivity(l1=None, l2=float(BOUNDED_STEPS))), SWAPS, _numbers
)
"""Per center c, over the points nearest to it: the sum of ``|x - other_c|**2 - |x - c|**2``, then per center the sum of
``|x - c|**2 - min(|x - one_c|**2, |x - two_c|**2)``. Each difference is in parts of ``reach**2`` and cut at -1 and 1, so that a large one
does not hide the other; then a point's two are scaled to norm at most 1.

Sensitivity: a point adds one vector of two numbers of norm at most BOUNDED_STEPS; any point whose vector is as long as the reach gets
there. Squared distances of whole-number points of norm at most 2**16 from places of norm at most 2**24, rounded to whole steps, are whole
numbers below 2**49, hence exact, and so are their differences; each depends on the point only. The norm is that of the very float64 numbers
that are scaled: quotient, two squares, sum, root and product err by less than 2**-48 together, and the factor leaves 2**-24. This holds
for any reach that the gate accepts, since the differences are cut before they are squared. Truncation only shortens.
"""


def _client_swaps(batch: ClientBatch, *, centers: FloatArray, bound: float, **where: Any) -> IntArray:
    k = len(centers)
    labels, steps = _labels_and_steps(batch, centers=centers, **where)
    pairs = arithmetic.pairs_of(batch, labels, k)
    values = np.column_stack([arithmetic.added(len(pairs.counts), pairs.places, column) for column in steps.T]).astype(np.float64)
    norms = np.sqrt(np.bincount(pairs.units, np.square(values).sum(axis=1), minlength=batch.n_clients))
    bounded = np.trunc(values * client_factors(float(BOUNDED_STEPS) * bound, norms)[pairs.units, None])
    return arithmetic.in_blocks(len(bounded), lambda some: arithmetic.sums_by(bounded[some], pairs.clusters[some], k)).T.ravel()


CLIENT_SWAPS = Statistic(
    "client-swaps",
    _client_swaps,
    PrivacyUnit.CLIENT,
    constant(Sensitivity(l1=None, l2=float(BOUNDED_STEPS))),
    SWAPS | RESIDUAL_BOUND,
    _numbers,
)
"""As POINT_SWAPS; each client's vector is scaled to the length that ``bound`` points of one center have, all at the reach, and expressed in
parts of it.

Sensitivity: one client adds one vector of norm at most BOUNDED_STEPS. Its steps are whole numbers added in int64, exact for 2**33 points;
the factor leaves 2**-24 of slack for the rounding of the norm of up to MOST_VALUES numbers, and truncation only shortens.
"""
