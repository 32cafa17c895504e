"""The one core of residual sums: noisy looks at units (points or clients), each of which sends one vector of bounded length.

How long that vector may be comes from a source of bounds: simulated_units.py where there are server data, histogram_bounds.py where there
are none. What is made of the sums is up to the methods.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.tuning import BOUNDS
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import norms, residual_sums
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.query import Statistic

TINY = 1e-6
"""Least divisor: no count is believed to be smaller."""

_LEAST_NOISE = 1e-9
"""Stands for no noise where noise is divided by."""


@dataclass(frozen=True)
class Frame:
    """Where points are assigned and what is subtracted from them: targets and origins, each in the space of its own projection."""

    targets: FloatArray
    origins: FloatArray
    projection: FloatArray | None = None
    residual_projection: FloatArray | None = None

    @classmethod
    def around(cls, centers: FloatArray, projection: FloatArray | None = None) -> "Frame":
        """Return the frame in which points are assigned to these centers and the same centers are subtracted."""
        return cls(centers, centers, projection, projection)

    @property
    def in_full(self) -> bool:
        """Return whether residuals are taken in full space, not in a subspace."""
        return self.residual_projection is None

    def arguments(self) -> dict[str, Any]:
        """Return the public arguments of a statistic of residuals."""
        return {
            "centers": self.targets,
            "origins": self.origins,
            "projection": self.projection,
            "residual_projection": self.residual_projection,
        }


@dataclass(frozen=True)
class Bound:
    """How long the vector of residuals and weighted counts of one unit may be, in integer steps."""

    length: float
    count_weight: float
    kept: float
    """Part of all points that is left when longer vectors are scaled down."""

    @classmethod
    def at(cls, length: float, count_weight: float, kept: float, release: Release) -> "Bound":
        """Return the bound near this length; without noise it is so long that nothing is scaled down."""
        return cls(residual_sums.whole_bound(roomy(length, release)), count_weight, kept if release.noise_multiplier > 0 else 1.0)


@dataclass(frozen=True)
class Sums:
    """Noisy residual sums and counts of clusters; each number of a sum has noise ``noise``, each count ``count_noise``."""

    residuals: FloatArray
    counts: FloatArray
    noise: float
    count_noise: float
    kept: float

    def means(self, least_count: float = 1.0) -> tuple[FloatArray, FloatArray]:
        """Return mean residuals and the variance of their noise; no count is believed below ``least_count`` times its noise."""
        divisor = np.maximum(self.counts, max(least_count * self.count_noise, TINY))
        return self.residuals / divisor[:, None], np.square(self.noise / divisor)


@dataclass(frozen=True)
class Moment:
    """A noisy second moment of all points, traceless, and its trace; each entry has noise ``noise``."""

    matrix: FloatArray
    trace: float
    noise: float
    bound: float


def roomy(length: float, release: Release) -> float:
    """Return the bound for this typical length: at least one step, and far beyond it if there is no noise to keep small."""
    length = max(length, 1.0)
    return length if release.noise_multiplier > 0 else BOUNDS.unbounded * length


def affordable_length(release: Release, n_points: float, k: int, dimension: int, steps: int = 1) -> float:
    """Return how long a bound may be, in typical lengths, for its noise to add only a small part to the cost.

    A bound at the median pulls centers towards the common points: of a rare category little is left. The noise of a bound of length b adds
    ``d (b scale k / n)**2 / steps`` to the cost of a point, if so many steps are averaged.
    """
    noise = release.scale * k * np.sqrt(dimension / steps)
    return float(n_points * np.sqrt(BOUNDS.cheap) / max(noise, _LEAST_NOISE))


class Looks:
    """The private verbs of the methods on residuals; every release is in the plan."""

    def __init__(self, run: Run, unit: PrivacyUnit) -> None:
        self.plan = run.plan
        self.is_client_level = unit is PrivacyUnit.CLIENT
        self._run = run

    def sums(self, name: str, ball: Ball, frame: Frame, bound: Bound) -> Sums:
        """Return noisy residual sums and counts."""
        statistic = residual_sums.CLIENT_RESIDUALS if self.is_client_level else residual_sums.POINT_RESIDUALS
        public = frame.arguments() | {"bound": bound.length, "count_weight": bound.count_weight}
        table = bound.length * self._look(statistic, name, ball, **public).reshape(len(frame.targets), -1)
        noise = bound.length * self.plan[name].scale
        return Sums(table[:, :-1], table[:, -1] / bound.count_weight, noise, noise / bound.count_weight, bound.kept)

    def second_moment(self, ball: Ball, typical: float) -> Moment:
        """Return the noisy second moment of all points around the ball's center; a typical unit's has this length."""
        statistic = residual_sums.CLIENT_SECOND_MOMENT if self.is_client_level else residual_sums.POINT_SECOND_MOMENT
        release = self.plan["second moment"]
        bound = roomy(typical, release)
        matrix, trace = residual_sums.traceless(bound * self._look(statistic, release.name, ball, bound=bound), ball.dimension)
        return Moment(matrix, trace, bound * release.scale, bound)

    def distances(self, center: FloatArray, edges: FloatArray) -> FloatArray:
        """Return noisy classes of the points' distances from the center."""
        statistic = norms.CLIENT_DISTANCES if self.is_client_level else norms.POINT_DISTANCES
        return self._run.noisy_sum(statistic, self.plan["distances"], center=center, edges=edges)

    def residual_lengths(self, ball: Ball, frame: Frame, count_weight: float, edges: FloatArray) -> FloatArray:
        """Return noisy classes of the lengths of the units' vectors of residuals and counts."""
        statistic = norms.CLIENT_RESIDUAL_NORMS if self.is_client_level else norms.POINT_RESIDUAL_NORMS
        return self._look(statistic, "bounds", ball, edges=edges, count_weight=count_weight, **frame.arguments())

    def moment_lengths(self, ball: Ball, edges: FloatArray) -> FloatArray:
        """Return noisy classes of the lengths of the units' second moments."""
        return self._look(norms.CLIENT_MOMENT_NORMS if self.is_client_level else norms.POINT_MOMENT_NORMS, "bounds", ball, edges=edges)

    def typical_size(self) -> int:
        """Return the noisy median of the clients' sizes, rounded down to a power of two; an error towards small sizes does no harm."""
        histogram = self._run.noisy_sum(residual_sums.CLIENT_SIZES, self.plan["client sizes"])
        expected = self._run.n_clients * self.plan.sampling_rate
        crossing = np.flatnonzero(np.cumsum(histogram) >= expected / 2)
        return int(2 ** crossing[0]) if len(crossing) else 1

    def _look(self, statistic: Statistic, name: str, ball: Ball, **public: Any) -> FloatArray:
        return self._run.noisy_sum(statistic, self.plan[name], center=ball.center, radius=ball.radius, **public)
