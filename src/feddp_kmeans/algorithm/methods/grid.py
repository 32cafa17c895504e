"""Few dimensions, no server data: a noisy histogram takes nearly the whole budget, with cells as fine as a first look shows to be needed.

A point is in one cell, so Laplace noise for the histogram is much smaller than Gaussian noise would be. What more steps would gain
they cost in noise (docs/no_server_data.md).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import spatial

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.closing import Closing, close, closing_requests
from feddp_kmeans.algorithm.column_looks import column_row, find_units
from feddp_kmeans.algorithm.domain import domain_rows, find_domain
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Proxies, Subspace
from feddp_kmeans.algorithm.looks import Looks
from feddp_kmeans.algorithm.methods.fineness import FirstLook, allowed_cells, first_cells, usual_cells
from feddp_kmeans.algorithm.methods.levels import Pieces, pieces
from feddp_kmeans.algorithm.settings import Region
from feddp_kmeans.algorithm.tuning import GRID
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.norms import GRID_COUNTS, POINT_COUNT, TREE_COUNTS

REASONS = ("no server data and few dimensions: nearly all of the budget for one histogram, as fine as a first look shows to be needed",)
"""Why the plan is what it is."""

_LEAST_NOISE, _LEAST_COUNT = 1e-9, 1e-6
"""Stand for zero in a divisor; the second is also the least weight of a cell relative to the heaviest."""


@dataclass(frozen=True)
class GridMethod:
    """The releases of a run on a grid: the number of points, a first look, then the histogram."""

    dimension: int
    k: int
    region: Region | None = None
    count_noise: Mechanism = Mechanism.LAPLACE
    unscaled: tuple[bool, ...] = ()
    """Columns whose units are found first."""

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of epsilon."""
        law, price = self.count_noise, GRID.gaussian_price if self.count_noise is Mechanism.GAUSSIAN else 1.0
        rows = [
            Release("count", law, 1.0, 1.0, price / GRID.count_part, 1),
            Release("first look", law, 1.0, 1.0, price / GRID.first_part, GRID.first_cells),
            Release("grid", law, 1.0, 1.0, price / (1 - GRID.count_part - GRID.first_part), GRID.most_cells),
            *closing_requests(self.k, law, GRID.closing_parts, price),
        ]
        if self.region is not None:
            return rows
        price = GRID.gaussian_price / GRID.domain_part
        parts = {"distances": GRID.distance_part, "mean": 1 - GRID.distance_part, "columns": GRID.column_part}
        columns = [column_row(sum(self.unscaled))] if any(self.unscaled) else []
        domain = [
            Release(name, Mechanism.GAUSSIAN, 1.0, steps, price * float(np.sqrt(times / parts[name])), values, times)
            for name, steps, values, times in [*columns, *domain_rows(None, self.dimension)]
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
    pieces: Pieces
    """The cells with all their noisy counts; the weights of those that are not credible are zero."""
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
            looks = Looks(self.run, PrivacyUnit.POINT)
            if any(self.method.unscaled):
                find_units(looks, np.array(self.method.unscaled))
            ball = find_domain(looks, None).ball
            region = Region.of_ball(Ball(ball.center, GRID.cube * ball.radius))
        return _WholeSpace(np.eye(dimension), region)

    def proxies(self, subspace: _WholeSpace) -> _Cells:
        """Return the middles of the cells and their credible counts (step 2)."""
        low, high = subspace.region.low, subspace.region.high
        k = self.method.k
        first, last = (max(self.run.plan[name].stddev / math.sqrt(2.0), _LEAST_NOISE) for name in ("first look", "grid"))
        n_points = max(float(self.run.noisy_sum(POINT_COUNT, self.run.plan["count"])[0]), first)
        coarse = first_cells(low, high, n_points / first)
        seen = self.run.noisy_sum(GRID_COUNTS, self.run.plan["first look"], low=low, high=high, cells=coarse)
        allowed = allowed_cells(n_points, last, self.method.dimension)
        first = max(self.run.made["first look"].stddev / math.sqrt(2.0), _LEAST_NOISE)
        look = FirstLook(seen.reshape(coarse.astype(np.int64)), first, n_points)
        leaves = look.finer(usual_cells(low, high, allowed, k), min(allowed, GRID.cells_per_cluster * k))
        where: dict[str, Any] = {"low": low, "high": high, "cells": leaves.cells, "depth": float(leaves.depth), "edges": leaves.edges}
        counts = self.run.noisy_sum(TREE_COUNTS, self.run.plan["grid"], **where)[: len(leaves.starts)]
        noise = max(self.run.made["grid"].stddev, _LEAST_NOISE)
        found = pieces(leaves, counts, noise)
        heavy = np.maximum(found.counts, _LEAST_COUNT * max(float(found.counts.max()), last, _LEAST_COUNT))
        return _Cells(
            projection=subspace.projection,
            points=found.points,
            weights=np.where(found.holds, heavy, 0.0) if np.count_nonzero(found.holds) >= k else heavy,
            server_weights=np.zeros(0),
            weight_noise=noise,
            variance=found.squares / 12,
            pieces=found,
            region=subspace.region,
        )

    def initial_centers(self, proxies: _Cells, projected_centers: FloatArray) -> _GridCenters:
        """Return the centers as they are, and the noisy counts of their cells: no further release (step 3)."""
        k, found, heavy = len(projected_centers), proxies.pieces, proxies.weights
        distances, members = spatial.cKDTree(projected_centers).query(proxies.points)
        counts: FloatArray = np.bincount(members, found.counts, minlength=k).astype(np.float64)
        count_noise = np.sqrt(np.bincount(members, found.variances, minlength=k))
        # A center errs by the noise of the cells that it is the mean of, and by where the points are within each.
        errors = found.variances * np.square(distances) / self.method.dimension + np.square(heavy) * found.squares / 12
        errors = np.bincount(members, np.where(heavy > 0, errors, 0.0), minlength=k)
        weak = np.flatnonzero(counts < GRID.weak * count_noise)
        return _GridCenters(
            centers=projected_centers,
            counts=counts,
            center_stddev=np.sqrt(errors) / np.maximum(np.bincount(members, heavy, minlength=k), np.maximum(count_noise, _LEAST_NOISE)),
            count_stddev=float(count_noise.max()),
            remarks=(f"clusters {', '.join(map(str, weak))} cannot be distinguished from noise",) if len(weak) else (),
            region=proxies.region,
            typical=float(np.sqrt(np.average(np.square(distances), weights=heavy))),
        )

    def lloyd_centers(self, latest: _GridCenters) -> _GridCenters:
        """Return the centers as they are: weighted k-means has made all Lloyd steps on the histogram already."""
        return latest

    def closing(self, latest: _GridCenters) -> Closing:
        """Return the sizes and spreads of the clusters around the released centers."""
        return close(Looks(self.run, PrivacyUnit.POINT), latest.region.ball, latest.centers, latest.typical)
