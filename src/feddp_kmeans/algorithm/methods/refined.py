"""Method ``refined``: the same guarantee, a fraction of the excess cost. Why each part is there, with numbers: docs/refined.md.

One principle for both privacy units: a unit (a point, or a client) sends one vector of plain sums over its points, scaled down to a
bound that a typical unit just meets. A statistic of points is a statistic of clients that hold a point each. All noise is Gaussian, so
costs add up exactly: a release with noise multiplier s costs 1/s**2 of the budget mu**2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.server import block_shrinkage, offsets_outside, shrunk_weights, weighted_kmeans
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import residual_sums as statistics
from feddp_kmeans.statistics.arithmetic import assign, joint_sums, project
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.query import Statistic
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, MOMENT_SENSITIVITY, SIZE_CLASSES, TRACE_WEIGHT, traceless, whole_bound

SPLITS = {
    "balanced": {"client sizes": 0.02, "second moment": 0.21, "cells": 0.09, "subspace steps": 0.06, "sums": 0.62},
    "more for sums": {"client sizes": 0.02, "second moment": 0.16, "cells": 0.08, "subspace steps": 0.05, "sums": 0.69},
}
"""Parts of the budget mu**2. The second is better where the subspace is easy to find, and loses clusters where it is not."""

REASONS = (
    "bounds: the median of what made-up units of server points would send; the sensitivities are in units of these bounds",
    "the server data alone give the centers if the noisy weights turn out too small to tell client data from noise",
)
"""Why the plan is what it is, beside the number of Lloyd steps."""

SUBSPACE_STEPS = {PrivacyUnit.POINT: 5, PrivacyUnit.CLIENT: 3}
"""Lloyd steps inside the subspace: they release k (p + 1) numbers only, so they are cheap. How many was measured."""

_CELL_COUNTS, _SUBSPACE_COUNTS, _FULL_COUNTS = 1.0, 0.4, 0.2
"""Length of the counts beside that of the residuals in a typical unit's vector."""

_CELLS_PER_CLUSTER = 6
"""Cells of server points: more of them are noisier each and lose clusters more often."""

_RANK_FACTOR = 2
"""Largest dimension of the subspace, in multiples of k."""

_LARGEST_SIMULATED = 1024
"""Largest made-up unit; beyond it a bound only weighs large clients less, which costs no accuracy."""

_LARGEST_SIGNAL = 0.1
"""Largest squared error of a center that is believed, as a part of the server data's variance."""

_LEAST_SIGNAL = 15.0
"""Total weight, in standard deviations of one cell's noise, below which client data cannot improve on the server's."""

_TAIL, _LONG_TAIL, _CHEAP = 0.99, 1.5, 0.002
"""A tail is long where this quantile of the lengths is so many medians; a bound beyond the median may cost this part in noise."""

_UNBOUNDED = 1024.0
"""How far beyond a typical unit the bound is where there is no noise to keep small."""


@dataclass(frozen=True)
class RefinedMethod:
    """The refined releases: a noisy second moment, weighted cells of the server data, sums of residuals in the subspace and in full."""

    unit: PrivacyUnit
    ball: Ball
    k: int
    server_points: FloatArray
    lloyd_steps: int
    client_size: int | None = None
    split: str = "balanced"

    @property
    def asks_for_sizes(self) -> bool:
        """Return whether the typical client size has to be bought."""
        return self.unit is PrivacyUnit.CLIENT and self.client_size is None

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget; every sensitivity is 1, in units of a bound."""
        d, k, steps = self.ball.dimension, self.k, self.lloyd_steps
        shares = SPLITS[self.split]
        rows = [
            ("second moment", MOMENT_SENSITIVITY, shares["second moment"], d * (d - 1) // 2 + d + 1, 1),
            ("cells", BOUNDED_STEPS, shares["cells"], self.n_cells * (self.largest_rank + 1), 1),
            ("subspace steps", BOUNDED_STEPS, shares["subspace steps"], k * (self.largest_rank + 1), SUBSPACE_STEPS[self.unit]),
            ("sums", BOUNDED_STEPS, shares["sums"] / (1 + steps), k * (d + 1), 1),
        ]
        if self.asks_for_sizes:
            rows.insert(0, ("client sizes", 1.0, shares["client sizes"], SIZE_CLASSES, 1))
        if steps:
            rows.append(("lloyd sums", BOUNDED_STEPS, shares["sums"] * steps / (1 + steps), k * (d + 1), steps))
        return [
            Release(name, Mechanism.GAUSSIAN, 1.0, float(integer), float(np.sqrt(times / share)), values, times)
            for name, integer, share, values, times in rows
        ]

    @property
    def largest_rank(self) -> int:
        """Return the largest dimension that the subspace may have: that of its directions that stand above the noise, from k on."""
        return min(_RANK_FACTOR * self.k, self.ball.dimension)

    @property
    def n_cells(self) -> int:
        """Return the number of cells that the server points are gathered into."""
        return min(len(self.server_points), _CELLS_PER_CLUSTER * self.k)

    def bind(self, run: Run, seed: int) -> "RefinedRun":
        """Return the method at work in one run."""
        return RefinedRun(self, run, seed)


class RefinedRun:
    """One run of the refined method. Works in the ball's integer coordinates; remembers only what is public or was released."""

    def __init__(self, method: RefinedMethod, run: Run, seed: int) -> None:
        self._method = method
        self._run = run
        self._plan = run.plan
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._server = method.ball.encode(method.server_points)
        self.server_weights: FloatArray = np.ones(len(self._server))
        self._statistics = {
            PrivacyUnit.POINT: (statistics.POINT_SECOND_MOMENT, statistics.POINT_RESIDUALS),
            PrivacyUnit.CLIENT: (statistics.CLIENT_SECOND_MOMENT, statistics.CLIENT_RESIDUALS),
        }[method.unit]
        self._basis: FloatArray = np.eye(method.ball.dimension)
        self._unit_size = 1
        self._k = method.k  # Until fewer are chosen.
        self._too_noisy = False
        self._n_points = 0.0
        self.center_stddev: FloatArray = np.zeros(method.k)
        self.count_stddev = 0.0
        self.remarks: list[str] = []

    def projection(self) -> FloatArray:
        """Return the subspace: eigenvectors of the noisy second moment, steadied by the server's own where noise dominates (step 1)."""
        self._unit_size = self._typical_size()
        d, release = self._method.ball.dimension, self._plan["second moment"]
        chosen, batch = self._simulated_units()
        norms, _ = statistics.second_moment_norms(self._server[chosen.ravel()], batch)
        bound = self._bound(float(np.median(norms)), release)
        values = bound * self._noisy_sum(self._statistics[0], "second moment", bound=bound)
        matrix, trace = traceless(values, d)
        noise = bound * release.scale
        server = self._server.T @ self._server / len(self._server)
        points = max(trace, noise * np.sqrt(d) / TRACE_WEIGHT, 1e-9 * bound) / max(np.trace(server), 1e-300)
        edge = noise * np.sqrt(2 * d) / points
        prior = 2 * (edge / max(linalg.norm(server, 2), 1e-300)) ** 2
        steadied = matrix / points + prior * (server - np.eye(d) * np.trace(server) / d)
        eigenvalues, vectors = linalg.eigh(steadied)
        self._basis = np.ascontiguousarray(vectors[:, ::-1])
        above_noise = int(np.sum(eigenvalues > edge * (1 + prior)))
        return self._basis[:, : min(max(above_noise, self._method.k), self._method.largest_rank)]

    def proxies(self, projection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return cells of the server points in the subspace, moved to the client points they hold, and their weights (step 2)."""
        projected = project(self._server, projection)
        cells, members, sizes = self._cells(projected)
        # A cell's center is the mean of its own points: how far a *new* point lies is seen from each point's distance to the others.
        beyond = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)[members, None]
        found = self._residuals("cells", _CELL_COUNTS, cells, cells, (projection, projection), (projected - cells[members]) * beyond)
        weights = shrunk_weights(found.counts, sizes, found.count_stddev)
        self.server_weights = (weights / np.maximum(sizes, 1))[members]
        self._n_points = float(found.counts.sum())
        self._too_noisy = found.counts.sum() < _LEAST_SIGNAL * found.count_stddev
        return cells + self._shrunk(found, projected), weights

    def initial_centers(self, projection: FloatArray, projected_centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centers in full space and noisy counts: Lloyd steps in the subspace, then residuals around the lifted centers (step 3)."""
        self._k = len(projected_centers)
        projected = project(self._server, projection)
        for _ in range(SUBSPACE_STEPS[self._method.unit]):
            rows = projected - np.rint(projected_centers)[assign(projected, projected_centers)]
            found = self._residuals(
                "subspace steps", _SUBSPACE_COUNTS, projected_centers, projected_centers, (projection, projection), rows
            )
            projected_centers = np.rint(projected_centers) + self._shrunk(found, projected)
        if self._too_noisy:
            self.remarks.append("the noisy weights cannot tell client data from noise: the centers are those of the server data alone")
            server_only = weighted_kmeans(self._server, np.ones(len(self._server)), self._k, self._seed)
            return self._full_step("sums", server_only, server_only, None)
        members = assign(projected, projected_centers)
        offsets = offsets_outside(self._server, self.server_weights, members, self._k, projection)
        return self._full_step("sums", projected_centers, projected_centers @ projection.T + offsets, projection)

    def lloyd_centers(self, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the centers after one noisy Lloyd step on residuals, and the noisy counts."""
        ball = self._method.ball
        current = (centers - ball.center) / ball.grid
        return self._full_step("lloyd sums", current, current, None)

    def _full_step(
        self, name: str, targets: FloatArray, origins: FloatArray, projection: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        ball = self._method.ball
        rows = self._server - np.rint(origins)[assign(self._server, targets, projection)]
        found = self._residuals(name, _FULL_COUNTS, targets, origins, (projection, None), rows)
        self.center_stddev = np.sqrt(found.variances) * ball.grid
        self.count_stddev = found.count_stddev / found.mean_factor
        shift = 0.0 if self._too_noisy else self._shrunk(found, self._server @ self._basis, self._basis) @ self._basis.T
        return ball.clip(ball.decode(np.rint(origins) + shift)), found.counts / found.mean_factor

    def _shrunk(self, found: "_Residuals", coordinates: FloatArray, basis: FloatArray | None = None) -> FloatArray:
        """Return the mean residuals, shrunk, in the basis; no error beyond a tenth of the server's variance is believed."""
        means = found.means if basis is None else found.means @ basis
        return block_shrinkage(means, found.variances, self._k, _LARGEST_SIGNAL * np.square(coordinates).mean(axis=0))

    def _residuals(
        self,
        name: str,
        count_length: float,
        targets: FloatArray,
        origins: FloatArray,
        projections: tuple[FloatArray | None, FloatArray | None],
        server_rows: FloatArray,
    ) -> "_Residuals":
        """Return noisy mean residuals and counts around the origins; bound and count weight come from made-up units of server points.

        Points are assigned to the targets in the first projection's space and subtracted from the origins in the second's.
        """
        release = self._plan[name]
        projection, residual_projection = projections
        members = assign(self._server, targets, projection)
        chosen, batch = self._simulated_units()
        flat = chosen.ravel()
        units, _, sums = joint_sums(batch, server_rows[flat], members[flat], len(targets), 1.0)
        residual_square = np.bincount(units, np.square(sums[:, :-1]).sum(axis=1), minlength=batch.n_clients)
        count_square = np.bincount(units, np.square(sums[:, -1]), minlength=batch.n_clients)
        residual_length = max(float(np.sqrt(np.median(residual_square))), 1.0)
        weight = count_length * residual_length / float(np.sqrt(np.median(count_square)))
        norms = np.sqrt(residual_square + weight**2 * count_square)
        bound = whole_bound(self._bound(self._room_for_tails(norms, release, len(targets)), release))
        values = bound * self._noisy_sum(
            self._statistics[1],
            name,
            centers=targets,
            origins=origins,
            projection=projection,
            residual_projection=residual_projection,
            bound=bound,
            count_weight=weight,
        ).reshape(len(targets), -1)
        noise = bound * release.scale
        counts = values[:, -1] / weight
        divisor = np.maximum(counts, max(noise / weight, 1e-6))
        return _Residuals(
            means=values[:, :-1] / divisor[:, None],
            variances=np.square(noise / divisor),
            counts=counts,
            count_stddev=noise / weight,
            mean_factor=float(np.mean(np.minimum(1.0, bound / np.maximum(norms, 1e-300)))),
        )

    def _room_for_tails(self, norms: FloatArray, release: Release, k: int) -> float:
        """Return the bound: what a typical unit sends, or more where many points are far beyond it and noise costs little.

        A bound at the median draws centers towards the common points: of a rare category little is left. The noise of bound b adds
        ``d (b scale k / n)**2`` to the cost of a point; it may add a given small part of that cost.
        """
        median, tail = float(np.median(norms)), float(np.quantile(norms, _TAIL))
        in_full = release.name in ("sums", "lloyd sums")
        if not in_full or self._method.unit is not PrivacyUnit.POINT or tail < _LONG_TAIL * median or release.scale == 0:
            return median
        noise = release.scale * k * np.sqrt(self._method.ball.dimension) / max(self._n_points, 1.0)
        affordable = np.sqrt(_CHEAP * float(np.square(norms).mean())) / noise
        return float(np.clip(affordable, median, tail))

    def _cells(self, projected: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the cells' centers, the cell of each projected server point, and the cells' sizes."""
        from sklearn.cluster import KMeans

        n = self._method.n_cells
        distinct = np.unique(projected, axis=0)
        if len(distinct) <= n:
            centers = np.vstack([distinct, np.repeat(distinct[-1:], n - len(distinct), axis=0)])
        else:
            centers = KMeans(n, n_init=1, max_iter=20, random_state=self._seed).fit(projected).cluster_centers_
        centers = np.rint(centers)
        members = assign(projected, centers)
        return centers, members, np.bincount(members, minlength=n)

    def _typical_size(self) -> int:
        """Return the number of points of a typical unit: 1, the public hint, or the noisy median of the clients' sizes, rounded down.

        The median of a noisy histogram in powers of two, at its first crossing: an error towards small sizes does no harm.
        """
        method = self._method
        if method.unit is PrivacyUnit.POINT:
            return 1
        if method.client_size is not None:
            return min(method.client_size, _LARGEST_SIMULATED)
        histogram = self._noisy_sum(statistics.CLIENT_SIZES, "client sizes", with_ball=False)
        expected = self._run.n_clients * self._plan.sampling_rate
        crossing = np.flatnonzero(np.cumsum(histogram) >= expected / 2)
        return int(min(2 ** crossing[0], _LARGEST_SIMULATED)) if len(crossing) else 1

    def _simulated_units(self) -> tuple[IntArray, ClientBatch]:
        """Return made-up units: rows of server points drawn by their weights, and the batch they form."""
        size = self._unit_size
        count = int(np.clip(20_000 // size, 20, 400))
        total = self.server_weights.sum()
        chances = self.server_weights / total if total > 0 else None
        chosen = self._rng.choice(len(self._server), (count, size), p=chances)
        return chosen, ClientBatch(np.empty((count * size, 0)), np.arange(count + 1) * size)

    def _bound(self, typical: float, release: Release) -> float:
        typical = max(typical, 1.0)
        return typical if release.noise_multiplier > 0 else _UNBOUNDED * typical

    def _noisy_sum(self, statistic: Statistic, name: str, *, with_ball: bool = True, **public: Any) -> FloatArray:
        ball = self._method.ball
        about = {"center": ball.center, "radius": ball.radius} if with_ball else {}
        return self._run.noisy_sum(statistic, self._plan[name], **about, **public)


@dataclass(frozen=True)
class _Residuals:
    """What one release of residuals told."""

    means: FloatArray
    variances: FloatArray
    counts: FloatArray
    count_stddev: float
    mean_factor: float
