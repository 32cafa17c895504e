"""The refined method without server data: its proxies are made from noisy looks at the clients. Why, with numbers: docs/no_server_data.md.

It finds a center and a scale, then a second moment. In the subspace it splits and moves cells, as many as the noise allows; weighted
k-means gathers them. Then it looks in full space, splits what holds two clusters and joins what shares one, and averages each look with
those before it as far as the centers stand still. Most of the budget is a pool of small equal releases: how many of them make one look is
decided by what was released before. All noise is Gaussian, bounds are read off noisy histograms, and tuned numbers are in tuning.py,
those of one step in the file of that step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.bounds import HistogramBounds
from feddp_kmeans.algorithm.closing import Closing, closing_rows, with_closing
from feddp_kmeans.algorithm.column_looks import column_row, find_units, with_columns
from feddp_kmeans.algorithm.domain import MOST_CLASSES, Domain, domain_rows, find_domain, sharpened
from feddp_kmeans.algorithm.feddp_init import Proxies, Subspace
from feddp_kmeans.algorithm.grown_cells import Cells, credible, first_cells, for_choosing, grown, joined, moved
from feddp_kmeans.algorithm.looks import TINY, Frame, Looks, Moment, gaussian_releases
from feddp_kmeans.algorithm.proxies import Shape
from feddp_kmeans.algorithm.server import SMALLEST
from feddp_kmeans.algorithm.settings import Region
from feddp_kmeans.algorithm.swapping import swapped
from feddp_kmeans.algorithm.tracking import POOL, Track, TrackedCenters, Tracker
from feddp_kmeans.algorithm.tuning import SERVERLESS
from feddp_kmeans.algorithm.typical_lengths import length_edges, typical_length
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, TRACE_WEIGHT

REASONS = (
    "no server data: center, scale, subspace and proxies come from noisy looks at the clients",
    "bounds: the noisy median of what units would send; the sensitivities are in units of these bounds",
    "looks: a pool of equal releases; how many of them make one look depends on what was released before",
)
"""Why the plan is what it is."""

HARDLY_SPREAD = "half of the columns hardly spread and so hardly count: if scales differ, give each a range, or choose the scale 'columns'"
"""The remark if a wide table, whose columns are taken as they are, seems to have columns of different scales."""


@dataclass(frozen=True)
class ServerlessMethod:
    """The releases of a run without server data."""

    unit: PrivacyUnit
    dimension: int
    k: int
    lloyd_steps: int
    region: Region | None = None
    choosing: int = 0
    """Looks that k is chosen by."""
    unscaled: tuple[bool, ...] = ()
    """Columns whose units are found first."""
    is_wide: bool = False
    """Whether there are too many columns to find the unit of each, and nothing public says that they have one."""

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget."""
        d, k = self.dimension, self.k
        distances, mean = domain_rows(self.region, d, sharpened=2)
        moment = d * (d + 1) // 2 + 1
        values = max(moment, self.most_cells * (min(SERVERLESS.rank_factor * k, d) + 2), k * (d + 2))
        is_client_level = self.unit is PrivacyUnit.CLIENT
        # The looks have a bound each; at client level the second moment and the means need bounds too.
        looks = SERVERLESS.rounds + self.choosing + 1 + self.lloyd_steps
        bounds = ("bounds", 1, MOST_CLASSES, looks + (3 + mean[-1] if is_client_level else 0))
        rows = [
            *([column_row(sum(self.unscaled))] if any(self.unscaled) else []),
            distances,
            *([bounds, mean] if is_client_level else [mean, bounds]),
            ("second moment", BOUNDED_STEPS, moment, 1),
            (POOL, BOUNDED_STEPS, values, self.pool),
            *closing_rows(k),
        ]
        return gaussian_releases(with_closing(with_columns(self.shares) if any(self.unscaled) else self.shares), rows)

    @property
    def shares(self) -> Mapping[str, float]:
        """Return the parts of the budget: where the subspace is all of the space, the second moment only shows variances."""
        shares = SERVERLESS.shares
        if self.k < self.dimension:
            return shares
        spared = shares["second moment"] - SERVERLESS.only_variances
        return {**shares, "second moment": shares["second moment"] - spared, POOL: shares[POOL] + spared}

    @property
    def pool(self) -> int:
        """Return how many small releases of residual sums there are: enough for every Lloyd step to have one."""
        return max(SERVERLESS.pool, 3 * (1 + self.lloyd_steps))

    @property
    def most_cells(self) -> int:
        """Return how many cells there are in the subspace at most."""
        return max(SERVERLESS.most_cells, SERVERLESS.cells_per_cluster * self.k)

    def for_moment(self, shape: Shape, left: int) -> int:
        """Return how many releases of the pool the second moment takes too, if it hides nearly all directions: until it may show them.

        None if it could not show them even then, or if k directions are about all there are. What is left is enough for all other looks.
        """
        mean, others = shape.trace / self.dimension, SERVERLESS.rounds + self.choosing
        most = min(int(SERVERLESS.most_for_moment * self.pool), self.spare(left) - others)
        # Releases of the pool that have as little noise as the first second moment.
        each = self.pool * self.shares["second moment"] / self.shares[POOL]
        wanted, reached = SERVERLESS.moment_edges
        hopeless = shape.edge > reached * mean * np.sqrt(1 + max(most, 0) / each)
        if most < 0 or hopeless or shape.visible >= SERVERLESS.hidden or self.k >= self.dimension // 2:
            return 0
        return int(np.clip(np.ceil(each * ((shape.edge / (wanted * mean)) ** 2 - 1)), 0, most))

    def spare(self, left: int) -> int:
        """Return how many of the releases that are left the looks in full space do not need."""
        return left - max(int(SERVERLESS.left_for_full * self.pool), 1 + self.lloyd_steps)

    def bind(self, run: Run) -> "ServerlessRun":
        """Return the steps of this method in one run."""
        return ServerlessRun(self, run)


@dataclass(frozen=True)
class _FoundSubspace(Subspace):
    bounds: HistogramBounds
    mean_variance: float
    """Variance of the error in one coordinate of the noisy mean, which is the origin."""
    left: int
    """Releases that are left in the pool."""


@dataclass(frozen=True, kw_only=True)
class _MadeProxies(Proxies):
    found: _FoundSubspace
    cells: Cells
    left: int
    times: int
    """Releases that the last look was made of."""


def _shape(moment: Moment, n_points: float, typical: float) -> Shape:
    """Return what a noisy second moment of this many points shows; its trace is drawn towards the squared typical distance."""
    spread, noise = SERVERLESS.trace_spread * typical**2, moment.noise * np.sqrt(len(moment.matrix)) / TRACE_WEIGHT / n_points
    believed = spread**2 / (spread**2 + noise**2)
    limits = typical**2 * (1 - believed * (1 - SERVERLESS.least_trace)), typical**2
    trace = typical**2 + believed * (moment.trace / n_points - typical**2)
    return Shape.of(moment.matrix / n_points, trace, moment.noise / n_points, limits)


def _hardly_spread(moment: Moment) -> bool:
    """Return whether at least half of the columns have next to none of the variance, as far as noise lets us see."""
    d = len(moment.matrix)
    least = SERVERLESS.hardly * moment.trace / d
    return moment.noise < least * np.sqrt(d) / 2 and float(np.median(np.diag(moment.matrix))) + moment.trace / d < least


class ServerlessRun:
    """One run without server data, in integer coordinates around the noisy mean."""

    def __init__(self, method: ServerlessMethod, run: Run) -> None:
        self._method = method
        self._looks = Looks(run, method.unit)
        self._rng = np.random.default_rng(run.server_seed)
        """Draws directions along which cells are split."""

    def subspace(self) -> _FoundSubspace:
        """Return the top eigenvectors of the noisy second moment around the noisy mean (step 1)."""
        method, looks = self._method, self._looks
        if any(method.unscaled):
            find_units(looks, np.array(method.unscaled))
        domain = find_domain(looks, method.region)
        for_mean = self._for_mean(domain)
        first = max(1, int(SERVERLESS.first_for_mean * for_mean))
        for times in (first, for_mean - first):
            domain = sharpened(looks, domain, method.region, POOL, times)
        ball, n = domain.ball, domain.n_points
        typical = domain.typical / ball.grid
        length = self._moment_length(ball, typical)
        moment = looks.second_moment("second moment", ball, length)
        shape = _shape(moment, n, typical)
        if more := method.for_moment(shape, method.pool - for_mean):
            moment = moment.averaged(looks.second_moment(POOL, ball, length, more))
            shape = _shape(moment, n, typical)
        if method.is_wide and _hardly_spread(moment):
            looks.doubt(HARDLY_SPREAD)
        return _FoundSubspace(
            projection=shape.basis[:, : shape.rank(method.k)],
            bounds=HistogramBounds(looks, ball, shape, typical, n, method.k, SERVERLESS.finer),
            mean_variance=domain.center_variance / ball.grid**2,
            left=method.pool - for_mean - more,
        )

    def _moment_length(self, ball: Ball, typical: float) -> float:
        """Return the length of a typical unit's second moment; a point's follows from its distance, so nothing is released for it."""
        looks = self._looks
        if not looks.is_client_level:
            return float(typical**2 * np.sqrt(1 - (1 - TRACE_WEIGHT**2) / ball.dimension))
        edges = np.square(length_edges(looks, typical))
        return typical_length(looks.moment_lengths(ball, edges), looks.made["bounds"].scale, edges).length

    def proxies(self, subspace: _FoundSubspace) -> _MadeProxies:
        """Return cells of the subspace, split and moved to the points they hold, and their weights (step 2)."""
        projection, bounds, k = subspace.projection, subspace.bounds, self._method.k
        variances = bounds.shape.along[: projection.shape[1]]
        sizes, need = self._sizes(subspace, len(variances))
        most = int(np.clip(bounds.n_points / need, 1, self._method.most_cells))
        cells = first_cells(self._rng, variances, bounds.n_points, SERVERLESS.first_cells * most)
        length, count_noise = float(np.sqrt(variances.sum())), 0.0
        sums = None
        for turn, times in enumerate(sizes):
            if sums is not None and turn >= SERVERLESS.rounds:
                cells = for_choosing(self._rng, cells, turn - SERVERLESS.rounds, k, sums, variances)
            elif 0 < turn < SERVERLESS.rounds - 1:
                cells = grown(self._rng, cells, need, most, SERVERLESS.rounds - 1 - turn, variances)
            cells = replace(cells, places=np.rint(cells.places))
            frame = Frame.around(cells.places, projection)
            bound = bounds.of_sums(self._looks.plan[POOL], frame, SERVERLESS.cell_lengths, times=times, before=length)
            length = bound.count_weight / SERVERLESS.cell_lengths[0]
            sums = self._looks.sums(POOL, bounds.ball, frame, bound, times)
            cells = credible(moved(cells, sums, variances, k).cells, sums)
            count_noise = sums.count_noise / float(np.sqrt(cells.looks.min()))
        return _MadeProxies(
            projection=projection,
            points=cells.places,
            weights=np.maximum(cells.counts, SMALLEST),
            server_weights=np.zeros(0),
            weight_noise=count_noise,
            place_noise=cells.place_noise,
            variance=cells.variance,
            found=subspace,
            cells=cells,
            left=subspace.left - sum(sizes),
            times=sizes[-1] if sizes else 1,
        )

    def initial_centers(self, proxies: _MadeProxies, projected_centers: FloatArray) -> TrackedCenters:
        """Return centers in full space: residuals around the lifted centers (step 3)."""
        cells, k, found = proxies.cells, len(projected_centers), proxies.found
        if len(cells) > k:
            cells = joined(cells, np.square(cells.places[:, None] - projected_centers[None]).sum(axis=2).argmin(axis=1), k)
        cells = cells.widened(self._method.dimension)
        bounds, region = found.bounds, self._method.region
        clip = (region or bounds.ball).clip
        shape, k_most = bounds.shape, self._method.k
        tracker = Tracker(
            self._looks, bounds.ball, bounds, shape.basis, shape.along, k_most, self._rng, clip, SERVERLESS.growth, proxies=proxies.cells
        )
        length, times = bounds.typical, max(proxies.times, 1)
        track = Track(k, cells, found.mean_variance, proxies.left, 1 + self._method.lloyd_steps, length, times)
        return tracker.step(track)

    def lloyd_centers(self, latest: TrackedCenters) -> TrackedCenters:
        """Return the centers after one noisy Lloyd step on residuals: averaged with the steps before as far as they stand still."""
        return latest.tracker.step(swapped(latest.tracker, latest.track))

    def closing(self, latest: TrackedCenters) -> Closing:
        """Return the sizes and spreads of the clusters around the released centers."""
        return latest.tracker.closing(latest.centers, latest.track)

    def _for_mean(self, domain: Domain) -> int:
        """Return how many releases of the pool are spent on the mean: until its error is small, as far as these last."""
        scale = self._looks.plan[POOL].scale
        points = np.sqrt(self._looks.per_unit(domain.n_points))
        wanted = self._method.dimension * (points * scale / (SERVERLESS.mean_error * max(domain.n_points, TINY))) ** 2
        return int(np.clip(np.ceil(wanted), 2, SERVERLESS.most_for_mean * self._method.pool))

    def _sizes(self, subspace: _FoundSubspace, rank: int) -> tuple[list[int], float]:
        """Return how many releases make each look in the subspace, so that it tells enough cells apart, and the points of a cell to split.

        None, if too few are left for every look to have one.
        """
        n, rounds = subspace.bounds.n_points, SERVERLESS.rounds
        vector = np.sqrt(self._looks.per_unit(n) * (1 + SERVERLESS.cell_lengths[0] ** 2 + SERVERLESS.cell_lengths[1] ** 2))
        need = SERVERLESS.split_level * np.sqrt(rank) * vector * self._looks.plan[POOL].scale
        most = self._method.spare(subspace.left)
        rounds += self._method.choosing if most >= rounds + self._method.choosing else 0
        wanted = np.ceil((need * SERVERLESS.wished_cells * self._method.k / max(n, TINY)) ** 2)
        total = int(min(np.clip(wanted, 1, SERVERLESS.most_at_once) * rounds, most))
        if total < rounds:
            return [], max(float(need), TINY)
        sizes = [total * (turn + 1) // rounds - total * turn // rounds for turn in range(rounds)]
        level = need / np.sqrt(total / rounds)
        wished = n / (SERVERLESS.wished_cells * self._method.k)
        return sizes, max(float(np.clip(wished, SERVERLESS.least_level * level, level)), TINY)
