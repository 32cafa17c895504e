"""All that a client ever computes, and how much one privacy unit can change it.

Every statistic is a sum of bounded contributions, in integers. Statistics of *points* bound each point: a point is clipped to the
public ball and encoded as an integer vector z with ``|z| <= R`` (``privacy.fixed_point``). Statistics of *clients* bound the whole of
what a client adds. Assignments to centers are decided on those integers too, exactly, so no point's cluster can depend on another
point. Ties go to the first center. Rows and clients that are empty add zero.

Public arguments: ``center`` and ``radius`` of the ball, ``centers`` in integer coordinates (of the subspace where a ``projection`` is
given), ``bound`` on a client's contribution in the data's own units.
"""

from feddp_kmeans.algorithm.statistics import norms, paper, refined, theory
from feddp_kmeans.federation.base import Statistic

REGISTRY = {made.name: made for module in (norms, paper, refined, theory) for made in vars(module).values() if isinstance(made, Statistic)}
"""Every statistic by its name: what a remote client can be asked for."""
