"""Method ``refined``: the paper's steps on residual sums, with a fraction of the excess cost. Why, with numbers: docs/refined.md.

A unit (a point, or a client) sends one vector of plain sums over its points, scaled down to a bound that a typical unit just meets; the
bounds are simulated from server data. All noise is Gaussian, so costs add up exactly. Nearly all of the budget is a pool of small equal
releases: how many of them make one look is decided by what was released before. Tuned numbers: tuning.py, or the file of the step.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.bounds import SimulatedBounds
from feddp_kmeans.algorithm.closing import Closing, closing_rows, with_closing
from feddp_kmeans.algorithm.contest import CONTEST, local_optima, settled, winner
from feddp_kmeans.algorithm.feddp_init import Proxies, Subspace
from feddp_kmeans.algorithm.gathering import GATHERING, MOST_LOOKS, gathered_by_looks, looked_at
from feddp_kmeans.algorithm.grown_cells import Cells, credible, for_choosing, joined, largest, moved, split
from feddp_kmeans.algorithm.looks import Frame, Looks, Sums, gaussian_releases
from feddp_kmeans.algorithm.pool import Pool
from feddp_kmeans.algorithm.server import (
    SMALLEST,
    Directions,
    offsets_outside,
    server_cells,
    shrunk_weights,
    steadied_directions,
    weighted_kmeans,
)
from feddp_kmeans.algorithm.swapping import planned_swaps, swapped
from feddp_kmeans.algorithm.tracking import POOL, Track, TrackedCenters, Tracker
from feddp_kmeans.algorithm.tuning import CHOOSING, REFINED
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import assign, project
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, SIZE_CLASSES

REASONS = (
    "bounds: the median of what units simulated from server points would send; the sensitivities are in units of these bounds",
    "looks: a pool of equal releases; how many of them make one look depends on what was released before",
    "only the server data give the centers if the noisy weights turn out too small to distinguish client data from noise",
)
"""Why the plan is what it is."""

_ONLY_NOISE = "the noisy weights cannot distinguish client data from noise: the centers are those of the server data"


@dataclass(frozen=True)
class RefinedMethod:
    """The refined releases: a noisy second moment, weighted cells of the server data, sums of residuals in the subspace and in full."""

    unit: PrivacyUnit
    ball: Ball
    k: int
    server_points: FloatArray
    lloyd_steps: int
    client_size: int | None = None
    n_points: int | None = None
    as_one: bool = True
    """Whether several releases of the pool can be made as one: not if clients are sampled."""
    choosing: int = 0
    """Looks that k is chosen by."""

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget."""
        d, k = self.ball.dimension, self.k
        values = max(d * (d + 1) // 2 + 1, max(self.most_cells, 2 * k) * (self.largest_rank + 2), k * (d + 2))
        sizes = ("client sizes", 1.0, SIZE_CLASSES, int(self.unit is PrivacyUnit.CLIENT and self.client_size is None))
        rows = [sizes, (POOL, BOUNDED_STEPS, values, self.pool), *closing_rows(k)]
        return gaussian_releases(
            with_closing(REFINED.shares), [row for row in rows if row[-1] > 0], **({POOL: self.most_looks} if self.as_one else {})
        )

    @property
    def pool(self) -> int:
        """Return how many small releases there are: enough for every Lloyd step to have some."""
        return max(REFINED.pool if self.as_one else REFINED.sampled_pool, 8 * (1 + self.lloyd_steps))

    @property
    def most_looks(self) -> int:
        """Return how many looks are made from the pool, at most."""
        around = max(MOST_LOOKS, CONTEST.finalists * CONTEST.steps + 2 + CONTEST.settling)
        swaps = planned_swaps(self.k, self.ball.dimension)
        return 4 + REFINED.rounds.looks + self.choosing + around + swaps + 1 + self.lloyd_steps

    @property
    def largest_rank(self) -> int:
        """Return the largest dimension that the subspace may have."""
        return min(REFINED.rank_factor * self.k, self.ball.dimension)

    @property
    def fewest_cells(self) -> int:
        """Return the number of cells that the server points are gathered into."""
        return max(self.k, min(len(self.server_points) // REFINED.points_per_cell, REFINED.cells_per_cluster * self.k))

    @property
    def most_cells(self) -> int:
        """Return the largest number of cells that these may be split into."""
        return max(self.fewest_cells, REFINED.most_cells)

    def bind(self, run: Run) -> "RefinedRun":
        """Return the steps of this method in one run."""
        return RefinedRun(self, run)


@dataclass(frozen=True)
class _RefinedSubspace(Subspace):
    found: Directions
    bounds: SimulatedBounds
    left: int
    """Releases that are left in the pool."""


@dataclass(frozen=True, kw_only=True)
class _RefinedProxies(Proxies):
    found: Directions
    bounds: SimulatedBounds
    """Bounds from server points that are drawn by their weights."""
    cells: Cells
    left: int
    is_noise: bool
    """Whether the weights are too small to distinguish client data from noise."""


class RefinedRun:
    """One run of the refined method, in the ball's integer coordinates."""

    def __init__(self, method: RefinedMethod, run: Run) -> None:
        self._method = method
        self._looks = Looks(run, method.unit)
        self._pool = Pool(self._looks, method.pool)
        self._seed = run.server_seed
        self._rng = np.random.default_rng(run.server_seed)
        """Draws the units of all simulated bounds, and directions along which cells are split."""
        self._server = method.ball.encode(method.server_points)

    def subspace(self) -> _RefinedSubspace:
        """Return the top eigenvectors of the noisy second moment: k, or more if more stand above the noise (step 1)."""
        method, server = self._method, self._server
        bounds = SimulatedBounds(server, np.ones(len(server)), method.unit, self._typical_size(), self._rng)
        length, times = bounds.moment_length(), self._pool.times(REFINED.moment)
        moment = self._looks.second_moment(POOL, method.ball, length, times)
        found = steadied_directions(moment, server, method.k)
        # More of the pool, until the noise hides little of the signal; not if looks in full space are sharp enough to find the rest.
        wanted = times * ((found.edge / (REFINED.hidden * found.signal)) ** 2 - 1)
        more = int(min(wanted, REFINED.most_moment * method.pool))
        if more > times * REFINED.worth_more and not self._pool.is_sharp(
            method.ball.dimension, method.n_points or found.n_points, method.k
        ):
            moment = moment.averaged(self._looks.second_moment(POOL, method.ball, length, more))
            found, times = steadied_directions(moment, server, method.k), times + more
        n_points = float(method.n_points or found.n_points)
        rank = min(max(method.k, found.above_noise), method.largest_rank)
        return _RefinedSubspace(found.basis[:, :rank], found, replace(bounds, n_points=n_points), method.pool - times)

    def proxies(self, subspace: _RefinedSubspace) -> _RefinedProxies:
        """Return cells of the server points, moved to the client points they hold and split, and their weights (step 2)."""
        projection, bounds = subspace.projection, subspace.bounds
        projected = project(self._server, projection)
        variances = np.square(projected).mean(axis=0)
        centers, members, sizes = server_cells(projected, self._method.fewest_cells, self._seed)
        noise = self._pool.noise(len(variances), bounds.n_points, REFINED.cell_lengths)
        planned = CHOOSING.rounds if self._method.choosing else REFINED.rounds
        first, later = (self._pool.times_of(one, len(centers), noise) for one in (REFINED.first, planned))
        need, left = noise * bounds.n_points * np.sqrt(self._method.pool / later), subspace.left
        # A cell's center is the mean of its own points: how far a *new* point lies is seen from each point's distance to the others.
        beyond = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)[members, None]
        unseen = Cells.unseen(centers, sizes, variances.sum())
        # A look that is just sharp enough may show too little by chance: then a second one is as sharp as any may be.
        for times in sorted({first, self._pool.times(REFINED.first.most)}):
            cells, sums = self._look_at(unseen, bounds, projection, variances, times, 1.0, beyond)
            left -= times
            is_noise = float(sums.counts.sum()) < REFINED.least_signal * sums.count_noise
            if not is_noise:
                break
        weights = shrunk_weights(sums.counts, sizes, sums.count_noise)
        server_weights = (weights / np.maximum(sizes, 1))[members]
        n_points = float(sums.counts.sum())
        bounds = replace(bounds, weights=server_weights, n_points=max(n_points, 1.0))
        cells = replace(cells, counts=weights).of(weights > 0)
        most = int(np.clip(n_points / (2 * need), len(centers), self._method.most_cells))
        rounds = 0 if is_noise else 1 if (len(centers) * noise) ** 2 > REFINED.too_noisy else REFINED.rounds.looks
        looks = rounds + (self._method.choosing if rounds > 1 else 0)
        for turn in range(looks):
            if turn >= rounds:
                cells = for_choosing(self._rng, cells, turn - rounds, self._method.k, sums, variances)
            elif turn < rounds - 1:
                cells = split(self._rng, cells, largest(cells, 2 * need, most - len(cells)), variances)
            cells, sums = self._look_at(cells, bounds, projection, variances, later, 1.0 if turn else later / times)
            cells = credible(cells, sums, REFINED.credible if turn < looks - 1 else 0.0)
        return _RefinedProxies(
            projection=projection,
            points=cells.places,
            weights=np.maximum(cells.counts, SMALLEST),
            server_weights=server_weights,
            weight_noise=sums.count_noise / float(np.sqrt(max(cells.looks.min(), 1.0))),
            place_noise=cells.place_noise,
            variance=cells.variance,
            found=subspace.found,
            bounds=bounds,
            cells=cells,
            left=left - looks * later,
            is_noise=is_noise,
        )

    def initial_centers(self, proxies: _RefinedProxies, projected_centers: FloatArray) -> TrackedCenters:
        """Return the centers of a first look in full space, around the lifted centers (step 3); of the server data if all is noise."""
        method, k, basis, ball = self._method, len(projected_centers), proxies.found.basis, self._method.ball
        variances = np.square(self._server @ basis).mean(axis=0)
        growth, reach = REFINED.growth, REFINED.largest_signal
        tracker = Tracker(
            self._looks, ball, proxies.bounds, basis, variances, k, self._rng, ball.clip, growth, reach, proxies=proxies.cells
        )
        if proxies.is_noise:
            return self._of_server(replace(tracker, variances=0 * variances), k, proxies.left)
        noise = self._pool.noise(ball.dimension, proxies.bounds.n_points)
        times, most = self._pool.times((noise * k / CONTEST.noise) ** 2), CONTEST.most_each * method.pool
        steps = 1 + method.lloyd_steps
        if times > most:
            cells, spent = self._gathered(tracker, proxies, self._joined(proxies, projected_centers))
            return tracker.step(Track(k, self._lifted(proxies, cells), 0.0, proxies.left - spent, steps, 0.0, 1))
        starts = [projected_centers, project(self._server_centers(k), proxies.projection)]
        within = float(np.average(proxies.cells.spreads, weights=proxies.weights))
        starts = local_optima(proxies.points, proxies.weights, within, starts, self._seed) if len(proxies.cells) > k else starts[:1]
        rivals = [self._lifted(proxies, self._joined(proxies, centers)) for centers in starts]
        track = Track(k, rivals[0], 0.0, proxies.left, steps, 0.0, 1)
        return tracker.step(settled(tracker, winner(tracker, proxies.bounds, track, rivals, times, self._pool), self._pool))

    def lloyd_centers(self, latest: TrackedCenters) -> TrackedCenters:
        """Return the centers after one noisy Lloyd step on residuals; if there is only noise the same ones, without a release."""
        return latest.tracker.step(swapped(latest.tracker, latest.track)) if latest.track.steps else latest

    def closing(self, latest: TrackedCenters) -> Closing:
        """Return the sizes and spreads of the clusters around the released centers."""
        return latest.tracker.closing(latest.centers, latest.track)

    def _of_server(self, tracker: Tracker, k: int, left: int) -> TrackedCenters:
        """Return the centers of the server data, which no look moves."""
        cells = Cells.unseen(self._server_centers(k) @ tracker.basis, np.zeros(k), 0.0)
        return replace(tracker.step(Track(k, cells, 0.0, left, 1, 0.0, 1)), remarks=(_ONLY_NOISE,), useless=_ONLY_NOISE)

    def _server_centers(self, k: int) -> FloatArray:
        return weighted_kmeans(self._server, np.ones(len(self._server)), k, self._seed)

    def _joined(self, proxies: _RefinedProxies, centers: FloatArray) -> Cells:
        cells = proxies.cells
        return joined(cells, assign(cells.places, centers), len(centers)) if len(cells) > len(centers) else cells

    def _gathered(self, tracker: Tracker, proxies: _RefinedProxies, at_once: Cells) -> tuple[Cells, int]:
        """Return k cells in the subspace, gathered step by step or at once, and how many releases they took (see gathering.py)."""
        method, bounds, projection, lengths = self._method, proxies.bounds, proxies.projection, GATHERING.lengths
        variances = tracker.variances[: projection.shape[1]]
        is_sharp = self._pool.is_sharp(method.ball.dimension, bounds.n_points, tracker.block)
        planned = GATHERING.look if is_sharp else GATHERING.plain
        times = self._pool.times_of(planned, tracker.block, self._pool.noise(len(variances), bounds.n_points, lengths))

        def look(cells: Cells) -> Cells:
            unknown = replace(cells, known=0 * cells.known)
            return self._look_at(unknown, bounds, projection, variances, times, 1.0, lengths=lengths)[0]

        if not is_sharp:
            return looked_at(at_once, look, planned.looks), planned.looks * times
        both, lifted = (proxies.cells, at_once), partial(self._lifted, proxies)
        cells, looks = gathered_by_looks(tracker, bounds, both, self._seed, look, lifted, self._pool)
        return cells, looks * times + self._pool.times(CONTEST.share)

    def _lifted(self, proxies: _RefinedProxies, cells: Cells) -> Cells:
        """Return the cells in full space: outside the subspace at the mean of the server points that are nearest to them."""
        projection, basis = proxies.projection, proxies.found.basis
        members = assign(project(self._server, projection), cells.places)
        offsets = offsets_outside(self._server, proxies.server_weights, members, len(cells), projection)
        cells = replace(cells, looks=0 * cells.looks).widened(len(basis))
        return replace(cells, places=cells.places + offsets @ basis)

    def _look_at(
        self,
        cells: Cells,
        bounds: SimulatedBounds,
        projection: FloatArray,
        variances: FloatArray,
        times: int,
        sharper: float,
        spread: FloatArray | float = 1.0,
        lengths: tuple[float, float] = REFINED.cell_lengths,
    ) -> tuple[Cells, Sums]:
        """Return the cells after one look in the subspace, and what it showed."""
        cells = replace(cells, places=np.rint(cells.places))
        frame = Frame.around(cells.places, projection)
        bound = bounds.of_sums(self._looks.plan[POOL], frame, lengths, times=times, spread=spread)
        sums = self._looks.sums(POOL, self._method.ball, frame, bound, times)
        return moved(cells, sums, variances, self._method.k, reach=REFINED.largest_signal, sharper=sharper).cells, sums

    def _typical_size(self) -> int:
        """Return the number of points of a typical unit: 1, the public hint, or the noisy median of the clients' sizes."""
        size = 1 if self._method.unit is PrivacyUnit.POINT else self._method.client_size or self._looks.typical_size()
        return min(size, REFINED.largest_simulated_size)
