"""The public arguments that statistics share, each with the range in which the proofs hold; docs/proofs.md says why."""

from feddp_kmeans.statistics.fixed_point import LEAST_RADIUS
from feddp_kmeans.statistics.gate import Argument

FARTHEST = 2.0**24
"""Farthest center or origin, in steps: scores stay below 2**50, far within 2**53. The ball itself has 2**16."""

_UNIT_COLUMNS = 1 + 5e-7
"""Longest column of a projection: 1, and what rounding may add to an orthonormal one."""

BALL = {"center": Argument(("d",)), "radius": Argument(low=LEAST_RADIUS)}
"""Center and radius of the ball that points are clipped to, in the data's units."""

CLUSTERS = BALL | {
    "projection": Argument(("d", "p"), column_norm=_UNIT_COLUMNS, optional=True),
    "centers": Argument(("k", "p"), row_norm=FARTHEST),
}
"""Centers that points are assigned to, in integer steps: of the ball, or of the subspace where a projection is given."""

RESIDUALS = CLUSTERS | {
    "residual_projection": Argument(("d", "q"), column_norm=_UNIT_COLUMNS, optional=True),
    "origins": Argument(("k", "q"), row_norm=FARTHEST),
    "count_weight": Argument(low=0.0, high=2.0**32),
}
"""What is subtracted from the points of each cluster, and what a count weighs beside a residual, in integer steps."""

BOUND = {"bound": Argument(low=0.0)}
"""Bound on a client's contribution in the data's units. A query's sensitivity must be from 1 to 2**56 steps: that limits it."""

RESIDUAL_BOUND = {"bound": Argument(low=0.5, high=2.0**60)}
"""Bound on a vector of residuals and counts, in integer steps. Half a step: no factor is then above 2**31."""

MOMENT_BOUND = {"bound": Argument(low=1.0, high=2.0**100)}
"""Bound on a second moment, in integer steps."""

EDGES = {"edges": Argument(("e",), ascending=True)}
"""Edges of classes."""
