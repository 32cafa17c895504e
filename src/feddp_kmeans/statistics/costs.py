"""The statistic of a contest: which of several sets of centers costs the points least."""

from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import arithmetic
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.gate import MOMENT_BOUND, SETS
from feddp_kmeans.statistics.query import Statistic, constant
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, client_factors, residual_squares

LOW_BITS = 26
"""Whole numbers are added in two halves, of which this is the lower: both stay within 64 bits for 2**36 numbers below 2**52."""


def _cost_differences(batch: ClientBatch, *, sets: FloatArray, bound: float, **ball: Any) -> IntArray:
    """Return the sum of what units add; a point is a client with one point."""
    vectors = _client_vectors(batch, sets, **ball)
    # Set by set, not by a sum along an axis: every device adds in this order.
    norms = np.sqrt(sum(np.square(column) for column in vectors.T))
    total: IntArray = np.trunc(vectors * client_factors(bound, norms)[:, None]).astype(np.int64).sum(axis=0)
    return total


def _client_vectors(batch: ClientBatch, sets: FloatArray, **ball: Any) -> FloatArray:
    """Return each client's ``c D_j - sum_i D_i``, added up over its points."""
    squares = np.stack([residual_squares(batch, origins=centers, centers=centers, **ball)[-1] for centers in sets], axis=1)
    whole = (len(sets) * squares - squares.sum(axis=1, keepdims=True)).astype(np.int64)
    high, low = whole >> LOW_BITS, whole & ((1 << LOW_BITS) - 1)
    return 2.0**LOW_BITS * arithmetic.sums_of_runs(high, batch) + arithmetic.sums_of_runs(low, batch)


def _costs(name: str, unit: PrivacyUnit) -> Statistic:
    sensitivity = constant(Sensitivity(l1=None, l2=float(BOUNDED_STEPS)))
    return Statistic(name, _cost_differences, unit, sensitivity, SETS | MOMENT_BOUND, lambda *, c, **_: int(c))


POINT_COSTS = _costs("point-costs", PrivacyUnit.POINT)
CLIENT_COSTS = _costs("client-costs", PrivacyUnit.CLIENT)
"""For each of c sets of centers the sum of ``c D_j - sum_i D_i``: D_j is a point's squared distance from the nearest center of set j, in
squared steps. So it is c times what the set costs more than the mean of all sets, and what the sets have in common is not in it. Each
unit's vector is scaled to norm at most ``bound`` and expressed in units of it.

Sensitivity: one unit adds one vector of norm at most BOUNDED_STEPS, which stand for 1 (bound); any unit whose vector is as long as its
bound reaches this. Proof, for all arguments that the gate accepts.

*The vector depends only on the unit.* Points have norm at most 2**16. Centers have at most 2**24, and 2**9 more after rounding to whole
steps. So D_j is a whole number below 2**48.02, exact, whichever of several nearest centers is taken. With at most 16 sets ``c D_j`` and
``sum_i D_i`` are whole numbers below 2**53, exact, and so is their difference, which is at most 15 D_j or 15 D_i, below 2**52. A client's
differences are added in 64-bit integers, in two halves: exact, in any order, for 2**36 points. The halves are put together in float64:
exact for sums below 2**52 (2**14 points with all centers within the ball, or more if the sets are alike), and within 2**-51 of the sizes
of the halves beyond.

*It is bounded.* The norm is that of the very float64 numbers that are scaled. At most 16 squares, their sum, the root, the quotient and the
product err by less than 2**-48 together, and the factor leaves 2**-24. Lengths are below 2**91 and bounds from 1 to 2**100, so no square
overflows and no factor is above 2**30. Truncation only shortens.
"""
