"""Method ``refined``: the paper's steps on residual sums, with a fraction of the excess cost. Why, with numbers: docs/refined.md.

A unit (a point, or a client) sends one vector of plain sums over its points, scaled down to a bound that a typical unit just meets; the
bounds are simulated from server data. All noise is Gaussian, so costs add up exactly: a release with noise multiplier s costs 1/s**2 of the
budget mu**2. Every tuned number is in tuning.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.bounds import SimulatedBounds
from feddp_kmeans.algorithm.closing import Closing, close, closing_rows, with_closing
from feddp_kmeans.algorithm.error_bars import center_variances
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Proxies, Subspace
from feddp_kmeans.algorithm.looks import Frame, Looks, Sums, gaussian_releases
from feddp_kmeans.algorithm.server import (
    affordable_cells,
    filtered,
    offsets_outside,
    shrunk_weights,
    steadied_directions,
    table_rank,
    variance_around,
    weighted_kmeans,
)
from feddp_kmeans.algorithm.tuning import CHOOSING, DEFAULT_SPLIT, REFINED
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import assign, project
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, SIZE_CLASSES

REASONS = (
    "bounds: the median of what units simulated from server points would send; the sensitivities are in units of these bounds",
    "only the server data give the centers if the noisy weights turn out too small to distinguish client data from noise",
)
"""Why the plan is what it is, apart from the number of Lloyd steps."""

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
    split: str = DEFAULT_SPLIT
    cell_steps: int = 1
    """Releases around cells; those after the first are taken from the steps in the subspace."""

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget."""
        d, k, steps = self.ball.dimension, self.k, self.lloyd_steps
        parts = dict(REFINED.splits[self.split])
        moved = parts["subspace steps"] * (self.cell_steps - 1) / REFINED.subspace_steps[self.unit]
        more = CHOOSING.cell_part if self.cell_steps > 1 else 0.0
        for_sums = parts["sums"] - more
        parts |= {"cells": parts["cells"] + moved + more, "subspace steps": parts["subspace steps"] - moved}
        parts |= {"sums": for_sums / (1 + steps), "lloyd sums": for_sums * steps / (1 + steps)}
        rows = [
            ("client sizes", 1.0, SIZE_CLASSES, int(self.unit is PrivacyUnit.CLIENT and self.client_size is None)),
            ("second moment", BOUNDED_STEPS, d * (d - 1) // 2 + d + 1, 1),
            ("cells", BOUNDED_STEPS, self.most_cells * (self.largest_rank + 1), self.cell_steps),
            ("subspace steps", BOUNDED_STEPS, k * (self.largest_rank + 1), self.subspace_steps),
            ("sums", BOUNDED_STEPS, k * (d + 1), 1),
            ("lloyd sums", BOUNDED_STEPS, k * (d + 1), steps),
            *closing_rows(k),
        ]
        return gaussian_releases(with_closing(parts), [row for row in rows if row[-1] > 0])

    @property
    def largest_rank(self) -> int:
        """Return the largest dimension that the subspace may have."""
        return min(max(REFINED.rank_factor * self.k, self._extra(REFINED.most_rank)), self.ball.dimension)

    @property
    def subspace_steps(self) -> int:
        """Return the number of Lloyd steps in the subspace once k is known."""
        return REFINED.subspace_steps[self.unit] + 1 - self.cell_steps

    @property
    def fewest_cells(self) -> int:
        """Return the least number of cells that the server points are gathered into."""
        return max(self.k, min(len(self.server_points) // REFINED.points_per_cell, REFINED.cells_per_cluster * self.k))

    @property
    def most_cells(self) -> int:
        """Return the largest number of cells that the server points are gathered into."""
        return max(self.fewest_cells, min(self._extra(REFINED.most_cells) * self.k, len(self.server_points) // REFINED.least_cell))

    def _extra(self, most: int) -> int:
        """Return this limit at point level, and none at client level: what more cells and directions would do there was not measured."""
        return most if self.unit is PrivacyUnit.POINT else 0

    def bind(self, run: Run) -> "RefinedRun":
        """Return the steps of this method in one run."""
        return RefinedRun(self, run)


@dataclass(frozen=True)
class _RefinedSubspace(Subspace):
    basis: FloatArray
    """All directions, as columns, largest variance first."""
    bounds: SimulatedBounds
    n_cells: int


@dataclass(frozen=True, kw_only=True)
class _RefinedProxies(Proxies):
    basis: FloatArray
    bounds: SimulatedBounds
    """Bounds from server points that are drawn by their weights."""
    is_noise: bool
    """Whether the weights are too small to distinguish client data from noise."""


@dataclass(frozen=True)
class _RefinedCenters(NoisyCenters):
    proxies: _RefinedProxies


class RefinedRun:
    """One run of the refined method, in the ball's integer coordinates."""

    def __init__(self, method: RefinedMethod, run: Run) -> None:
        self._method = method
        self._looks = Looks(run, method.unit)
        self._seed = run.server_seed
        self._rng = np.random.default_rng(run.server_seed)
        """Draws the units of all simulated bounds, one bound after the other."""
        self._server = method.ball.encode(method.server_points)

    def subspace(self) -> _RefinedSubspace:
        """Return the top eigenvectors of the noisy second moment: k, or more if more stand above the noise (step 1)."""
        method, server = self._method, self._server
        bounds = SimulatedBounds(server, np.ones(len(server)), method.unit, self._typical_size())
        moment = self._looks.second_moment(method.ball, bounds.moment_length(self._rng))
        found = steadied_directions(moment, server, REFINED.prior_weight)
        noise = self._looks.plan["cells"].scale
        cells = affordable_cells(found.n_points, noise, (method.fewest_cells, method.most_cells))
        rank = max(method.k, min(found.above_noise, REFINED.rank_factor * method.k), table_rank(found, noise, cells, method.largest_rank))
        return _RefinedSubspace(found.basis[:, :rank], found.basis, replace(bounds, n_points=found.n_points), cells)

    def proxies(self, subspace: _RefinedSubspace) -> _RefinedProxies:
        """Return cells of the server points in the subspace, moved to the client points they hold, and their weights (step 2)."""
        projection = subspace.projection
        projected = project(self._server, projection)
        cells, members, sizes = self._cells(projected, subspace.n_cells)
        # A cell's center is the mean of its own points: how far a *new* point lies is seen from each point's distance to the others.
        beyond = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)[members, None]
        sums = self._sums("cells", subspace.bounds, Frame.around(cells, projection), REFINED.cell_counts, beyond)
        for _ in range(self._method.cell_steps - 1):
            cells = np.rint(cells + _shrunk(sums, projected, self._method.k))
            members = assign(projected, cells)
            sizes = np.bincount(members, minlength=len(cells))
            sums = self._sums("cells", subspace.bounds, Frame.around(cells, projection), REFINED.cell_counts)
        weights = shrunk_weights(sums.counts, sizes, sums.count_noise)
        server_weights = (weights / np.maximum(sizes, 1))[members]
        n_points = float(sums.counts.sum())
        return _RefinedProxies(
            projection=projection,
            points=cells + _shrunk(sums, projected, self._method.k),
            weights=weights,
            server_weights=server_weights,
            weight_noise=sums.count_noise,
            place_noise=sums.noise,
            variance=variance_around(cells, projected, server_weights),
            basis=subspace.basis,
            bounds=replace(subspace.bounds, weights=server_weights, n_points=n_points),
            is_noise=n_points < REFINED.least_signal * sums.count_noise,
        )

    def initial_centers(self, proxies: _RefinedProxies, projected_centers: FloatArray) -> _RefinedCenters:
        """Return centers after Lloyd steps in the subspace and one step in full space, around the lifted centers (step 3).

        If there is only noise the centers are those of the server data, and the sums give their counts.
        """
        k, projection = len(projected_centers), proxies.projection
        if proxies.is_noise:
            server_centers = weighted_kmeans(self._server, np.ones(len(self._server)), k, self._seed)
            return self._full_step("sums", proxies, Frame.around(server_centers))
        projected = project(self._server, projection)
        for _ in range(self._method.subspace_steps):
            frame = Frame.around(projected_centers, projection)
            sums = self._sums("subspace steps", proxies.bounds, frame, REFINED.subspace_counts)
            projected_centers = np.rint(projected_centers) + _shrunk(sums, projected, k)
        offsets = offsets_outside(self._server, proxies.server_weights, assign(projected, projected_centers), k, projection)
        return self._full_step("sums", proxies, Frame(projected_centers, projected_centers @ projection.T + offsets, projection))

    def lloyd_centers(self, latest: _RefinedCenters) -> _RefinedCenters:
        """Return the centers after one noisy Lloyd step on residuals; if there is only noise the same ones, without a release."""
        if latest.proxies.is_noise:
            return latest
        ball = self._method.ball
        return self._full_step("lloyd sums", latest.proxies, Frame.around((latest.centers - ball.center) / ball.grid))

    def closing(self, latest: _RefinedCenters) -> Closing:
        """Return the sizes and spreads of the clusters around the released centers."""
        ball, weights = self._method.ball, latest.proxies.server_weights
        places = (latest.centers - ball.center) / ball.grid
        residuals = self._server - places[assign(self._server, places)]
        weights = weights if weights.sum() > 0 else np.ones(len(weights))
        typical = np.sqrt(np.average(np.square(residuals).sum(axis=1), weights=weights))
        return close(self._looks, ball, latest.centers, float(typical * ball.grid))

    def _full_step(self, name: str, proxies: _RefinedProxies, frame: Frame) -> _RefinedCenters:
        """Return the origins of the frame, moved by the mean residuals in full space."""
        ball, basis = self._method.ball, proxies.basis
        sums = self._sums(name, proxies.bounds, frame, REFINED.full_counts)
        k, (means, noise) = len(frame.centers), sums.means()
        moves, left = filtered(means @ basis, noise, k, _caps(self._server @ basis) * (not proxies.is_noise))
        errors = center_variances(means @ basis, noise, left, np.zeros_like(left), basis, first=k, bias=sums.bias)
        return _RefinedCenters(
            centers=ball.clip(ball.decode(np.rint(frame.origins) + moves @ basis.T)),
            counts=sums.counts / sums.kept,
            center_stddev=np.sqrt(errors.mean(axis=1)) * ball.grid,
            axis_stddev=np.sqrt(errors) * ball.grid,
            count_stddev=sums.count_noise / sums.kept,
            remarks=(_ONLY_NOISE,) if proxies.is_noise else (),
            proxies=proxies,
        )

    def _sums(self, name: str, bounds: SimulatedBounds, frame: Frame, count_length: float, spread: FloatArray | float = 1.0) -> Sums:
        bound = bounds.of_sums(self._rng, self._looks.plan[name], frame, count_length, spread)
        return self._looks.sums(name, self._method.ball, frame, bound)

    def _typical_size(self) -> int:
        """Return the number of points of a typical unit: 1, the public hint, or the noisy median of the clients' sizes."""
        if self._method.unit is PrivacyUnit.POINT:
            return 1
        return min(self._method.client_size or self._looks.typical_size(), REFINED.largest_simulated_size)

    def _cells(self, projected: FloatArray, n: int) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the cells' centers, the cell of each projected server point, and the cells' sizes."""
        from sklearn.cluster import KMeans

        distinct = np.unique(projected, axis=0)
        if len(distinct) <= n:
            centers = np.vstack([distinct, np.repeat(distinct[-1:], n - len(distinct), axis=0)])
        else:
            centers = KMeans(n, n_init=1, max_iter=REFINED.cell_iterations, random_state=self._seed).fit(projected).cluster_centers_
        centers = np.rint(centers)
        members = assign(projected, centers)
        return centers, members, np.bincount(members, minlength=n)


def _shrunk(sums: Sums, server: FloatArray, k: int) -> FloatArray:
    """Return the mean residuals drawn towards zero as far as noise explains them; ``server`` is in the same coordinates."""
    return filtered(*sums.means(), k, _caps(server))[0]


def _caps(server: FloatArray) -> FloatArray:
    """Return the largest squared error of a center that is believed in each coordinate."""
    caps: FloatArray = REFINED.largest_signal * np.square(server).mean(axis=0)
    return caps
