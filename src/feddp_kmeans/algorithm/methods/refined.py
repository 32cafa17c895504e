"""Method ``refined``: the paper's steps on residual sums, with a fraction of the excess cost. Why, with numbers: docs/refined.md.

A unit (a point, or a client) sends one vector of plain sums over its points, scaled down to a bound that a typical unit just meets; the
bounds are simulated from server data. All noise is Gaussian, so costs add up exactly. Nearly all of the budget is a pool of small equal
releases: how many of them make one look is decided by what was released before. Every tuned number is in tuning.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.bounds import SimulatedBounds
from feddp_kmeans.algorithm.closing import Closing, close, closing_rows, with_closing
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Proxies, Subspace
from feddp_kmeans.algorithm.grown_cells import Cells, credible, joined, largest, moved, split
from feddp_kmeans.algorithm.looks import Frame, Looks, Sums, gaussian_releases
from feddp_kmeans.algorithm.server import (
    SMALLEST,
    Directions,
    local_optima,
    offsets_outside,
    shrunk_weights,
    steadied_directions,
    weighted_kmeans,
)
from feddp_kmeans.algorithm.tracking import POOL, Track, TrackedCenters, Tracker
from feddp_kmeans.algorithm.tuning import CONTEST, REFINED
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
    pool: int = REFINED.pool

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget."""
        d, k = self.ball.dimension, self.k
        values = max(d * (d + 1) // 2 + 1, self.most_cells * (self.largest_rank + 2), k * (d + 2))
        sizes = ("client sizes", 1.0, SIZE_CLASSES, int(self.unit is PrivacyUnit.CLIENT and self.client_size is None))
        rows = [sizes, (POOL, BOUNDED_STEPS, values, self.pool), *closing_rows(k)]
        return gaussian_releases(with_closing(REFINED.shares), [row for row in rows if row[-1] > 0])

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


@dataclass(frozen=True)
class _RefinedCenters(NoisyCenters):
    latest: TrackedCenters
    tracker: Tracker
    proxies: _RefinedProxies


class RefinedRun:
    """One run of the refined method, in the ball's integer coordinates."""

    def __init__(self, method: RefinedMethod, run: Run) -> None:
        self._method = method
        self._looks = Looks(run, method.unit)
        self._seed = run.server_seed
        self._rng = np.random.default_rng(run.server_seed)
        """Draws the units of all simulated bounds, and directions along which cells are split."""
        self._server = method.ball.encode(method.server_points)

    def subspace(self) -> _RefinedSubspace:
        """Return the top eigenvectors of the noisy second moment: k, or more if more stand above the noise (step 1)."""
        method, server = self._method, self._server
        bounds = SimulatedBounds(server, np.ones(len(server)), method.unit, self._typical_size(), self._rng)
        length, times = bounds.moment_length(), self._times(REFINED.moment)
        moment = self._looks.second_moment(POOL, method.ball, length, times)
        found = steadied_directions(moment, server, method.k)
        # More of the pool, until the noise hides little of the signal.
        wanted = times * ((found.edge / (REFINED.hidden * found.signal)) ** 2 - 1)
        more = int(min(wanted, REFINED.most_moment * method.pool))
        if more > times * REFINED.worth_more:
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
        centers, members, sizes = self._cells(projected)
        noise = self._noise(len(variances), bounds.n_points, REFINED.cell_lengths)
        first, later = (
            self._times(np.clip((level * len(centers) * noise) ** 2, 0.0, most)) for level, most in (REFINED.first_look, REFINED.round_look)
        )
        need = noise * bounds.n_points * np.sqrt(self._method.pool / later)
        # A cell's center is the mean of its own points: how far a *new* point lies is seen from each point's distance to the others.
        beyond = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)[members, None]
        start = np.zeros(len(centers))
        cells = Cells(centers, np.zeros_like(centers), sizes.astype(np.float64), start, start + variances.sum(), start > 0)
        cells, sums = self._look_at(cells, bounds, projection, variances, first, 1.0, beyond)
        weights = shrunk_weights(sums.counts, sizes, sums.count_noise)
        server_weights = (weights / np.maximum(sizes, 1))[members]
        n_points, is_noise = float(sums.counts.sum()), float(sums.counts.sum()) < REFINED.least_signal * sums.count_noise
        bounds = replace(bounds, weights=server_weights, n_points=max(n_points, 1.0))
        cells = replace(cells, counts=weights).of(weights > 0)
        most = int(np.clip(n_points / (2 * need), len(centers), self._method.most_cells))
        sharper = later / first
        for turn in range(0 if is_noise else REFINED.rounds):
            if turn < REFINED.rounds - 1:
                cells = split(self._rng, cells, largest(cells, 2 * need, most - len(cells)), variances)
            cells, sums = self._look_at(cells, bounds, projection, variances, later, sharper)
            cells, sharper = credible(cells, sums.count_noise, REFINED.credible if turn < REFINED.rounds - 1 else 0.0), 1.0
        return _RefinedProxies(
            projection=projection,
            points=cells.places,
            weights=np.maximum(cells.counts, SMALLEST),
            server_weights=server_weights,
            weight_noise=sums.count_noise / float(np.sqrt(max(cells.looks.min(), 1.0))),
            place_noise=float(np.median(np.sqrt(cells.known.mean(axis=1)) * cells.counts)),
            # The places are noisy: their own spread already holds this much of the noise.
            variance=np.maximum(cells.spreads / len(variances) - cells.known.mean(axis=1), 0.0),
            found=subspace.found,
            bounds=bounds,
            cells=cells,
            left=subspace.left - first - (0 if is_noise else REFINED.rounds * later),
            is_noise=is_noise,
        )

    def initial_centers(self, proxies: _RefinedProxies, projected_centers: FloatArray) -> _RefinedCenters:
        """Return centers after Lloyd steps in the subspace and one step in full space, around the lifted centers (step 3).

        If there is only noise the centers are those of the server data, and the sums give their counts.
        """
        method, k, basis = self._method, len(projected_centers), proxies.found.basis
        variances = np.square(self._server @ basis).mean(axis=0)
        tracker = Tracker(
            self._looks, method.ball, proxies.bounds, basis, variances, k, self._rng, method.ball.clip, REFINED.largest_signal
        )
        if proxies.is_noise:
            centers = weighted_kmeans(self._server, np.ones(len(self._server)), k, self._seed) @ basis
            start = np.zeros(k)
            cells = Cells(centers, np.zeros_like(centers), start, start, start, start > 0)
            latest = replace(tracker, variances=0 * variances).step(Track(k, cells, 0.0, proxies.left, 1, 0.0, 1))
            return _refined(replace(latest, remarks=(_ONLY_NOISE,)), tracker, proxies)
        each = (self._noise(method.ball.dimension, proxies.bounds.n_points, (0.0, 0.0)) * k / CONTEST.noise) ** 2
        starts, times = [projected_centers], self._times(each)
        is_cheap = each < CONTEST.most_each
        if is_cheap and len(proxies.cells) > k:
            starts = self._rivals(proxies, projected_centers)[: int(CONTEST.most_all * method.pool / (CONTEST.steps * times))]
        all_cells = [self._joined(proxies, start) for start in starts]
        spent = 0
        if not is_cheap:
            all_cells[0], spent = self._stepped(proxies, all_cells[0], variances)
        lifted = [self._lifted(proxies, cells) for cells in all_cells]
        track = Track(k, lifted[0], 0.0, proxies.left - spent, 1 + method.lloyd_steps, 0.0, 1)
        if len(lifted) > 1:
            winner = self._winner(tracker, proxies.bounds, lifted, times)
            left = proxies.left - len(lifted) * CONTEST.steps * times - self._times(CONTEST.share)
            track = replace(winner, left=left, steps=1 + method.lloyd_steps)
        if is_cheap:
            track = self._settled(tracker, track, times)
        return _refined(tracker.step(track), tracker, proxies)

    def _settled(self, tracker: Tracker, track: Track, times: int) -> Track:
        """Return the track after as many looks of this size as are cheap."""
        looks = min(CONTEST.settling, int(CONTEST.most_all * self._method.pool / times))
        now = replace(track, left=looks * times, steps=looks)
        for _ in range(looks):
            now = tracker.step(now).track
        return replace(now, left=track.left - looks * times, steps=track.steps)

    def _rivals(self, proxies: _RefinedProxies, projected_centers: FloatArray) -> list[FloatArray]:
        """Return centers in the subspace that cost the proxies little more than the best; perhaps the client points less."""
        server = weighted_kmeans(self._server, np.ones(len(self._server)), len(projected_centers), self._seed)
        within = float(np.average(proxies.cells.spreads, weights=proxies.weights))
        starts = [projected_centers, project(server, proxies.projection)]
        return local_optima(proxies.points, proxies.weights, within, starts, self._seed)

    def _joined(self, proxies: _RefinedProxies, centers: FloatArray) -> Cells:
        """Return the cells joined to these centers in the subspace."""
        cells = proxies.cells
        return joined(cells, assign(cells.places, centers), len(centers)) if len(cells) > len(centers) else cells

    def _stepped(self, proxies: _RefinedProxies, cells: Cells, variances: FloatArray) -> tuple[Cells, int]:
        """Return the cells after Lloyd steps in the subspace, and how many releases these took."""
        rank = proxies.projection.shape[1]
        noise = self._noise(rank, proxies.bounds.n_points, REFINED.subspace_lengths)
        level, most = REFINED.subspace_look
        times = self._times(np.clip((level * len(cells) * noise) ** 2, 0.0, most))
        for _ in range(REFINED.subspace_steps):
            cells = replace(cells, known=0 * cells.known)
            cells, _ = self._look_at(
                cells, proxies.bounds, proxies.projection, variances[:rank], times, 1.0, lengths=REFINED.subspace_lengths
            )
        return cells, REFINED.subspace_steps * times

    def _lifted(self, proxies: _RefinedProxies, cells: Cells) -> Cells:
        """Return the cells in full space: outside the subspace at the mean of the server points that are nearest to them."""
        projection, basis = proxies.projection, proxies.found.basis
        members = assign(project(self._server, projection), cells.places)
        offsets = offsets_outside(self._server, proxies.server_weights, members, len(cells), projection)
        cells = replace(cells, looks=0 * cells.looks).widened(len(basis))
        return replace(cells, places=cells.places + offsets @ basis)

    def _winner(self, tracker: Tracker, bounds: SimulatedBounds, starts: list[Cells], times: int) -> Track:
        """Return the start that costs least after a few steps; they are compared by one release."""
        k, ends = len(starts[0]), []
        for cells in starts:
            track = Track(k, replace(cells, known=0 * cells.known), 0.0, CONTEST.steps * times, CONTEST.steps, 0.0, 1)
            for _ in range(CONTEST.steps):
                track = tracker.step(track).track
            ends.append(track)
        sets = np.stack([np.rint(track.cells.places @ tracker.basis.T) for track in ends])
        costs, _ = self._looks.cost_differences(POOL, tracker.ball, sets, bounds.of_costs(sets), self._times(CONTEST.share))
        return ends[int(costs.argmin())]

    def lloyd_centers(self, latest: _RefinedCenters) -> _RefinedCenters:
        """Return the centers after one noisy Lloyd step on residuals; if there is only noise the same ones, without a release."""
        if latest.proxies.is_noise:
            return latest
        return _refined(latest.tracker.step(latest.latest.track), latest.tracker, latest.proxies)

    def closing(self, latest: _RefinedCenters) -> Closing:
        """Return the sizes and spreads of the clusters around the released centers."""
        ball, weights = self._method.ball, latest.proxies.server_weights
        places = (latest.centers - ball.center) / ball.grid
        residuals = self._server - places[assign(self._server, places)]
        weights = weights if weights.sum() > 0 else np.ones(len(weights))
        typical = np.sqrt(np.average(np.square(residuals).sum(axis=1), weights=weights))
        return close(self._looks, ball, latest.centers, float(typical * ball.grid))

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

    def _noise(self, dimension: int, n_points: float, lengths: tuple[float, float]) -> float:
        """Return the noise of the mean of all points, in typical residuals, if the whole pool were one look."""
        vector = np.sqrt(dimension * (1 + lengths[0] ** 2 + lengths[1] ** 2))
        per_unit = max(n_points / max(self._looks.n_clients, 1), 1.0) if self._looks.is_client_level else 1.0
        scale = self._looks.plan[POOL].scale / np.sqrt(self._method.pool)
        return max(float(vector * np.sqrt(per_unit) * scale / max(n_points, 1.0)), SMALLEST)

    def _times(self, share: float) -> int:
        """Return how many releases make this share of the pool."""
        return max(1, round(share * self._method.pool))

    def _typical_size(self) -> int:
        """Return the number of points of a typical unit: 1, the public hint, or the noisy median of the clients' sizes."""
        if self._method.unit is PrivacyUnit.POINT:
            return 1
        return min(self._method.client_size or self._looks.typical_size(), REFINED.largest_simulated_size)

    def _cells(self, projected: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the cells' centers, the cell of each projected server point, and the cells' sizes."""
        from sklearn.cluster import KMeans

        n, distinct = self._method.fewest_cells, np.unique(projected, axis=0)
        if len(distinct) <= n:
            centers = distinct
        else:
            centers = KMeans(n, n_init=1, max_iter=REFINED.cell_iterations, random_state=self._seed).fit(projected).cluster_centers_
        centers = np.rint(centers)
        members = assign(projected, centers)
        return centers, members, np.bincount(members, minlength=len(centers))


def _refined(latest: TrackedCenters, tracker: Tracker, proxies: _RefinedProxies) -> _RefinedCenters:
    fields = {name: value for name, value in vars(latest).items() if name != "track"}
    return _RefinedCenters(**fields, latest=latest, tracker=tracker, proxies=proxies)
