"""Few dimensions, no server data: one noisy histogram on a grid takes nearly the whole budget, and its cells are the proxies.

A point is in one cell, so Laplace noise for the histogram is much smaller than Gaussian noise would be. What more steps would gain
they cost in noise (docs/no_server_data.md).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.closing import Closing, close, closing_requests
from feddp_kmeans.algorithm.domain import domain_rows, find_domain
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Proxies, Subspace
from feddp_kmeans.algorithm.looks import Looks
from feddp_kmeans.algorithm.settings import Region
from feddp_kmeans.algorithm.tuning import GRID
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.norms import GRID_COUNTS, POINT_COUNT

REASONS = ("no server data and few dimensions: nearly all of the budget for one histogram on a grid, as fine as noise allows",)
"""Why the plan is what it is."""

_LEAST_NOISE, _LEAST_COUNT = 1e-9, 1e-6
"""Stand for zero in a divisor; the second is also the least weight of a cell relative to the heaviest."""

_SPOT = 15
"""Width of the field, in cells, on which the noise of a blurred cell is worked out: wider than the blur reaches."""


@dataclass(frozen=True)
class GridMethod:
    """The releases of a run on a grid: the number of points, then the histogram."""

    dimension: int
    k: int
    region: Region | None = None
    count_noise: Mechanism = Mechanism.LAPLACE

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of epsilon."""
        law, price = self.count_noise, GRID.gaussian_price if self.count_noise is Mechanism.GAUSSIAN else 1.0
        rows = [
            Release("count", law, 1.0, 1.0, price / GRID.count_part, 1),
            Release("grid", law, 1.0, 1.0, price / (1 - GRID.count_part), max(GRID.most_cells, GRID.least_cells * self.k)),
            *closing_requests(self.k, law, GRID.closing_parts, price),
        ]
        if self.region is not None:
            return rows
        price, parts = GRID.gaussian_price / GRID.domain_part, {"distances": GRID.distance_part, "mean": 1 - GRID.distance_part}
        domain = [
            Release(name, Mechanism.GAUSSIAN, 1.0, steps, price * float(np.sqrt(times / parts[name])), values, times)
            for name, steps, values, times in domain_rows(None, self.dimension)
        ]
        return domain + rows

    def bind(self, run: Run) -> "GridRun":
        """Return the steps of this method in one run."""
        return GridRun(self, run)


@dataclass(frozen=True)
class _WholeSpace(Subspace):
    region: Region


@dataclass(frozen=True, kw_only=True)
class _Cells(Proxies):
    counts: FloatArray
    """Noisy counts of the cells as they were released; the weights of those that are not credible are zero."""
    region: Region


@dataclass(frozen=True)
class _GridCenters(NoisyCenters):
    region: Region
    typical: float
    """Rough distance of a point from its center."""


@dataclass(frozen=True)
class GridRun:
    """One run on a grid."""

    method: GridMethod
    run: Run

    def subspace(self) -> _WholeSpace:
        """Return the whole space, since nothing is projected away, and the region of the grid (step 1)."""
        region, dimension = self.method.region, self.method.dimension
        if region is None:
            ball = find_domain(Looks(self.run, PrivacyUnit.POINT), None, dimension).ball
            region = Region.of_ball(Ball(ball.center, GRID.cube * ball.radius))
        return _WholeSpace(np.eye(dimension), region)

    def proxies(self, subspace: _WholeSpace) -> _Cells:
        """Return the middles of the cells and their credible counts (step 2)."""
        low, high = subspace.region.low, subspace.region.high
        release, k = self.run.plan["grid"], self.method.k
        n_points = float(self.run.noisy_sum(POINT_COUNT, self.run.plan["count"])[0])
        cells = grid_cells(high - low, n_points * math.sqrt(2.0) / max(release.stddev, _LEAST_NOISE), k)
        counts = self.run.noisy_sum(GRID_COUNTS, release, low=low, high=high, cells=cells)
        places = np.stack(np.meshgrid(*(np.arange(c) + 0.5 for c in cells), indexing="ij"), axis=-1).reshape(-1, len(cells))
        noise = self.run.made["grid"].stddev
        weights = occupied(counts.reshape(cells.astype(np.int64)), noise, k)
        width = float(np.max((high - low) / cells))
        middles = low + places / cells * (high - low)
        return _Cells(
            projection=subspace.projection,
            points=middles,
            weights=weights,
            server_weights=np.zeros(0),
            weight_noise=noise,
            variance=width**2 / 12,
            counts=counts,
            region=subspace.region,
        )

    def initial_centers(self, proxies: _Cells, projected_centers: FloatArray) -> _GridCenters:
        """Return the centers as they are, and the noisy counts of their cells: no further release (step 3)."""
        k, noise = len(projected_centers), self.run.made["grid"].stddev
        distances = np.square(proxies.points[:, None] - projected_centers[None]).sum(axis=2)
        members = distances.argmin(axis=1)
        counts: FloatArray = np.bincount(members, proxies.counts, minlength=k).astype(np.float64)
        count_noise = noise * np.sqrt(np.bincount(members, minlength=k))
        lever = np.bincount(members, distances.min(axis=1), minlength=k) / self.method.dimension
        weak = np.flatnonzero(counts < GRID.credible * count_noise)
        return _GridCenters(
            centers=projected_centers,
            counts=counts,
            center_stddev=noise * np.sqrt(lever) / np.maximum(counts, np.maximum(count_noise, _LEAST_NOISE)),
            count_stddev=float(count_noise.max()),
            remarks=(f"clusters {', '.join(map(str, weak))} cannot be distinguished from noise",) if len(weak) else (),
            region=proxies.region,
            typical=float(np.sqrt(np.average(distances.min(axis=1), weights=proxies.weights))),
        )

    def lloyd_centers(self, latest: _GridCenters) -> _GridCenters:
        """Return the centers as they are: weighted k-means has made all Lloyd steps on the histogram already."""
        return latest

    def closing(self, latest: _GridCenters) -> Closing:
        """Return the sizes and spreads of the clusters around the released centers."""
        return close(Looks(self.run, PrivacyUnit.POINT), latest.region.ball, latest.centers, latest.typical)


def occupied(counts: FloatArray, noise: float, k: int) -> FloatArray:
    """Return the counts of cells in whose neighbourhood there are credibly points, and zero elsewhere; all if fewer than k are left."""
    blurred = ndimage.gaussian_filter(counts, GRID.blur, mode="constant")
    spot = np.zeros([_SPOT] * counts.ndim)
    spot[(_SPOT // 2,) * counts.ndim] = 1.0
    blurred_noise = noise * np.linalg.norm(ndimage.gaussian_filter(spot, GRID.blur))
    inside = (blurred > GRID.credible * blurred_noise) | (counts > (GRID.credible + 1) * noise)
    least = _LEAST_COUNT * max(float(counts.max()), noise, _LEAST_COUNT)
    weights: FloatArray = np.where(inside, np.maximum(counts, least), 0.0).ravel()
    return weights if np.count_nonzero(weights) >= k else np.maximum(counts.ravel(), least)


def grid_cells(widths: FloatArray, points_per_noise: float, k: int) -> FloatArray:
    """Return the number of cells along each side: cubes, as many as the number of points and the noise allow.

    ``points_per_noise`` counts noise as the scale of a Laplace variable of the same variance.
    """
    d = len(widths)
    wanted = max(points_per_noise / GRID.points_per_cell, 1.0) ** (2 * d / (d + 2))
    wanted = float(np.clip(wanted, GRID.least_cells * k, GRID.most_cells))
    side = float((np.prod(widths) / wanted) ** (1 / d))
    cells: FloatArray = np.maximum(1.0, np.rint(widths / side))
    while np.prod(cells) > max(GRID.most_cells, GRID.least_cells * k):
        cells[cells.argmax()] //= 2.0
    return cells
