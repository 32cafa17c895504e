"""The one core of residual sums: noisy looks at units (points or clients), each of which sends one vector of bounded length.

How long that vector may be is up to a source of bounds (bounds.py); what is made of the sums is up to the methods.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.algorithm.tuning import BOUNDS
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import column_counts, costs, norms, residual_sums, spreads, swaps
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.paper_sums import SLACK
from feddp_kmeans.statistics.query import Statistic

TINY = 1e-6
"""Least divisor: no count is believed to be smaller."""


@dataclass(frozen=True)
class Frame:
    """The public arguments of residual sums: points are assigned to centers, and the origin of their center is subtracted from them.

    Centers are in the space of the first projection, origins in that of the second; None is the full space.
    """

    centers: FloatArray
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


@dataclass(frozen=True)
class Bound:
    """How long the vector of residuals and weighted counts of one unit may be, in integer steps."""

    length: float
    count_weight: float
    kept: float
    """Part of all points that is left when longer vectors are scaled down."""
    square_weight: float | None = None
    bias: float = 0.0
    """Squared length by which scaling down may move the clusters' means."""
    square: float | None = None
    """Mean square of the residuals that noise lets see, as they are scaled down; None if nothing is, or it is not known."""

    @classmethod
    def at(
        cls,
        length: float,
        count_weight: float,
        kept: float,
        release: Release,
        square_weight: float | None = None,
        bias: float = 0.0,
        square: float | None = None,
    ) -> "Bound":
        """Return the bound near this length; without noise it is so long that nothing is scaled down."""
        whole = residual_sums.whole_bound(roomy(length, release))
        noisy = release.noise_multiplier > 0
        if not noisy:
            return cls(whole, count_weight, 1.0, square_weight)
        return cls(whole, count_weight, kept, square_weight, bias, square)


@dataclass(frozen=True)
class Sums:
    """Noisy residual sums and counts of clusters, sums of squared residuals if asked for, and the standard deviations of their noise."""

    residuals: FloatArray
    counts: FloatArray
    noise: float
    count_noise: float
    kept: float
    bias: float = 0.0
    squares: FloatArray | None = None
    square_noise: float = 0.0

    def means(self, least_count: FloatArray | float = 1.0) -> tuple[FloatArray, FloatArray]:
        """Return mean residuals and the variance of their noise; no count is believed below ``least_count`` times its noise."""
        divisor = np.maximum(self.counts, np.maximum(least_count * self.count_noise, TINY))
        return self.residuals / divisor[:, None], np.square(self.noise / divisor)


@dataclass(frozen=True)
class Spreads:
    """Noisy sizes of clusters and sums of squared distances, in squared steps, with the noise of each and of the sum of all squares."""

    counts: FloatArray
    squares: FloatArray
    count_noise: float
    square_noise: float
    total_noise: float


@dataclass(frozen=True)
class Moment:
    """The noisy second moment of all points, in a traceless part and a trace, with the noise of one entry and the bound on a unit."""

    matrix: FloatArray
    trace: float
    noise: float
    bound: float

    def averaged(self, other: "Moment") -> "Moment":
        """Return the mean of this one and another of the same bound, each with the weight that makes noise least."""
        both = self.noise**2 + other.noise**2
        own = other.noise**2 / both if both else 0.5
        matrix, trace = own * self.matrix + (1 - own) * other.matrix, own * self.trace + (1 - own) * other.trace
        return Moment(matrix, trace, self.noise * np.sqrt(own), self.bound)


def gaussian_releases(parts: Mapping[str, float], rows: Iterable[tuple[str, float, int, int]], **sums: int) -> list[Release]:
    """Return a release for each row of name, integer steps of a bound, values and times, with noise for its part of the budget mu**2.

    Every sensitivity is 1, in units of the bound. ``sums`` says for some of the names how many sums they are made in, at most.
    """
    return [
        Release(name, Mechanism.GAUSSIAN, 1.0, float(steps), float(np.sqrt(times / parts[name])), values, times, sums.get(name, 0))
        for name, steps, values, times in rows
    ]


def roomy(length: float, release: Release) -> float:
    """Return the bound for this typical length: at least one step, and far beyond it if there is no noise to keep small."""
    length = max(length, 1.0)
    return length if release.noise_multiplier > 0 else BOUNDS.unbounded * length


def noise_per_length(release: Release, n_points: float, k: int, dimension: int, steps: int = 1) -> float:
    """Return the noise in the centers if the bound is 1: its square, times that of the bound, is what it adds to the cost of a point.

    A bound of length b adds ``d (b scale k / n)**2 / steps``, if this many steps are averaged.
    """
    return float(release.scale * k * np.sqrt(dimension / steps) / max(n_points, 1.0))


class Looks:
    """The private verbs of the methods on residuals; every release is in the plan."""

    def __init__(self, run: Run, unit: PrivacyUnit) -> None:
        self.plan, self.made = run.plan, run.made
        self.n_clients = run.n_clients * run.plan.sampling_rate
        """How many clients take part in a release, about."""
        self.is_client_level = unit is PrivacyUnit.CLIENT
        self._run = run

    @property
    def origin(self) -> FloatArray:
        """Return where the points are about, in the units in which they are read; zero if nothing is known."""
        run = self._run
        return np.zeros(run.dimension) if run.units is None or run.fill is None else run.fill / run.units

    def read_as(self, units: FloatArray, fill: FloatArray | None) -> None:
        """Have all rows read in these units from now on (see ``statistics.gate.ROWS``)."""
        self._run.units, self._run.fill = units, fill

    def doubt(self, remark: str) -> None:
        """Have the result say what is doubtful about it."""
        self._run.remarks.append(remark)

    def per_unit(self, n_points: float) -> float:
        """Return about how many points a unit holds, if there are this many in all."""
        return max(n_points / max(self.n_clients, 1), 1.0) if self.is_client_level else 1.0

    def sums(self, name: str, ball: Ball, frame: Frame, bound: Bound, times: int = 1) -> Sums:
        """Return noisy residual sums and counts, with the noise of the mean of this many releases."""
        statistic = residual_sums.CLIENT_RESIDUALS if self.is_client_level else residual_sums.POINT_RESIDUALS
        public = vars(frame) | {"bound": bound.length, "count_weight": bound.count_weight, "square_weight": bound.square_weight}
        noisy = self._look(statistic, name, ball, times=times, **public)
        table = bound.length * noisy.reshape(len(frame.centers), -1)
        noise = bound.length * self.made[name].scale
        found = Sums(
            table[:, : frame.origins.shape[1]], table[:, -1] / bound.count_weight, noise, noise / bound.count_weight, bound.kept, bound.bias
        )
        if bound.square_weight is None:
            return found
        return replace(found, squares=table[:, -2] / bound.square_weight, square_noise=noise / bound.square_weight)

    def second_moment(self, name: str, ball: Ball, typical: float, times: int = 1) -> Moment:
        """Return the noisy second moment around the ball's center, the mean of this many releases; a typical unit's is ``typical`` long."""
        statistic = residual_sums.CLIENT_SECOND_MOMENT if self.is_client_level else residual_sums.POINT_SECOND_MOMENT
        release = self.plan[name]
        bound = roomy(typical, release)
        matrix, trace = residual_sums.traceless(bound * self._look(statistic, name, ball, times=times, bound=bound), ball.dimension)
        return Moment(matrix, trace, bound * self.made[name].scale, bound)

    def distances(self, center: FloatArray, edges: FloatArray) -> FloatArray:
        """Return a noisy histogram of the points' distances from the center."""
        statistic = norms.CLIENT_DISTANCES if self.is_client_level else norms.POINT_DISTANCES
        return self._run.noisy_sum(statistic, self.plan["distances"], center=center, edges=edges)

    def columns(self, chosen: BoolArray, edges: FloatArray, times: int = 1) -> tuple[FloatArray, float]:
        """Return a noisy histogram of each chosen column over its own edges, the mean of this many releases, and the noise of a count."""
        statistic = column_counts.CLIENT_COLUMNS if self.is_client_level else column_counts.POINT_COLUMNS
        noisy = self._run.noisy_sum(statistic, self.plan["columns"], times=times, chosen=chosen.astype(np.float64), column_edges=edges)
        points = float(np.sqrt(len(edges)))
        return points * noisy.reshape(len(edges), -1), points * self.made["columns"].scale

    def spreads(self, ball: Ball, centers: FloatArray, reach: float, bound: float) -> Spreads:
        """Return noisy sizes, and squares combined with their total to least variance; a client is scaled down to ``bound`` points."""
        k, release = len(centers), self.plan["closing"]
        statistic = spreads.CLIENT_SPREADS if self.is_client_level else spreads.POINT_SPREADS
        steps = 1.0
        public = {"centers": np.asarray(centers, dtype=np.float64), "reach": float(reach)}
        if self.is_client_level:
            public["bound"] = bound
            steps = residual_sums.BOUNDED_STEPS * SLACK / (11 * spreads.UNIT_STEPS * bound)
        noisy = self._look(statistic, release.name, ball, **public) / (release.grid * steps)
        noise = self.made[release.name].stddev / (release.grid * steps)
        square, all_squares = reach**2 / spreads.SQUARE_STEPS, reach**2 / spreads.TOTAL_STEPS
        squares, total = square * noisy[k:-1], all_squares * noisy[-1]
        each, whole = (square * noise) ** 2, (all_squares * noise) ** 2
        gain = each / (k * each + whole) if each else 0.0
        return Spreads(
            counts=noisy[:k] / spreads.SIZE_STEPS,
            squares=squares + gain * (total - squares.sum()),
            count_noise=float(noise / spreads.SIZE_STEPS),
            square_noise=float(np.sqrt(each * (1 - gain))),
            total_noise=float(np.sqrt(k * gain * whole)),
        )

    def cost_differences(self, name: str, ball: Ball, sets: FloatArray, bound: float, times: int = 1) -> tuple[FloatArray, float]:
        """Return how much more than the mean of all sets each set of centers costs, in squared steps, and the noise of each.

        ``sets`` are c sets of k centers in steps of the ball. ``bound`` is the norm that a unit's c numbers, each times c, are scaled down
        to. The result is the mean of this many releases; noise is independent between sets.
        """
        release = self.plan[name]
        statistic = costs.CLIENT_COSTS if self.is_client_level else costs.POINT_COSTS
        length, places = roomy(bound, release), np.asarray(sets, dtype=np.float64)
        noisy = self._look(statistic, name, ball, times=times, sets=places, bound=length)
        each = length / len(sets)
        return each * noisy, float(each * self.made[name].scale)

    def swap_prices(
        self, name: str, ball: Ball, places: Mapping[str, FloatArray], reach: float, bound: float, times: int
    ) -> tuple[FloatArray, FloatArray, float]:
        """Return what each center's points cost more without it and save with two in its place, in squared steps, and the noise.

        ``places`` are the tables of ``statistics.swaps``, ``bound`` is the number of points that a client is scaled down to.
        """
        statistic, scaled = swaps.POINT_SWAPS, reach**2
        public: dict[str, Any] = {**places, "reach": reach}
        if self.is_client_level:
            statistic, scaled = swaps.CLIENT_SWAPS, scaled * bound
            public["bound"] = bound
        losses, gains = scaled * self._look(statistic, name, ball, times=times, **public).reshape(2, -1)
        return losses, gains, scaled * self.made[name].scale

    @property
    def total_price(self) -> float:
        """Return the planned noise in the total of all squared distances, in squared reaches, where units are points."""
        release = self.plan["closing"]
        return release.stddev / release.grid / spreads.TOTAL_STEPS

    @property
    def size_price(self) -> float:
        """Return the planned noise in the size of a cluster, in bounds on a unit."""
        release = self.plan["closing"]
        return release.stddev / release.grid / spreads.SIZE_STEPS

    def residual_lengths(
        self, ball: Ball, frame: Frame, count_weight: float, edges: FloatArray, name: str = "bounds", square_weight: float | None = None
    ) -> FloatArray:
        """Return a noisy histogram of the lengths of the units' vectors of residuals, counts and, for clients, weighted squares."""
        public = vars(frame) | {"edges": edges, "count_weight": count_weight}
        if self.is_client_level:
            return self._look(norms.CLIENT_RESIDUAL_NORMS, name, ball, **public, square_weight=square_weight)
        return self._look(norms.POINT_RESIDUAL_NORMS, name, ball, **public)

    def moment_lengths(self, ball: Ball, edges: FloatArray) -> FloatArray:
        """Return a noisy histogram of the lengths of the units' second moments."""
        return self._look(norms.CLIENT_MOMENT_NORMS if self.is_client_level else norms.POINT_MOMENT_NORMS, "bounds", ball, edges=edges)

    def typical_size(self) -> int:
        """Return the noisy median of the clients' sizes, rounded down to a power of two; too small a size does no harm."""
        histogram = self._run.noisy_sum(residual_sums.CLIENT_SIZES, self.plan["client sizes"])
        expected = self._run.n_clients * self.plan.sampling_rate
        crossing = np.flatnonzero(np.cumsum(histogram) >= expected / 2)
        return int(2 ** crossing[0]) if len(crossing) else 1

    def _look(self, statistic: Statistic, name: str, ball: Ball, **public: Any) -> FloatArray:
        return self._run.noisy_sum(statistic, self.plan[name], center=ball.center, radius=ball.radius, **public)
