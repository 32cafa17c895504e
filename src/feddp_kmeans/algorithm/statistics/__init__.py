"""All that a client ever computes, and how much one privacy unit can change it.

Every statistic is a sum of bounded contributions, in integers. Statistics of *points* bound each point: a point is clipped to the
public ball and encoded as an integer vector z with ``|z| <= R`` (``privacy.fixed_point``). Statistics of *clients* bound the whole of
what a client adds. Assignments to centers are decided on those integers too, exactly, so no point's cluster can depend on another
point. Ties go to the first center. Rows and clients that are empty add zero.

Public arguments: ``center`` and ``radius`` of the ball, ``centers`` in integer coordinates (of the subspace where a ``projection`` is
given), ``bound`` on a client's contribution in the data's own units. Each statistic states which it takes and in which ranges
(``statistics.public``); ``federation.gate`` refuses all others before a point is touched.
"""

from feddp_kmeans.algorithm.statistics import norms, paper, refined
from feddp_kmeans.federation.base import Statistic

_PRODUCTION: tuple[Statistic, ...] = (
    paper.OUTER_PRODUCT,
    paper.CLUSTER_COUNTS,
    paper.CLUSTER_SUMS,
    paper.CLIENT_OUTER_PRODUCT,
    paper.CLIENT_CLUSTER_COUNTS,
    paper.CLIENT_PRESENCE,
    paper.CLIENT_CLUSTER_SUMS,
    paper.CLIENT_CLUSTER_MEANS,
    refined.CLIENT_SIZES,
    refined.POINT_SECOND_MOMENT,
    refined.CLIENT_SECOND_MOMENT,
    refined.POINT_RESIDUALS,
    refined.CLIENT_RESIDUALS,
    norms.POINT_DISTANCES,
    norms.CLIENT_DISTANCES,
    norms.POINT_RESIDUAL_NORMS,
    norms.CLIENT_RESIDUAL_NORMS,
    norms.POINT_MOMENT_NORMS,
    norms.CLIENT_MOMENT_NORMS,
    norms.GRID_COUNTS,
    norms.POINT_COUNT,
)

REGISTRY = {statistic.name: statistic for statistic in _PRODUCTION}
"""What a remote client can be asked for, by name. Statistics of the appendix (``statistics.theory``) are for studies on one machine."""
