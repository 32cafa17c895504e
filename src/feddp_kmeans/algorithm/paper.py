"""Method ``paper``: the noisy aggregates of Algorithms 1 and 2 as the paper states them, for both privacy units."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import statistics
from feddp_kmeans.algorithm.bounds import ClientBounds
from feddp_kmeans.algorithm.server import centers_from_sums, credible_weights, symmetric_from_upper, top_subspace
from feddp_kmeans.federation.base import Federation, Statistic
from feddp_kmeans.privacy.fixed_point import RESOLUTION, Ball
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan, epsilon_share_multiplier
from feddp_kmeans.privacy.unit import PrivacyUnit

SHARES = {PrivacyUnit.POINT: (0.2, 0.2, 0.45, 0.15), PrivacyUnit.CLIENT: (0.35, 0.1, 0.45, 0.1)}
"""The paper's rule of thumb: epsilon_1, epsilon_2, epsilon_3G, epsilon_3L as parts of epsilon_init."""


@dataclass(frozen=True)
class _Aggregate:
    """One aggregate of the paper: what is summed, under which noise, and how much of it one unit may be."""

    name: str
    statistic: Statistic
    mechanism: Mechanism
    sensitivity: float
    integer_sensitivity: float
    bound: float | None = None


class PaperMethod:
    """The paper's releases: outer product, weights, sums and counts; then sums and counts for every Lloyd step."""

    def __init__(self, unit: PrivacyUnit, ball: Ball, k: int, n_server: int, lloyd_steps: int, bounds: ClientBounds | None = None) -> None:
        self.ball = ball
        self._k = k
        self._n_server = n_server
        self._lloyd_steps = lloyd_steps
        self._unit = unit
        made = _client_aggregates(ball, bounds) if bounds is not None else _point_aggregates(ball)
        self._aggregates = {aggregate.name: aggregate for aggregate in made}

    def requests(self, epsilon: float, delta: float, shares: Sequence[float] | None = None) -> list[Release]:
        """Return the releases, each with the noise that meets its own share of the budget (Theorem 1).

        A Lloyd step gets as much as step 3 of the initialization, divided between sums and counts alike.
        """
        first, second, sums, counts = shares or SHARES[self._unit]
        total = first + second + (1 + self._lloyd_steps) * (sums + counts)
        dimension, k, steps = self.ball.dimension, self._k, self._lloyd_steps
        rows = [
            ("outer product", first, dimension * (dimension + 1) // 2, 1),
            ("weights", second, self._n_server, 1),
            ("sums", sums, k * dimension, 1),
            ("counts", counts, k, 1),
        ]
        if steps:
            rows += [("lloyd sums", sums, k * dimension, steps), ("lloyd counts", counts, k, steps)]
        deltas = sum(times for name, _, _, times in rows if self._aggregates[name].mechanism is Mechanism.GAUSSIAN)
        finite = epsilon if np.isfinite(epsilon) else 1.0
        return [
            Release(
                name=name,
                mechanism=(a := self._aggregates[name]).mechanism,
                sensitivity=a.sensitivity,
                integer_sensitivity=a.integer_sensitivity,
                noise_multiplier=epsilon_share_multiplier(a.mechanism, finite * share / total, delta / deltas),
                values=values,
                times=times,
            )
            for name, share, values, times in rows
        ]

    def projection(self, federation: Federation, plan: Plan) -> FloatArray:
        """Return Pi: the top k eigenvectors of the noisy outer product, as columns (step 1)."""
        upper = self._noisy_sum(federation, plan, "outer product")
        return top_subspace(symmetric_from_upper(upper, self.ball.dimension), self._k)

    def weights(self, federation: Federation, plan: Plan, projection: FloatArray, projected: FloatArray) -> FloatArray:
        """Return the noisy weights of the projected server points, with those that may be noise set to zero (step 2)."""
        noisy = self._noisy_sum(federation, plan, "weights", centers=projected, projection=projection)
        return credible_weights(noisy, plan["weights"].stddev, self._k)

    def initial_centers(
        self, federation: Federation, plan: Plan, projection: FloatArray, projected_centers: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return centers in full space, and the noisy counts, of the clusters around the projected centers (step 3)."""
        public = {"centers": projected_centers, "projection": projection}
        sums = self._noisy_sum(federation, plan, "sums", **public)
        counts = self._noisy_sum(federation, plan, "counts", **public)
        lifted = self.ball.decode(projected_centers @ projection.T)
        return self._divide(sums, counts, lifted, plan["counts"])

    def lloyd_centers(self, federation: Federation, plan: Plan, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the centers after one noisy Lloyd step, and the noisy counts."""
        public = {"centers": (centers - self.ball.center) / self.ball.grid}
        sums = self._noisy_sum(federation, plan, "lloyd sums", **public)
        counts = self._noisy_sum(federation, plan, "lloyd counts", **public)
        return self._divide(sums, counts, centers, plan["lloyd counts"])

    def center_stddev(self, plan: Plan, counts: FloatArray) -> FloatArray:
        """Return the standard deviation of the noise in one coordinate of each center."""
        sums, tallies = ("lloyd sums", "lloyd counts") if "lloyd sums" in plan else ("sums", "counts")
        stddev: FloatArray = plan[sums].stddev / np.maximum(counts, self._smallest_count(plan[tallies]))
        return stddev

    def _divide(self, sums: FloatArray, counts: FloatArray, fallback: FloatArray, release: Release) -> tuple[FloatArray, FloatArray]:
        shaped = sums.reshape(self._k, -1)
        means = centers_from_sums(shaped, counts, fallback - self.ball.center, self._smallest_count(release))
        return self.ball.clip(self.ball.center + means), counts

    @staticmethod
    def _smallest_count(release: Release) -> float:
        """Return the count below which noise may be all there is."""
        return max(0.5, 2 * release.stddev)

    def _noisy_sum(self, federation: Federation, plan: Plan, name: str, **public: Any) -> FloatArray:
        aggregate = self._aggregates[name]
        if aggregate.bound is not None:
            public["bound"] = aggregate.bound
        ball = self.ball
        return federation.noisy_sum(aggregate.statistic, plan[name], center=ball.center, radius=ball.radius, **public)


def _point_aggregates(ball: Ball) -> list[_Aggregate]:
    """Return the aggregates of points: sensitivities Delta^2, 1, Delta and 1."""
    gaussian, laplace, radius = Mechanism.GAUSSIAN, Mechanism.LAPLACE, ball.radius
    return [
        _Aggregate("outer product", statistics.OUTER_PRODUCT, gaussian, radius**2, float(RESOLUTION) ** 2),
        _Aggregate("weights", statistics.CLUSTER_COUNTS, laplace, 1.0, 1.0),
        _Aggregate("sums", statistics.CLUSTER_SUMS, gaussian, radius, float(RESOLUTION)),
        _Aggregate("counts", statistics.CLUSTER_COUNTS, laplace, 1.0, 1.0),
        _Aggregate("lloyd sums", statistics.CLUSTER_SUMS, gaussian, radius, float(RESOLUTION)),
        _Aggregate("lloyd counts", statistics.CLUSTER_COUNTS, laplace, 1.0, 1.0),
    ]


def _client_aggregates(ball: Ball, bounds: ClientBounds) -> list[_Aggregate]:
    """Return the aggregates of clients: each clipped to its own bound; step 3 sends means and presences."""
    gaussian, laplace = Mechanism.GAUSSIAN, Mechanism.LAPLACE
    count, mean = float(statistics.COUNT_STEPS), statistics.MEAN_STEPS / ball.grid

    def aggregate(name: str, statistic: Statistic, mechanism: Mechanism, bound: float, steps: float) -> _Aggregate:
        return _Aggregate(name, statistic, mechanism, bound, bound * steps, bound)

    return [
        aggregate("outer product", statistics.CLIENT_OUTER_PRODUCT, gaussian, bounds.outer_product, ball.grid**-2),
        aggregate("weights", statistics.CLIENT_CLUSTER_COUNTS, laplace, bounds.weights, count),
        aggregate("sums", statistics.CLIENT_CLUSTER_MEANS, gaussian, bounds.means, mean),
        aggregate("counts", statistics.CLIENT_PRESENCE, laplace, bounds.presence, count),
        aggregate("lloyd sums", statistics.CLIENT_CLUSTER_SUMS, gaussian, bounds.sums, mean),
        aggregate("lloyd counts", statistics.CLIENT_CLUSTER_COUNTS, laplace, bounds.counts, count),
    ]
