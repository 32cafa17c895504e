"""All that a client ever computes, and how much one privacy unit can change it.

Every statistic is a sum of bounded contributions, in integers. Statistics of *points* bound each point: a point is clipped to the
public ball and encoded as an integer vector z with ``|z| <= R`` (``fixed_point``). Statistics of *clients* bound everything that a
client adds. Points are assigned to centers by exact arithmetic on those integers, so no point's cluster can depend on another point;
ties go to the first center. Empty rows and clients add zero. ``gate`` states the range of every public argument and refuses all others.
"""

from feddp_kmeans.statistics import column_counts, costs, norms, paper_sums, profile_sums, residual_sums, spreads, swaps, word_counts
from feddp_kmeans.statistics.query import Statistic

_PRODUCTION: tuple[Statistic, ...] = (
    paper_sums.OUTER_PRODUCT,
    paper_sums.CLUSTER_COUNTS,
    paper_sums.CLUSTER_SUMS,
    paper_sums.CLIENT_OUTER_PRODUCT,
    paper_sums.CLIENT_CLUSTER_COUNTS,
    paper_sums.CLIENT_PRESENCE,
    paper_sums.CLIENT_CLUSTER_SUMS,
    paper_sums.CLIENT_CLUSTER_MEANS,
    residual_sums.CLIENT_SIZES,
    residual_sums.POINT_SECOND_MOMENT,
    residual_sums.CLIENT_SECOND_MOMENT,
    residual_sums.POINT_RESIDUALS,
    residual_sums.CLIENT_RESIDUALS,
    spreads.POINT_SPREADS,
    spreads.CLIENT_SPREADS,
    costs.POINT_COSTS,
    costs.CLIENT_COSTS,
    swaps.POINT_SWAPS,
    swaps.CLIENT_SWAPS,
    norms.POINT_DISTANCES,
    norms.CLIENT_DISTANCES,
    norms.POINT_RESIDUAL_NORMS,
    norms.CLIENT_RESIDUAL_NORMS,
    norms.POINT_MOMENT_NORMS,
    norms.CLIENT_MOMENT_NORMS,
    norms.GRID_COUNTS,
    norms.TREE_COUNTS,
    norms.POINT_COUNT,
    column_counts.POINT_COLUMNS,
    column_counts.CLIENT_COLUMNS,
    profile_sums.POINT_PROFILE,
    profile_sums.CLIENT_PROFILE,
    word_counts.POINT_WORDS,
    word_counts.CLIENT_WORDS,
)

REGISTRY = {statistic.name: statistic for statistic in _PRODUCTION}
"""What a site on a network can be asked for, by name."""
