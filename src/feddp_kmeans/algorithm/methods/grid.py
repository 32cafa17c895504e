"""Few dimensions, no server data: one noisy histogram on a grid takes nearly the whole budget, and its cells are the proxies.

A point is in one cell, so Laplace noise for the histogram is much smaller than Gaussian noise would be. What more steps would gain
they cost in noise (docs/no_server_data.md).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.domain import Domain, Region, distance_looks, domain_rounds, find_domain
from feddp_kmeans.algorithm.looks import Looks
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.norms import GRID_COUNTS, POINT_COUNT, SHARE_STEPS
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS

LARGEST_DIMENSION = 2
"""Dimension up to which a grid does better than candidates drawn from moments."""

REASONS = ("no server data and few dimensions: nearly all of the budget for one histogram on a grid, as fine as noise allows",)
"""Why the plan is what it is."""

_COUNT_PART = 0.03
_DOMAIN_PART = 0.3
"""Parts of epsilon for the number of points, and for the domain where none is public."""

_GAUSSIAN_PRICE = 4.5
"""Noise multiplier of a Gaussian release beside that of a Laplace one of the same epsilon, roughly."""

_POINTS_PER_CELL = 4.0
"""The uniform grid has (n epsilon / c) to the power 2 d / (d + 2) cells. Su et al. (2016) take c = 10; empty cells are told apart here,
so they may be smaller."""

_CUBE = 0.6
"""Half the width of the grid beside the radius of a private ball, which is twice the reach of the points."""

_LEAST_PER_CLUSTER, _MOST_CELLS = 6, 1 << 13
_BLUR, _CREDIBLE = 0.7, 3.0
"""A cell counts if the blurred histogram stands this many standard deviations above zero there: a lone noisy cell does not."""


@dataclass(frozen=True)
class GridMethod:
    """The releases of a run on a grid: the number of points, then the histogram."""

    dimension: int
    k: int
    region: Region | None = None
    count_noise: Mechanism = Mechanism.LAPLACE

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of epsilon."""
        law, price = self.count_noise, _GAUSSIAN_PRICE if self.count_noise is Mechanism.GAUSSIAN else 1.0
        rows = [
            Release("count", law, 1.0, 1.0, price / _COUNT_PART, 1),
            Release("grid", law, 1.0, 1.0, price / (1 - _COUNT_PART), max(_MOST_CELLS, _LEAST_PER_CLUSTER * self.k)),
        ]
        if self.region is not None:
            return rows
        looks, rounds = distance_looks(None), domain_rounds(None)
        price = _GAUSSIAN_PRICE / _DOMAIN_PART
        return [
            Release("distances", Mechanism.GAUSSIAN, 1.0, SHARE_STEPS, price * float(np.sqrt(looks / 0.3)), 82, looks),
            Release("mean", Mechanism.GAUSSIAN, 1.0, BOUNDED_STEPS, price * float(np.sqrt(rounds / 0.7)), self.dimension + 1, rounds),
            *rows,
        ]

    def bind(self, run: Run, seed: int) -> "GridRun":
        """Return the method at work in one run."""
        return GridRun(self, run, seed)


class GridRun:
    """One run on a grid; remembers only what is public or was released."""

    def __init__(self, method: GridMethod, run: Run, seed: int) -> None:
        self._method = method
        self._run = run
        self._plan = run.plan
        self._seed = seed
        self.server_weights: FloatArray = np.zeros(0)
        self.center_stddev: FloatArray = np.zeros(method.k)
        self.count_stddev = 0.0
        self.remarks: list[str] = []

    def projection(self) -> FloatArray:
        """Return the whole space: there is nothing to project away."""
        method = self._method
        region = method.region
        if region is None:
            domain: Domain = find_domain(Looks(self._run, PrivacyUnit.POINT), None, method.dimension)
            region = Region.of_ball(Ball(domain.ball.center, _CUBE * domain.ball.radius))
        self._region = region
        return np.eye(method.dimension)

    def proxies(self, projection: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return the middles of the cells and their credible counts."""
        low, high = self._region.low, self._region.high
        n_points = float(self._run.noisy_sum(POINT_COUNT, self._plan["count"])[0])
        release = self._plan["grid"]
        self._noise = release.stddev
        cells = grid_cells(high - low, n_points * math.sqrt(2.0) / max(release.stddev, 1e-9), self._method.k)
        self._counts = self._run.noisy_sum(GRID_COUNTS, release, low=low, high=high, cells=cells)
        places = np.stack(np.meshgrid(*(np.arange(c) + 0.5 for c in cells), indexing="ij"), axis=-1).reshape(-1, len(cells))
        self._middles = low + places / cells * (high - low)
        return self._middles, occupied(self._counts.reshape(cells.astype(np.int64)), self._noise, self._method.k)

    def initial_centers(self, projection: FloatArray, projected_centers: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return the centers and the noisy counts of their cells, as they are: no further release."""
        k = len(projected_centers)
        distances = np.square(self._middles[:, None] - projected_centers[None]).sum(axis=2)
        members = distances.argmin(axis=1)
        counts: FloatArray = np.bincount(members, self._counts, minlength=k).astype(np.float64)
        count_noise = self._noise * np.sqrt(np.bincount(members, minlength=k))
        self.count_stddev = float(count_noise.max())
        lever = np.bincount(members, distances.min(axis=1), minlength=k) / self._method.dimension
        self.center_stddev = self._noise * np.sqrt(lever) / np.maximum(counts, np.maximum(count_noise, 1e-9))
        weak = np.flatnonzero(counts < _CREDIBLE * count_noise)
        if len(weak):
            self.remarks.append(f"clusters {', '.join(map(str, weak))} cannot be told from noise")
        return projected_centers, counts

    def lloyd_centers(self, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the centers as they are: a grid has no Lloyd steps."""
        raise NotImplementedError


def occupied(counts: FloatArray, noise: float, k: int) -> FloatArray:
    """Return the counts of cells in whose neighbourhood there are credibly points, and zero elsewhere; all where fewer than k are left."""
    blurred = ndimage.gaussian_filter(counts, _BLUR, mode="constant")
    spot = np.zeros([15] * counts.ndim)
    spot[tuple([7] * counts.ndim)] = 1.0
    blurred_noise = noise * np.linalg.norm(ndimage.gaussian_filter(spot, _BLUR))
    inside = (blurred > _CREDIBLE * blurred_noise) | (counts > (_CREDIBLE + 1) * noise)
    least = 1e-6 * max(float(counts.max()), noise, 1e-6)
    weights: FloatArray = np.where(inside, np.maximum(counts, least), 0.0).ravel()
    return weights if np.count_nonzero(weights) >= k else np.maximum(counts.ravel(), least)


def grid_cells(widths: FloatArray, points_per_noise: float, k: int) -> FloatArray:
    """Return the number of cells along each side: cubes, as many as the number of points and the noise allow.

    ``points_per_noise`` counts noise as the scale of a Laplace variable of the same variance.
    """
    d = len(widths)
    wanted = max(points_per_noise / _POINTS_PER_CELL, 1.0) ** (2 * d / (d + 2))
    wanted = float(np.clip(wanted, _LEAST_PER_CLUSTER * k, _MOST_CELLS))
    side = float((np.prod(widths) / wanted) ** (1 / d))
    cells: FloatArray = np.maximum(1.0, np.rint(widths / side))
    while np.prod(cells) > max(_MOST_CELLS, _LEAST_PER_CLUSTER * k):
        cells[cells.argmax()] //= 2.0
    return cells
