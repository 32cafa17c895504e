"""Method ``refined``: the paper's steps on residual sums, with a fraction of the excess cost. Why, with numbers: docs/refined.md.

A unit (a point, or a client) sends one vector of plain sums over its points, scaled down to a bound that a typical unit just meets; the
bounds are simulated from server data. All noise is Gaussian, so costs add up exactly: a release with noise multiplier s costs 1/s**2 of the
budget mu**2. Every tuned number is in tuning.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Proxies, Subspace
from feddp_kmeans.algorithm.looks import Frame, Looks, Sums
from feddp_kmeans.algorithm.server import block_shrinkage, offsets_outside, shrunk_weights, steadied_basis, weighted_kmeans
from feddp_kmeans.algorithm.simulated_units import SimulatedBounds
from feddp_kmeans.algorithm.tuning import DEFAULT_SPLIT, REFINED
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import assign, project
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, MOMENT_SENSITIVITY, SIZE_CLASSES

REASONS = (
    "bounds: the median of what made-up units of server points would send; the sensitivities are in units of these bounds",
    "the server data alone give the centers if the noisy weights turn out too small to tell client data from noise",
)
"""Why the plan is what it is, apart from the number of Lloyd steps."""

_ONLY_NOISE = "the noisy weights cannot tell client data from noise: the centers are those of the server data alone"


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

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget; every sensitivity is 1, in units of a bound."""
        d, k, steps, parts = self.ball.dimension, self.k, self.lloyd_steps, REFINED.splits[self.split]
        subspace_steps = REFINED.subspace_steps[self.unit]
        rows = [
            ("second moment", MOMENT_SENSITIVITY, parts["second moment"], d * (d - 1) // 2 + d + 1, 1),
            ("cells", BOUNDED_STEPS, parts["cells"], self.n_cells * (self.largest_rank + 1), 1),
            ("subspace steps", BOUNDED_STEPS, parts["subspace steps"], k * (self.largest_rank + 1), subspace_steps),
            ("sums", BOUNDED_STEPS, parts["sums"] / (1 + steps), k * (d + 1), 1),
        ]
        if self.unit is PrivacyUnit.CLIENT and self.client_size is None:
            rows.insert(0, ("client sizes", 1.0, parts["client sizes"], SIZE_CLASSES, 1))
        if steps:
            rows.append(("lloyd sums", BOUNDED_STEPS, parts["sums"] * steps / (1 + steps), k * (d + 1), steps))
        return [
            Release(name, Mechanism.GAUSSIAN, 1.0, float(integer), float(np.sqrt(times / part)), values, times)
            for name, integer, part, values, times in rows
        ]

    @property
    def largest_rank(self) -> int:
        """Return the largest dimension that the subspace may have."""
        return min(REFINED.rank_factor * self.k, self.ball.dimension)

    @property
    def n_cells(self) -> int:
        """Return the number of cells that the server points are gathered into."""
        return min(len(self.server_points), REFINED.cells_per_cluster * self.k)

    def bind(self, run: Run) -> "RefinedRun":
        """Return the method at work in one run."""
        return RefinedRun(self, run)


@dataclass(frozen=True)
class _RefinedSubspace(Subspace):
    basis: FloatArray
    """All directions, as columns, largest variance first."""
    bounds: SimulatedBounds


@dataclass(frozen=True)
class _RefinedProxies(Proxies):
    basis: FloatArray
    bounds: SimulatedBounds
    """Bounds from server points that are drawn by their weights."""
    is_noise: bool
    """Whether the weights are too small to tell client data from noise."""


@dataclass(frozen=True)
class _RefinedCenters(NoisyCenters):
    proxies: _RefinedProxies


class RefinedRun:
    """One run of the refined method, in the ball's integer coordinates."""

    def __init__(self, method: RefinedMethod, run: Run) -> None:
        self._method = method
        self._looks = Looks(run, method.unit)
        self._seed = run.server_seed
        self._server = method.ball.encode(method.server_points)

    def subspace(self) -> _RefinedSubspace:
        """Return the top eigenvectors of the noisy second moment: k, or more if more stand above the noise (step 1)."""
        method, server = self._method, self._server
        bounds = SimulatedBounds(server, np.ones(len(server)), method.unit, self._typical_size(), np.random.default_rng(self._seed))
        moment = self._looks.second_moment(method.ball, bounds.moment_length())
        basis, above_noise = steadied_basis(moment, server, REFINED.prior_weight)
        return _RefinedSubspace(basis[:, : min(max(above_noise, method.k), method.largest_rank)], basis, bounds)

    def proxies(self, subspace: _RefinedSubspace) -> _RefinedProxies:
        """Return cells of the server points in the subspace, moved to the client points they hold, and their weights (step 2)."""
        projection = subspace.projection
        projected = project(self._server, projection)
        cells, members, sizes = self._cells(projected)
        # A cell's center is the mean of its own points: how far a *new* point lies is seen from each point's distance to the others.
        beyond = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)[members, None]
        frame = Frame.around(cells, projection)
        bound = subspace.bounds.of_sums(self._looks.plan["cells"], frame, REFINED.cell_counts, beyond)
        sums = self._looks.sums("cells", self._method.ball, frame, bound)
        weights = shrunk_weights(sums.counts, sizes, sums.count_noise)
        server_weights = (weights / np.maximum(sizes, 1))[members]
        n_points = float(sums.counts.sum())
        return _RefinedProxies(
            projection=projection,
            points=cells + _shrunk(sums, projected, self._method.k),
            weights=weights,
            server_weights=server_weights,
            basis=subspace.basis,
            bounds=replace(subspace.bounds, weights=server_weights, n_points=n_points),
            is_noise=n_points < REFINED.least_signal * sums.count_noise,
        )

    def initial_centers(self, proxies: _RefinedProxies, projected_centers: FloatArray) -> _RefinedCenters:
        """Return Lloyd steps in the subspace, then residuals in full space around the lifted centers (step 3).

        If there is only noise the centers are those of the server data, and the sums give their counts.
        """
        k, projection = len(projected_centers), proxies.projection
        if proxies.is_noise:
            server_centers = weighted_kmeans(self._server, np.ones(len(self._server)), k, self._seed)
            return self._full_step("sums", proxies, Frame.around(server_centers))
        projected = project(self._server, projection)
        for _ in range(REFINED.subspace_steps[self._method.unit]):
            sums = self._sums("subspace steps", proxies, Frame.around(projected_centers, projection), REFINED.subspace_counts)
            projected_centers = np.rint(projected_centers) + _shrunk(sums, projected, k)
        offsets = offsets_outside(self._server, proxies.server_weights, assign(projected, projected_centers), k, projection)
        return self._full_step("sums", proxies, Frame(projected_centers, projected_centers @ projection.T + offsets, projection))

    def lloyd_centers(self, latest: _RefinedCenters) -> _RefinedCenters:
        """Return the centers after one noisy Lloyd step on residuals; the same ones if there is only noise: no release is made for it."""
        if latest.proxies.is_noise:
            return latest
        ball = self._method.ball
        return self._full_step("lloyd sums", latest.proxies, Frame.around((latest.centers - ball.center) / ball.grid))

    def _full_step(self, name: str, proxies: _RefinedProxies, frame: Frame) -> _RefinedCenters:
        ball, basis = self._method.ball, proxies.basis
        sums = self._sums(name, proxies, frame, REFINED.full_counts)
        shift = 0.0 if proxies.is_noise else _shrunk(sums, self._server @ basis, len(frame.targets), basis) @ basis.T
        return _RefinedCenters(
            centers=ball.clip(ball.decode(np.rint(frame.origins) + shift)),
            counts=sums.counts / sums.kept,
            center_stddev=np.sqrt(sums.means()[1]) * ball.grid,
            count_stddev=sums.count_noise / sums.kept,
            remarks=(_ONLY_NOISE,) if proxies.is_noise else (),
            proxies=proxies,
        )

    def _sums(self, name: str, proxies: _RefinedProxies, frame: Frame, count_length: float) -> Sums:
        bound = proxies.bounds.of_sums(self._looks.plan[name], frame, count_length)
        return self._looks.sums(name, self._method.ball, frame, bound)

    def _typical_size(self) -> int:
        """Return the number of points of a typical unit: 1, the public hint, or the noisy median of the clients' sizes."""
        if self._method.unit is PrivacyUnit.POINT:
            return 1
        return min(self._method.client_size or self._looks.typical_size(), REFINED.largest_simulated_size)

    def _cells(self, projected: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the cells' centers, the cell of each projected server point, and the cells' sizes."""
        from sklearn.cluster import KMeans

        n = self._method.n_cells
        distinct = np.unique(projected, axis=0)
        if len(distinct) <= n:
            centers = np.vstack([distinct, np.repeat(distinct[-1:], n - len(distinct), axis=0)])
        else:
            centers = KMeans(n, n_init=1, max_iter=REFINED.cell_iterations, random_state=self._seed).fit(projected).cluster_centers_
        centers = np.rint(centers)
        members = assign(projected, centers)
        return centers, members, np.bincount(members, minlength=n)


def _shrunk(sums: Sums, server: FloatArray, k: int, basis: FloatArray | None = None) -> FloatArray:
    """Return the mean residuals in the basis, drawn towards zero as far as noise explains them; ``server`` is in the same coordinates."""
    means, variances = sums.means()
    caps = REFINED.largest_signal * np.square(server).mean(axis=0)
    return block_shrinkage(means if basis is None else means @ basis, variances, k, caps)
