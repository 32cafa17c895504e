"""Method ``paper``: the noisy aggregates of Algorithms 1 and 2 as the paper states them, for both privacy units."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.client_bounds import ClientBounds
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Proxies, Subspace
from feddp_kmeans.algorithm.server import centers_from_sums, credible_weights, symmetric_from_upper, top_subspace, variance_around
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import epsilon_share_multiplier
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import paper_sums as statistics
from feddp_kmeans.statistics.arithmetic import project
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.query import Statistic

SHARES = {PrivacyUnit.POINT: (0.2, 0.2, 0.45, 0.15), PrivacyUnit.CLIENT: (0.35, 0.1, 0.45, 0.1)}
"""The paper's rule of thumb: epsilon_1, epsilon_2, epsilon_3G, epsilon_3L as parts of epsilon_init."""

_LEAST_COUNT, _CREDIBLE = 0.5, 2.0
"""A count must be at least half a point, and this many standard deviations of its noise, to be divided by."""


@dataclass(frozen=True)
class _Aggregate:
    """One aggregate of the paper: what is summed, under which noise, and how much of it one unit may be."""

    statistic: Statistic
    mechanism: Mechanism
    sensitivity: float
    bound: float | None = None


@dataclass(frozen=True)
class PaperMethod:
    """The paper's releases: outer product, weights, sums and counts; then sums and counts for every Lloyd step."""

    unit: PrivacyUnit
    ball: Ball
    k: int
    server_points: FloatArray
    lloyd_steps: int
    bounds: ClientBounds | None = None
    count_noise: Mechanism = Mechanism.LAPLACE

    @cached_property
    def aggregates(self) -> dict[str, _Aggregate]:
        """Return what is summed for each release."""
        if self.bounds is None:
            return _point_aggregates(self.ball.radius, self.count_noise)
        return _client_aggregates(self.bounds, self.count_noise)

    def requests(self, epsilon: float, delta: float, shares: Sequence[float] | None = None, *, with_init: bool = True) -> list[Release]:
        """Return the releases, each with the noise that meets its own share of the budget (Theorem 1).

        A Lloyd step gets as much as step 3 of the initialization, divided between sums and counts alike. Without the initialization
        the Lloyd steps have the whole budget.
        """
        first, second, sums, counts = shares or SHARES[self.unit]
        ball, k, steps, dimension = self.ball, self.k, self.lloyd_steps, self.ball.dimension
        total = first + second + (1 + steps) * (sums + counts)
        rows = [
            ("outer product", first, dimension * (dimension + 1) // 2, 1),
            ("weights", second, len(self.server_points), 1),
            ("sums", sums, k * dimension, 1),
            ("counts", counts, k, 1),
        ]
        if steps:
            rows += [("lloyd sums", sums, k * dimension, steps), ("lloyd counts", counts, k, steps)]
        if not with_init:
            rows, total = rows[4:], steps * (sums + counts)
        deltas = sum(times for name, _, _, times in rows if self.aggregates[name].mechanism is Mechanism.GAUSSIAN)
        finite = epsilon if np.isfinite(epsilon) else 1.0
        releases = []
        for name, share, values, times in rows:
            a = self.aggregates[name]
            steps_of = a.statistic.sensitivity(center=ball.center, radius=ball.radius, bound=a.bound).under(a.mechanism)
            assert steps_of is not None
            multiplier = epsilon_share_multiplier(a.mechanism, finite * share / total, delta / deltas)
            releases.append(Release(name, a.mechanism, a.sensitivity, steps_of, multiplier, values, times))
        return releases

    def bind(self, run: Run) -> "PaperRun":
        """Return the steps of this method in one run."""
        return PaperRun(self, run)


def _point_aggregates(radius: float, count_noise: Mechanism) -> dict[str, _Aggregate]:
    """Return the aggregates of points: sensitivities Delta^2, 1, Delta and 1; a count's is 1 in either norm."""
    sums = _Aggregate(statistics.CLUSTER_SUMS, Mechanism.GAUSSIAN, radius)
    counts = _Aggregate(statistics.CLUSTER_COUNTS, count_noise, 1.0)
    outer = _Aggregate(statistics.OUTER_PRODUCT, Mechanism.GAUSSIAN, radius**2)
    return {"outer product": outer, "weights": counts, "sums": sums, "counts": counts, "lloyd sums": sums, "lloyd counts": counts}


def _client_aggregates(bounds: ClientBounds, count_noise: Mechanism) -> dict[str, _Aggregate]:
    """Return the aggregates of clients: each clipped to its own bound; step 3 sends means and presences."""

    def vectors(statistic: Statistic, bound: float) -> _Aggregate:
        return _Aggregate(statistic, Mechanism.GAUSSIAN, bound, bound)

    def counts(statistic: Statistic, bound: float) -> _Aggregate:
        stated = statistic.sensitivity(bound=bound).under(count_noise)
        assert stated is not None
        return _Aggregate(statistic, count_noise, stated / statistics.COUNT_STEPS, bound)

    return {
        "outer product": vectors(statistics.CLIENT_OUTER_PRODUCT, bounds.outer_product),
        "weights": counts(statistics.CLIENT_CLUSTER_COUNTS, bounds.weights),
        "sums": vectors(statistics.CLIENT_CLUSTER_MEANS, bounds.means),
        "counts": counts(statistics.CLIENT_PRESENCE, bounds.presence),
        "lloyd sums": vectors(statistics.CLIENT_CLUSTER_SUMS, bounds.sums),
        "lloyd counts": counts(statistics.CLIENT_CLUSTER_COUNTS, bounds.counts),
    }


@dataclass(frozen=True)
class PaperRun:
    """One run of the paper's method, in the ball's integer coordinates until centers are returned."""

    method: PaperMethod
    run: Run

    def subspace(self) -> Subspace:
        """Return Pi: the top k eigenvectors of the noisy outer product (step 1)."""
        upper, method = self._noisy_sum("outer product"), self.method
        return Subspace(top_subspace(symmetric_from_upper(upper, method.ball.dimension), method.k))

    def proxies(self, subspace: Subspace) -> Proxies:
        """Return the projected server points and their noisy weights, with those that may be noise set to zero (step 2)."""
        method, projection = self.method, subspace.projection
        projected = project(method.ball.encode(method.server_points), projection)
        noisy = self._noisy_sum("weights", centers=projected, projection=projection)
        weights = credible_weights(noisy, self.run.made["weights"].stddev, method.k)
        variance = variance_around(projected, projected, weights)
        return Proxies(projection, projected, weights, weights, self.run.made["weights"].stddev, variance=variance)

    def initial_centers(self, proxies: Proxies, projected_centers: FloatArray) -> NoisyCenters:
        """Return centers in full space, and the noisy counts, of the clusters around the projected centers (step 3)."""
        lifted = self.method.ball.decode(projected_centers @ proxies.projection.T)
        return self._divide("sums", "counts", lifted, (), centers=projected_centers, projection=proxies.projection)

    def lloyd_centers(self, latest: NoisyCenters) -> NoisyCenters:
        """Return the centers after one noisy Lloyd step, and the noisy counts."""
        ball = self.method.ball
        centers = (latest.centers - ball.center) / ball.grid
        return self._divide("lloyd sums", "lloyd counts", latest.centers, latest.remarks, centers=centers)

    def closing(self, latest: NoisyCenters) -> None:
        """Return nothing: the paper makes no closing look."""

    def _divide(self, sums_name: str, counts_name: str, fallback: FloatArray, remarks: tuple[str, ...], **public: Any) -> NoisyCenters:
        """Return sums over counts; the fallback if a noisy count may be noise only."""
        ball = self.method.ball
        sums = self._noisy_sum(sums_name, **public).reshape(fallback.shape)
        counts = self._noisy_sum(counts_name, **public)
        count_stddev = self.run.made[counts_name].stddev
        smallest = max(_LEAST_COUNT, _CREDIBLE * count_stddev)
        if (unsure := int(np.sum(counts < smallest))) > 0:
            remark = f"{sums_name}: {unsure} of {len(counts)} noisy counts may be noise only; those centers stayed where they were"
            remarks = (*remarks, remark)
        means = centers_from_sums(sums, counts, fallback - ball.center, smallest)
        center_stddev = self.run.made[sums_name].stddev / np.maximum(counts, smallest)
        return NoisyCenters(ball.clip(ball.center + means), counts, center_stddev, count_stddev, remarks)

    def _noisy_sum(self, name: str, **public: Any) -> FloatArray:
        aggregate, ball = self.method.aggregates[name], self.method.ball
        if aggregate.bound is not None:
            public["bound"] = float(aggregate.bound)
        return self.run.noisy_sum(aggregate.statistic, self.run.plan[name], center=ball.center, radius=ball.radius, **public)
