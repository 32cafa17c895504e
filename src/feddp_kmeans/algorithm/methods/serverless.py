"""The refined method without server data: its proxies are made from noisy looks at the clients. Why, with numbers: docs/no_server_data.md.

A center and a scale; one second moment; counts of candidates drawn from it; Lloyd steps with more centers than clusters, inside the
subspace; then Lloyd steps in full, each release averaged with those before it as far as the centers stand still. All noise is Gaussian.
"""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import proxies
from feddp_kmeans.algorithm.domain import Region, distance_looks, domain_rounds, find_domain, lengths
from feddp_kmeans.algorithm.looks import Frame, Looks, Sums, Typical
from feddp_kmeans.algorithm.server import filtered
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.norms import SHARE_STEPS
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, MOMENT_SENSITIVITY, TRACE_WEIGHT

SHARES = {"distances": 0.01, "mean": 0.06, "bounds": 0.03, "second moment": 0.12, "candidates": 0.16, "cells": 0.08, "sums": 0.54}
"""Parts of the budget mu**2."""

LLOYD_STEPS = 7
"""Lloyd steps after the first sums. Many small releases lose nothing: where centers stand still they are averaged."""

REASONS = (
    "no server data: center, scale, subspace and proxies come from noisy looks at the clients",
    "bounds: the noisy median of what units would send; the sensitivities are in units of these bounds",
)
"""Why the plan is what it is."""

CANDIDATE_ROUNDS, CELL_STEPS = 2, 2

_CELLS_PER_CLUSTER = 4
"""Centers of the first Lloyd steps, in multiples of k: with more of them than clusters none is lost."""

_CELL_COUNTS, _FULL_COUNTS = 0.7, 0.3
"""Length of the counts beside that of a typical residual."""

_LARGEST_SIGNAL = 0.3
"""Largest squared error of a center that is believed, as a part of the variance of its direction."""

_CHEAP = 0.002
"""Cost of noise, as a part of the cost, up to which longer residuals are left as long as they are."""

_HOPELESS = 0.5
"""Spectral edge of the noise, as a part of the largest variance there can be, from which no direction can be told from noise."""

_SUPPORTED = 1.5
"""Size of a cluster, in standard deviations of its noise, from which it is called one."""


@dataclass(frozen=True)
class ServerlessMethod:
    """The releases of a run without server data."""

    unit: PrivacyUnit
    dimension: int
    k: int
    lloyd_steps: int
    region: Region | None = None

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget; every sensitivity is 1, in units of a bound.

        Where the mean is all there is, candidates and cells are means: d + 1 values.
        """
        d, k = self.dimension, self.k
        classes, rank = 82, min(2 * k, d)
        steps = 1 + self.lloyd_steps
        rounds, client_level = domain_rounds(self.region), self.unit is PrivacyUnit.CLIENT
        rows = [
            ("distances", SHARE_STEPS, classes, distance_looks(self.region)),
            ("mean", BOUNDED_STEPS, d + 1, rounds),
            ("bounds", 1, classes, 3 + (1 + rounds if client_level else 0)),
            ("second moment", MOMENT_SENSITIVITY, d * (d - 1) // 2 + d + 1, 1),
            ("candidates", BOUNDED_STEPS, max(proxies.MOST_CANDIDATES, proxies.LEAST_PER_CLUSTER * k, d + 1), CANDIDATE_ROUNDS),
            ("cells", BOUNDED_STEPS, max(_CELLS_PER_CLUSTER * k * (rank + 1), d + 1), CELL_STEPS),
            ("sums", BOUNDED_STEPS, k * (d + 1), steps),
        ]
        if client_level:
            rows[1], rows[2] = rows[2], rows[1]  # the ledger lists releases in the order of their first use
        return [
            Release(name, Mechanism.GAUSSIAN, 1.0, float(integer), float(np.sqrt(times / SHARES[name])), values, times)
            for name, integer, values, times in rows
        ]

    def bind(self, run: Run, seed: int) -> "ServerlessRun":
        """Return the method at work in one run."""
        return ServerlessRun(self, run, seed)


class ServerlessRun:
    """One run without server data. Works in integer coordinates around the noisy mean; remembers only what is public or was released."""

    def __init__(self, method: ServerlessMethod, run: Run, seed: int) -> None:
        self._method = method
        self._looks = Looks(run, method.unit)
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self.server_weights: FloatArray = np.zeros(0)
        self.center_stddev: FloatArray = np.zeros(method.k)
        self.count_stddev = 0.0
        self.remarks: list[str] = []

    def projection(self) -> FloatArray:
        """Return the subspace: eigenvectors of the noisy second moment around the noisy mean (step 1)."""
        method, d = self._method, self._method.dimension
        self._domain = find_domain(self._looks, method.region, d)
        self._ball = self._domain.ball
        self._typical = self._domain.typical / self._ball.grid
        matrix, trace, noise, typical = self._looks.second_moment(self._ball, np.square(lengths(self._looks, self._typical)))
        largest = self._typical**2
        if not self._looks.is_client_level:
            largest = min(largest, typical.length / np.sqrt(1 - (1 - TRACE_WEIGHT**2) / d))
        n = self._domain.n_points
        self._shape = proxies.shape_of(matrix / n, trace / n, noise / n, (0.02 * largest, largest))
        above = self._shape.variances > 1.5 * self._shape.edge
        self._is_hopeless = self._shape.edge > _HOPELESS * largest and not above.any()
        self._mean = np.zeros((1, d))
        self._common = self._domain.center_variance / self._ball.grid**2
        return self._shape.basis[:, : self._shape.rank(method.k)]

    def proxies(self, projection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return cells of the subspace, moved to the points they hold, and their weights (step 2)."""
        from sklearn.cluster import KMeans

        if self._is_hopeless:
            return self._mean_alone(projection)
        candidates, weights = self._candidates(projection)
        variances = self._shape.along[: projection.shape[1]]
        count = min(_CELLS_PER_CLUSTER * self._method.k, max(self._method.k, np.count_nonzero(weights)))
        cells = KMeans(count, n_init=3, random_state=self._seed).fit(candidates, sample_weight=weights).cluster_centers_
        known = np.zeros_like(cells)
        weight, typical = self._bound(_CELL_COUNTS, cells, projection)
        for _ in range(CELL_STEPS):
            cells = np.rint(cells)
            sums = self._looks.sums("cells", self._ball, Frame(cells, cells, projection, projection), weight, typical)
            means, errors = _means(sums)
            moves, known = filtered(means, errors, self._method.k, _LARGEST_SIGNAL * variances, known)
            cells = cells + moves
        return cells, proxies.credible_counts(sums.counts, sums.count_noise, self._method.k, 1.0)

    def initial_centers(self, projection: FloatArray, projected_centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return centers in full space and noisy counts: residuals around the lifted centers (step 3)."""
        self._k = len(projected_centers)
        self._centers = projected_centers @ projection.T
        if self._is_hopeless:
            self._centers = self._mean
        self._known = np.zeros_like(self._centers)
        self._counts: list[FloatArray] = []
        self._weight, self._sums_typical = self._bound(_FULL_COUNTS, self._centers, None)
        return self._full_step()

    def lloyd_centers(self, centers: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return the centers after one noisy Lloyd step on residuals, and the noisy counts; goes on from the last step, not rounded."""
        return self._full_step()

    def _candidates(self, projection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return candidates drawn from the noisy moments, then drawn again near the heavy ones, and their credible counts."""
        k, looks = self._method.k, self._looks
        variances = self._shape.along[: projection.shape[1]]
        noise = looks.plan["candidates"].scale
        nothing = np.zeros((self._method.dimension, 0))
        typical = Typical(1.0, 1.0)
        count = proxies.n_candidates(self._domain.n_points, noise, k)
        candidates = proxies.first_candidates(self._rng, count, variances)
        for left in reversed(range(CANDIDATE_ROUNDS)):
            frame = Frame(np.rint(candidates), np.zeros((count, 0)), projection, nothing)
            if looks.is_client_level and left == CANDIDATE_ROUNDS - 1:
                typical = looks.typical_sums(self._ball, frame, 1.0, lengths(looks, 1.0))
            sums = looks.sums("candidates", self._ball, frame, 1.0, typical)
            weights = proxies.credible_counts(sums.counts, sums.count_noise, k)
            if left:
                candidates = proxies.resampled(self._rng, candidates, weights, variances)
        return candidates, weights

    def _mean_alone(self, projection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean as the only proxy: noise hides every direction, so all releases go to the mean."""
        self.remarks.append(
            "the noise hides every direction of the data: all centers are the noisy mean; more points or more epsilon would help"
        )
        if self._looks.is_client_level:
            self._bound(_FULL_COUNTS, self._mean, None)
        self._weight, self._sums_typical = self._bound(_FULL_COUNTS, self._mean, None)
        for name, times in (("candidates", CANDIDATE_ROUNDS), ("cells", CELL_STEPS)):
            for _ in range(times):
                self._mean = self._common_step(name, self._mean)
        return np.zeros((1, projection.shape[1])), np.ones(1)

    def _common_step(self, name: str, mean: FloatArray) -> FloatArray:
        mean = np.rint(mean)
        sums = self._looks.sums(name, self._ball, Frame(mean, mean), self._weight, self._sums_typical)
        self._latest = sums
        return mean + self._common_move(sums, self._domain.n_points / 2)

    def _common_move(self, sums: Sums, least: float) -> FloatArray:
        """Return by how much all centers move together, filtered: this takes far less noise than the moves of single ones."""
        k = len(sums.counts)
        total = max(float(sums.counts.sum()), 2 * np.sqrt(k) * sums.count_noise, least, 1e-6)
        move, variance = sums.residuals.sum(axis=0) / total, k * (sums.noise / total) ** 2
        signal = max(float(np.square(move).mean()) - variance, self._common)
        gain = signal / max(signal + variance, 1e-300) if variance > 0 else 1.0
        self._common = gain * variance
        shift: FloatArray = gain * move
        return shift

    def _full_step(self) -> tuple[FloatArray, FloatArray]:
        k = self._k
        if self._is_hopeless:
            self._centers = self._common_step("sums", self._centers)
            counts = np.zeros(k)
            counts[0] = self._latest.counts[0] / self._latest.kept
            self.count_stddev = float(self._latest.count_noise / self._latest.kept)
            self.center_stddev = np.full(k, np.sqrt(self._common) * self._ball.grid)
            return self._decoded(np.repeat(self._centers, k, axis=0)), counts
        origins = np.rint(self._centers)
        sums = self._averaged(self._looks.sums("sums", self._ball, Frame(origins, origins), self._weight, self._sums_typical))
        shift = self._common_move(sums, 0.0)
        means, errors = _means(sums)
        caps = _LARGEST_SIGNAL * self._shape.along
        moves, self._known = filtered((means - shift) @ self._shape.basis, errors, k, caps, self._known)
        self._mean = self._mean + shift
        self._centers = origins + shift + moves @ self._shape.basis.T
        self.center_stddev = np.sqrt(self._known.mean(axis=1)) * self._ball.grid
        return self._honest(sums)

    def _averaged(self, sums: Sums) -> Sums:
        """Return the sums with the counts of all steps so far averaged: clusters change less from step to step than their noise."""
        self._counts.append(sums.counts)
        steps = len(self._counts)
        return replace(sums, counts=np.mean(self._counts, axis=0), count_noise=sums.count_noise / np.sqrt(steps))

    def _honest(self, sums: Sums) -> tuple[FloatArray, FloatArray]:
        """Return the centers, those that no points can be told to have as copies of the nearest other one, and the noisy counts."""
        weak = sums.counts < _SUPPORTED * sums.count_noise
        self.remarks.clear()
        centers = self._centers
        if weak.any():
            numbers = ", ".join(str(i) for i in np.flatnonzero(weak))
            self.remarks.append(
                f"clusters {numbers} cannot be told from noise: their centers repeat others, or the mean where all are such"
            )
            others = self._mean if weak.all() else centers[~weak]
            distances = np.square(centers[:, None] - others[None]).sum(axis=2)
            centers = np.where(weak[:, None], others[distances.argmin(axis=1)], centers)
        self.count_stddev = float(sums.count_noise / sums.kept)
        return self._decoded(centers), sums.counts / sums.kept

    def _decoded(self, centers: FloatArray) -> FloatArray:
        region = self._method.region
        decoded = self._ball.decode(centers)
        return self._ball.clip(decoded) if region is None else region.clip(decoded)

    def _bound(self, count_length: float, centers: FloatArray, projection: FloatArray | None) -> tuple[float, Typical]:
        """Return the weight of a count and the typical length of a unit's vector around these centers.

        A point's vector is its residual and one count, so the residual is measured and the weight is a part of it. A client's is not so
        simple: the weight is then a guess from the trace.
        """
        centers = np.rint(centers)
        frame = Frame(centers, centers, projection, projection)
        edges = lengths(self._looks, 8 * self._typical if projection is None else 1.2 * self._typical)
        if self._looks.is_client_level:
            weight = max(1.0, count_length * self._within(centers))
            return weight, self._looks.typical_sums(self._ball, frame, weight, edges)
        measured = self._looks.typical_sums(self._ball, frame, 1.0, edges, self._room_for_tails(projection))
        if measured.length >= edges[-1]:  # nothing stood out
            measured = Typical(self._typical, 1.0)
        weight = max(1.0, count_length * measured.length)
        return weight, Typical(float(np.hypot(measured.length, weight)), measured.kept)

    def _room_for_tails(self, projection: FloatArray | None) -> float:
        """Return how long a bound, in typical lengths, costs a given small part in noise: d (length noise k / n)**2 / steps a point."""
        if projection is not None:
            return 1.0
        release = self._looks.plan["sums"]
        noise = release.scale * self._method.k * np.sqrt(self._method.dimension / release.times)
        return float(self._domain.n_points * np.sqrt(_CHEAP) / max(noise, 1e-9))

    def _within(self, centers: FloatArray) -> float:
        """Return a rough typical distance of a point from its center: what the spread of the centers leaves of the trace."""
        d = centers.shape[1]
        trace = self._shape.trace if d == self._method.dimension else float(self._shape.along[:d].sum())
        between = float(np.square(centers).sum(axis=1).mean())
        return float(np.sqrt(max(trace - between, 0.1 * trace)))


def _means(sums: Sums) -> tuple[FloatArray, FloatArray]:
    """Return mean residuals, and the variance of their noise; no count is believed below twice its noise."""
    divisor = np.maximum(sums.counts, max(2 * sums.count_noise, 1e-6))
    return sums.residuals / divisor[:, None], np.square(sums.noise / divisor)
