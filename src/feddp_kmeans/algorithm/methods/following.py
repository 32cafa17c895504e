"""The refined method after an earlier run: nothing is searched for, all looks are around the centers that were released then.

What was released is public, so the earlier run is this one's start: its centers with their errors, its sizes and spreads. A look is
averaged with what is known, as far as the centers stand still (a Kalman filter, see ``server.filtered``): month after month they become
sharper. A center that moves by more than noise explains follows at once, and what holds two clusters is split, as in any run. Numbers:
docs/next_month.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.bounds import HistogramBounds
from feddp_kmeans.algorithm.closing import Closing, closing_rows, with_closing
from feddp_kmeans.algorithm.domain import MOST_CLASSES
from feddp_kmeans.algorithm.feddp_init import Proxies, Subspace
from feddp_kmeans.algorithm.grown_cells import Cells
from feddp_kmeans.algorithm.last_run import LastRun
from feddp_kmeans.algorithm.looks import Looks, gaussian_releases
from feddp_kmeans.algorithm.proxies import Shape
from feddp_kmeans.algorithm.settings import Region
from feddp_kmeans.algorithm.tracking import POOL, Track, TrackedCenters, Tracker
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS

REASONS = (
    "an earlier run is the start: its released centers, sizes and spreads are public, so nothing is spent to find them again",
    "bounds: the noisy median of what units would send; the sensitivities are in units of these bounds",
    "looks: around the earlier centers, averaged with what is known of them as far as they stand still",
)
"""Why the plan is what it is."""


@dataclass(frozen=True)
class FollowingTuning:
    """The numbers of runs that go on from an earlier one."""

    shares: Mapping[str, float] = field(default_factory=lambda: {"bounds": 0.04, "looks": 0.96})
    """Parts of the budget mu**2."""
    pool: int = 32  # small releases, of which each look takes some
    lloyd_steps: int = 5  # looks after the first ...
    few_steps: int = 1  # ... or only these, where the noise of a size is above this part of the mean size: small looks are lost in it
    noisy_size: float = 0.15
    """With 5 steps always, travel at 1 has 0.65 and 0.73 of the excess of new starts, not 0.61 and 0.68 (two years); with 1 always, letter
    at 4 has 1.09, not 0.89 (one year)."""
    growth: float = 1.25
    room: float = 2.0  # radius of the ball, if no region is public, relative to what lay within reach of the earlier centers
    length: float = 2**0.25
    """Where classes of residuals end, in typical ones: in many dimensions nearly all are typical, and no edge may part them. With finer
    classes, as without server data, a bound is at the longest of them: the mixture at 4 has 1.15 of the excess of new starts, not 0.82."""
    doubt: float = 4.0
    """As in ``server.filtered``. With 1, errors grow from month to month where noise is large: travel at 1 has 0.79 and 0.85."""
    forgotten: float = 1 / 12  # part by which the variance of an earlier error grows from one run to the next


FOLLOWING = FollowingTuning()


def usual_steps(last: LastRun) -> int:
    """Return how many looks there are after the first, if nobody says."""
    noisy = last.count_stddev > FOLLOWING.noisy_size * last.n_points / last.k
    return FOLLOWING.few_steps if noisy else FOLLOWING.lloyd_steps


@dataclass(frozen=True)
class FollowingMethod:
    """The releases of a run after an earlier one."""

    unit: PrivacyUnit
    last: LastRun
    lloyd_steps: int
    region: Region | None = None
    """In the units of the columns."""

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget."""
        k, d = self.last.centers.shape
        rows = [("bounds", 1, MOST_CLASSES, 1 + self.lloyd_steps), (POOL, BOUNDED_STEPS, 2 * k * (d + 2), self.pool), *closing_rows(k)]
        return gaussian_releases(with_closing(FOLLOWING.shares), rows)

    @property
    def pool(self) -> int:
        """Return how many small releases of residual sums there are: enough for every look to have one."""
        return max(FOLLOWING.pool, 3 * (1 + self.lloyd_steps))

    @property
    def ball(self) -> Ball:
        """Return a ball around the mean of the earlier centers: it holds the public region, or has room for what lay within reach."""
        centers = self.centers
        middle = self.last.weights @ centers
        if self.region is not None:
            return self.region.ball_around(middle)
        span = float(np.linalg.norm(centers - middle, axis=1).max())
        return Ball(middle, FOLLOWING.room * (span + self.last.closing.reach))

    @property
    def centers(self) -> FloatArray:
        """Return the earlier centers in the units of the columns."""
        units = self.last.units
        return self.last.centers if units is None else np.asarray(units.read(self.last.centers))

    @property
    def variances(self) -> FloatArray:
        """Return the variance of the error of each coordinate by now, in the units of the columns.

        It is what the earlier run stated, somewhat larger since anything may have moved a little; and the means of other people from the
        same source differ by what so few of them explain.
        """
        last = self.last
        stated = np.nan_to_num(last.place_stddev if last.units is None else last.place_stddev / last.units.units)
        sampling = last.within / stated.shape[1] / np.maximum(last.weights * last.n_points, 1.0)
        variances: FloatArray = np.square(stated) * (1 + FOLLOWING.forgotten) + sampling[:, None]
        return variances

    def bind(self, run: Run) -> "FollowingRun":
        """Return the steps of this method in one run."""
        return FollowingRun(self, run)


class FollowingRun:
    """One run after an earlier one, in integer coordinates around the mean of its centers."""

    def __init__(self, method: FollowingMethod, run: Run) -> None:
        self._method = method
        self._looks = Looks(run, method.unit)
        self._rng = np.random.default_rng(run.server_seed)
        """Draws directions along which cells are split."""
        if (units := method.last.units) is not None:
            self._looks.read_as(units.units, units.fill)

    def subspace(self) -> Subspace:
        """Return the directions in which the earlier centers differ most, without a release."""
        return Subspace(self._shape.basis[:, : min(self._method.last.k, self._method.last.centers.shape[1])])

    def proxies(self, subspace: Subspace) -> Proxies:
        """Return the earlier centers as weighted points, without a release."""
        places = (self._method.centers - self._method.ball.center) / self._method.ball.grid
        weights = self._method.last.weights * self._method.last.n_points
        return Proxies(subspace.projection, places @ subspace.projection, weights, np.zeros(0))

    def initial_centers(self, _: Proxies, projected_centers: FloatArray) -> TrackedCenters:  # noqa: ARG002 the earlier ones are better
        """Return the centers of a first look around the earlier ones."""
        method, last, ball = self._method, self._method.last, self._method.ball
        shape, basis = self._shape, self._shape.basis
        variances = method.variances / ball.grid**2 @ np.square(basis)
        within = last.within / ball.grid**2
        counts = last.weights * last.n_points
        cells = Cells(
            places=(method.centers - ball.center) / ball.grid @ basis,
            known=variances,
            counts=counts,
            looks=np.zeros(last.k),
            spreads=within,
            fresh=np.zeros(last.k, dtype=bool),
        )
        bounds = HistogramBounds(self._looks, ball, shape, float(np.sqrt(shape.trace)), last.n_points, last.k)
        clip = (method.region or ball).clip
        tracker = Tracker(self._looks, ball, bounds, basis, shape.along, last.k, self._rng, clip, FOLLOWING.growth, doubt=FOLLOWING.doubt)
        mean_variance = float((np.square(last.weights) @ variances).mean())
        return self._numbered(tracker.step(Track(last.k, cells, mean_variance, method.pool, 1 + method.lloyd_steps, self._length, 1)))

    def lloyd_centers(self, latest: TrackedCenters) -> TrackedCenters:
        """Return the centers after one noisy Lloyd step on residuals: averaged with the steps before as far as they stand still."""
        return self._numbered(latest.tracker.step(replace(latest.track, length=self._length)))

    def closing(self, latest: TrackedCenters) -> Closing:
        """Return the sizes and spreads of the clusters around the released centers."""
        return latest.tracker.closing(latest.centers, latest.track)

    @property
    def _length(self) -> float:
        """Return the length around which residuals are looked for."""
        return FOLLOWING.length * float(np.sqrt(self._method.last.weights @ self._method.last.within)) / self._method.ball.grid

    def _numbered(self, found: TrackedCenters) -> TrackedCenters:
        """Return the centers in the order of the earlier ones: as near to them in all as can be. Splitting and joining mixes them up."""
        _, order = linear_sum_assignment(cdist(self._method.centers, found.centers, "sqeuclidean"))
        rows = ("centers", "counts", "center_stddev", "axis_stddev", "place_stddev")
        return replace(found, **{name: getattr(found, name)[order] for name in rows})

    @property
    def _shape(self) -> Shape:
        """Return the second moment that centers and spreads of the earlier run amount to."""
        last, ball = self._method.last, self._method.ball
        places = (self._method.centers - ball.center) / ball.grid
        between = (places * last.weights[:, None]).T @ places
        within = float(last.weights @ last.within) / ball.grid**2
        trace = float(np.trace(between)) + within
        d = len(between)
        traceless = between - np.eye(d) * np.trace(between) / d
        return Shape.of(traceless, trace, 0.0, (trace, trace))
