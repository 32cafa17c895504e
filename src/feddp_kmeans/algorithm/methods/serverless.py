"""The refined method without server data: its proxies are made from noisy looks at the clients. Why, with numbers: docs/no_server_data.md.

It finds a center and a scale, then one second moment; it counts the points near candidates drawn from this moment; it makes Lloyd steps
inside the subspace with more centers than clusters; then Lloyd steps in full, each averaged with those before it as far as the centers
stand still. All noise is Gaussian, bounds are read off noisy histograms, and every tuned number is in tuning.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import proxies as made
from feddp_kmeans.algorithm.bounds import HistogramBounds, length_edges, typical_length, typical_sums
from feddp_kmeans.algorithm.domain import MOST_CLASSES, domain_rows, find_domain
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Proxies, Subspace
from feddp_kmeans.algorithm.looks import TINY, Bound, Frame, Looks, Sums, gaussian_releases
from feddp_kmeans.algorithm.server import SMALLEST, filtered, variance_of
from feddp_kmeans.algorithm.settings import Region
from feddp_kmeans.algorithm.tuning import CHOOSING, SERVERLESS
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, MOMENT_SENSITIVITY, TRACE_WEIGHT

REASONS = (
    "no server data: center, scale, subspace and proxies come from noisy looks at the clients",
    "bounds: the noisy median of what units would send; the sensitivities are in units of these bounds",
)
"""Why the plan is what it is."""

_HIDDEN = "the noise hides every direction of the data: all centers are the noisy mean; more points or more epsilon would help"


@dataclass(frozen=True)
class ServerlessMethod:
    """The releases of a run without server data."""

    unit: PrivacyUnit
    dimension: int
    k: int
    lloyd_steps: int
    region: Region | None = None
    cell_steps: int = SERVERLESS.cell_steps

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget.

        If the mean is all there is, candidates and cells are means: d + 1 values.
        """
        d, k = self.dimension, self.k
        distances, mean = domain_rows(self.region, d)
        candidates = max(SERVERLESS.most_candidates, SERVERLESS.least_candidates * k, d + 1)
        cells = max(SERVERLESS.cells_per_cluster * k * (min(SERVERLESS.rank_factor * k, d) + 1), d + 1)
        is_client_level = self.unit is PrivacyUnit.CLIENT
        # Second moment, cells and sums have one bound each; at client level the means and the candidates need bounds too.
        bounds = ("bounds", 1, MOST_CLASSES, 3 + (1 + mean[-1] if is_client_level else 0))
        rows = [
            distances,
            *([bounds, mean] if is_client_level else [mean, bounds]),
            ("second moment", MOMENT_SENSITIVITY, d * (d - 1) // 2 + d + 1, 1),
            ("candidates", BOUNDED_STEPS, candidates, SERVERLESS.candidate_rounds),
            ("cells", BOUNDED_STEPS, cells, self.cell_steps),
            ("sums", BOUNDED_STEPS, k * (d + 1), 1 + self.lloyd_steps),
        ]
        more = CHOOSING.cell_part if self.cell_steps > SERVERLESS.cell_steps else 0.0
        parts = {**SERVERLESS.shares, "cells": SERVERLESS.shares["cells"] + more, "sums": SERVERLESS.shares["sums"] - more}
        return gaussian_releases(parts, rows)

    def bind(self, run: Run) -> "ServerlessRun":
        """Return the steps of this method in one run."""
        return ServerlessRun(self, run)


@dataclass(frozen=True)
class _Mean:
    """The noisy mean of all points, and the variance of the error in one of its coordinates."""

    place: FloatArray
    variance: float

    def move(self, sums: Sums, least: float = 0.0) -> tuple[FloatArray, float]:
        """Return by how much all centers move together, filtered, and the variance that is left: far less noise than in single moves."""
        k = len(sums.counts)
        total = max(float(sums.counts.sum()), 2 * np.sqrt(k) * sums.count_noise, least, TINY)
        move, noise = sums.residuals.sum(axis=0) / total, k * (sums.noise / total) ** 2
        signal = max(float(np.square(move).mean()) - noise, self.variance)
        gain = signal / max(signal + noise, SMALLEST) if noise > 0 else 1.0
        return gain * move, gain * noise


@dataclass(frozen=True)
class _FoundSubspace(Subspace):
    bounds: HistogramBounds
    mean: _Mean
    is_hopeless: bool
    """Whether noise hides every direction: then only the mean can be found."""


@dataclass(frozen=True, kw_only=True)
class _MadeProxies(Proxies):
    found: _FoundSubspace
    mean: _Mean


@dataclass(frozen=True)
class _Track:
    """What the next step goes on from: places that are not rounded or clipped, and the error that they are known to have."""

    found: _FoundSubspace
    k: int
    bound: Bound
    mean: _Mean
    places: FloatArray
    known: FloatArray
    all_counts: tuple[FloatArray, ...] = ()


@dataclass(frozen=True)
class _TrackedCenters(NoisyCenters):
    track: _Track


class ServerlessRun:
    """One run without server data, in integer coordinates around the noisy mean."""

    def __init__(self, method: ServerlessMethod, run: Run) -> None:
        self._method = method
        self._looks = Looks(run, method.unit)
        self._seed = run.server_seed

    def subspace(self) -> _FoundSubspace:
        """Return the top eigenvectors of the noisy second moment around the noisy mean (step 1)."""
        method, looks, d = self._method, self._looks, self._method.dimension
        domain = find_domain(looks, method.region, d)
        ball, n = domain.ball, domain.n_points
        typical = domain.typical / ball.grid
        edges = np.square(length_edges(looks, typical))
        length = typical_length(looks.moment_lengths(ball, edges), looks.plan["bounds"].scale, edges).length
        moment = looks.second_moment(ball, length)
        largest = typical**2
        if not looks.is_client_level:
            largest = min(largest, length / np.sqrt(1 - (1 - TRACE_WEIGHT**2) / d))
        limits = SERVERLESS.least_trace * largest, largest
        shape = made.Shape.of(moment.matrix / n, moment.trace / n, moment.noise / n, limits)
        is_clear = (shape.variances > SERVERLESS.clear_direction * shape.edge).any()
        return _FoundSubspace(
            projection=shape.basis[:, : shape.rank(method.k)],
            bounds=HistogramBounds(looks, ball, shape, typical, n, method.k),
            mean=_Mean(np.zeros((1, d)), domain.center_variance / ball.grid**2),
            is_hopeless=bool(shape.edge > SERVERLESS.hopeless * largest and not is_clear),
        )

    def proxies(self, subspace: _FoundSubspace) -> _MadeProxies:
        """Return cells of the subspace, moved to the points they hold, and weights; only the mean if noise hides all else (step 2)."""
        from sklearn.cluster import KMeans

        if subspace.is_hopeless:
            return self._only_mean(subspace)
        k, projection, ball = self._method.k, subspace.projection, subspace.bounds.ball
        candidates, weights = self._candidates(subspace)
        count = min(SERVERLESS.cells_per_cluster * k, max(k, np.count_nonzero(weights)))
        model = KMeans(count, n_init=SERVERLESS.cell_restarts, random_state=self._seed)
        cells = model.fit(candidates, sample_weight=weights).cluster_centers_
        known, caps = np.zeros_like(cells), SERVERLESS.largest_signal * subspace.bounds.shape.along[: projection.shape[1]]
        bound = self._bound(subspace, "cells", cells, projection)
        for _ in range(self._method.cell_steps):
            cells = np.rint(cells)
            sums = self._looks.sums("cells", ball, Frame.around(cells, projection), bound)
            means, errors = sums.means(SERVERLESS.least_count)
            moves, known = filtered(means, errors, k, caps, known)
            cells = cells + moves
        weights = made.credible_counts(sums.counts, sums.count_noise, k, SERVERLESS.credible_cell)
        return _MadeProxies(
            projection=projection,
            points=cells,
            weights=weights,
            server_weights=np.zeros(0),
            weight_noise=sums.count_noise,
            place_noise=sums.noise,
            variance=variance_of((bound.count_weight / SERVERLESS.cell_counts) ** 2, cells.shape[1]),
            found=subspace,
            mean=subspace.mean,
        )

    def initial_centers(self, proxies: _MadeProxies, projected_centers: FloatArray) -> _TrackedCenters:
        """Return centers in full space: residuals around the lifted centers (step 3)."""
        found, mean = proxies.found, proxies.mean
        places = mean.place if found.is_hopeless else projected_centers @ proxies.projection.T
        bound = self._bound(found, "sums", places)
        return self._step(_Track(found, len(projected_centers), bound, mean, places, np.zeros_like(places)))

    def lloyd_centers(self, latest: _TrackedCenters) -> _TrackedCenters:
        """Return the centers after one noisy Lloyd step on residuals: averaged with the steps before as far as they stand still."""
        return self._step(latest.track)

    def _step(self, track: _Track) -> _TrackedCenters:
        return self._mean_step(track) if track.found.is_hopeless else self._full_step(track)

    def _full_step(self, track: _Track) -> _TrackedCenters:
        shape, ball = track.found.bounds.shape, track.found.bounds.ball
        origins = np.rint(track.places)
        sums = self._looks.sums("sums", ball, Frame.around(origins), track.bound)
        # Clusters change less from step to step than their noise: the counts of all steps so far are averaged.
        all_counts = (*track.all_counts, sums.counts)
        sums = replace(sums, counts=np.mean(all_counts, axis=0), count_noise=sums.count_noise / np.sqrt(len(all_counts)))
        shift, variance = track.mean.move(sums)
        mean = _Mean(track.mean.place + shift, variance)
        means, errors = sums.means(SERVERLESS.least_count)
        moves, known = filtered((means - shift) @ shape.basis, errors, track.k, SERVERLESS.largest_signal * shape.along, track.known)
        places = origins + shift + moves @ shape.basis.T
        supported, remarks = _supported(places, sums, mean.place)
        moved = replace(track, mean=mean, places=places, known=known, all_counts=all_counts)
        return self._centers(moved, supported, sums, np.sqrt(known.mean(axis=1)), remarks)

    def _mean_step(self, track: _Track) -> _TrackedCenters:
        """Return k times the mean; the first of them has all points."""
        mean, sums = self._moved_mean("sums", track.found, track.mean, track.bound)
        sums = replace(sums, counts=np.append(sums.counts, np.zeros(track.k - 1)))
        places = np.repeat(mean.place, track.k, axis=0)
        return self._centers(replace(track, mean=mean), places, sums, np.full(track.k, np.sqrt(mean.variance)), (_HIDDEN,))

    def _centers(self, track: _Track, places: FloatArray, sums: Sums, errors: FloatArray, remarks: tuple[str, ...]) -> _TrackedCenters:
        ball = track.found.bounds.ball
        return _TrackedCenters(
            centers=(self._method.region or ball).clip(ball.decode(places)),
            counts=sums.counts / sums.kept,
            center_stddev=errors * ball.grid,
            count_stddev=float(sums.count_noise / sums.kept),
            remarks=remarks,
            track=track,
        )

    def _candidates(self, subspace: _FoundSubspace) -> tuple[FloatArray, FloatArray]:
        """Return candidates drawn from the noisy moments, then drawn again near the heavy ones, and their credible counts."""
        k, looks, ball, projection = self._method.k, self._looks, subspace.bounds.ball, subspace.projection
        rng = np.random.default_rng(self._seed)
        variances = subspace.bounds.shape.along[: projection.shape[1]]
        release = looks.plan["candidates"]
        nothing = np.zeros((self._method.dimension, 0))
        bound = Bound.at(1.0, 1.0, 1.0, release)
        count = made.n_candidates(subspace.bounds.n_points, release.scale, k)
        candidates = made.first_candidates(rng, count, variances)
        for left in reversed(range(SERVERLESS.candidate_rounds)):
            frame = Frame(np.rint(candidates), np.zeros((count, 0)), projection, nothing)  # counts only, no residuals
            if looks.is_client_level and left == SERVERLESS.candidate_rounds - 1:
                typical = typical_sums(looks, ball, frame, 1.0, length_edges(looks, 1.0))
                bound = Bound.at(typical.length, 1.0, typical.kept, release)
            sums = looks.sums("candidates", ball, frame, bound)
            weights = made.credible_counts(sums.counts, sums.count_noise, k, SERVERLESS.credible_candidate)
            if left:
                candidates = made.resampled(rng, candidates, weights, variances)
        return candidates, weights

    def _only_mean(self, subspace: _FoundSubspace) -> _MadeProxies:
        """Return the mean as the only proxy: the releases of candidates and cells are spent on it."""
        mean, projection = subspace.mean, subspace.projection
        bound = self._bound(subspace, "sums", mean.place)
        for name in ["candidates"] * SERVERLESS.candidate_rounds + ["cells"] * self._method.cell_steps:
            mean, _ = self._moved_mean(name, subspace, mean, bound)
        return _MadeProxies(projection, np.zeros((1, projection.shape[1])), np.ones(1), np.zeros(0), found=subspace, mean=mean)

    def _moved_mean(self, name: str, subspace: _FoundSubspace, mean: _Mean, bound: Bound) -> tuple[_Mean, Sums]:
        place = np.rint(mean.place)
        sums = self._looks.sums(name, subspace.bounds.ball, Frame.around(place), bound)
        shift, variance = mean.move(sums, subspace.bounds.n_points / 2)
        return _Mean(place + shift, variance), sums

    def _bound(self, subspace: _FoundSubspace, name: str, centers: FloatArray, projection: FloatArray | None = None) -> Bound:
        count_length = SERVERLESS.full_counts if projection is None else SERVERLESS.cell_counts
        return subspace.bounds.of_sums(self._looks.plan[name], Frame.around(np.rint(centers), projection), count_length)


def _supported(places: FloatArray, sums: Sums, mean: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the centers, with those whose counts may be noise only replaced by the nearest other one, and a remark about these."""
    weak = sums.counts < SERVERLESS.supported * sums.count_noise
    if not weak.any():
        return places, ()
    numbers = ", ".join(str(i) for i in np.flatnonzero(weak))
    remark = f"clusters {numbers} cannot be distinguished from noise: their centers repeat others, or the mean if all are such"
    others = mean if weak.all() else places[~weak]
    distances = np.square(places[:, None] - others[None]).sum(axis=2)
    return np.where(weak[:, None], others[distances.argmin(axis=1)], places), (remark,)
