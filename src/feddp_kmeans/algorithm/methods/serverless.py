"""The refined method without server data: its proxies are made from noisy looks at the clients. Why, with numbers: docs/no_server_data.md.

A center and a scale; one second moment; counts of candidates drawn from it; Lloyd steps with more centers than clusters, inside the
subspace; then Lloyd steps in full, each release averaged with those before it as far as the centers stand still. All noise is Gaussian,
bounds are read off noisy histograms, and every tuned number is in tuning.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import proxies as made
from feddp_kmeans.algorithm.domain import MOST_CLASSES, Domain, Region, distance_looks, domain_rounds, find_domain
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Proxies, Subspace
from feddp_kmeans.algorithm.histogram_bounds import HistogramBounds, length_edges, typical_moment, typical_sums
from feddp_kmeans.algorithm.looks import TINY, Bound, Frame, Looks, Sums
from feddp_kmeans.algorithm.server import SMALLEST, filtered
from feddp_kmeans.algorithm.tuning import SERVERLESS
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.norms import SHARE_STEPS
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

    def requests(self) -> list[Release]:
        """Return the releases with noise in proportion to their parts of the budget; every sensitivity is 1, in units of a bound.

        If the mean is all there is, candidates and cells are means: d + 1 values.
        """
        d, k, rounds = self.dimension, self.k, domain_rounds(self.region)
        candidates = max(SERVERLESS.most_candidates, SERVERLESS.least_candidates * k, d + 1)
        cells = max(SERVERLESS.cells_per_cluster * k * (min(SERVERLESS.rank_factor * k, d) + 1), d + 1)
        is_client_level = self.unit is PrivacyUnit.CLIENT
        mean = ("mean", BOUNDED_STEPS, d + 1, rounds)
        # Second moment, cells and sums have a bound each; those of clients' means and candidates have to be looked up too.
        bounds = ("bounds", 1, MOST_CLASSES, 3 + (1 + rounds if is_client_level else 0))
        rows = [
            ("distances", SHARE_STEPS, MOST_CLASSES, distance_looks(self.region)),
            *([bounds, mean] if is_client_level else [mean, bounds]),
            ("second moment", MOMENT_SENSITIVITY, d * (d - 1) // 2 + d + 1, 1),
            ("candidates", BOUNDED_STEPS, candidates, SERVERLESS.candidate_rounds),
            ("cells", BOUNDED_STEPS, cells, SERVERLESS.cell_steps),
            ("sums", BOUNDED_STEPS, k * (d + 1), 1 + self.lloyd_steps),
        ]
        return [
            Release(name, Mechanism.GAUSSIAN, 1.0, float(integer), float(np.sqrt(times / SERVERLESS.shares[name])), values, times)
            for name, integer, values, times in rows
        ]

    def bind(self, run: Run) -> "ServerlessRun":
        """Return the method at work in one run."""
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
    domain: Domain
    shape: made.Shape
    bounds: HistogramBounds
    is_hopeless: bool
    """Whether noise hides every direction: then only the mean can be found."""
    mean: _Mean


@dataclass(frozen=True)
class _MadeProxies(Proxies):
    found: _FoundSubspace
    mean: _Mean


@dataclass(frozen=True)
class _ServerlessCenters(NoisyCenters):
    """Centers, and what the next step goes on from: places that are not rounded or clipped, and the error that they are known to have."""

    found: _FoundSubspace
    bound: Bound
    places: FloatArray
    known: FloatArray
    mean: _Mean
    all_counts: tuple[FloatArray, ...]


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
        length = typical_moment(looks, ball, np.square(length_edges(looks, typical))).length
        moment = looks.second_moment(ball, length)
        largest = typical**2
        if not looks.is_client_level:
            largest = min(largest, length / np.sqrt(1 - (1 - TRACE_WEIGHT**2) / d))
        limits = SERVERLESS.least_trace * largest, largest
        shape = made.shape_of(moment.matrix / n, moment.trace / n, moment.noise / n, limits)
        is_clear = (shape.variances > SERVERLESS.clear_direction * shape.edge).any()
        return _FoundSubspace(
            projection=shape.basis[:, : shape.rank(method.k)],
            domain=domain,
            shape=shape,
            bounds=HistogramBounds(looks, ball, shape, typical, n, method.k),
            is_hopeless=bool(shape.edge > SERVERLESS.hopeless * largest and not is_clear),
            mean=_Mean(np.zeros((1, d)), domain.center_variance / ball.grid**2),
        )

    def proxies(self, subspace: _FoundSubspace) -> _MadeProxies:
        """Return cells of the subspace, moved to the points they hold, and weights; only the mean if noise hides all else (step 2)."""
        from sklearn.cluster import KMeans

        if subspace.is_hopeless:
            return self._only_mean(subspace)
        k, projection, ball = self._method.k, subspace.projection, subspace.domain.ball
        candidates, weights = self._candidates(subspace)
        count = min(SERVERLESS.cells_per_cluster * k, max(k, np.count_nonzero(weights)))
        model = KMeans(count, n_init=SERVERLESS.cell_restarts, random_state=self._seed)
        cells = model.fit(candidates, sample_weight=weights).cluster_centers_
        known, caps = np.zeros_like(cells), SERVERLESS.largest_signal * subspace.shape.along[: projection.shape[1]]
        bound = self._bound(subspace, "cells", cells, projection)
        for _ in range(SERVERLESS.cell_steps):
            cells = np.rint(cells)
            sums = self._looks.sums("cells", ball, Frame.around(cells, projection), bound)
            means, errors = sums.means(SERVERLESS.least_count)
            moves, known = filtered(means, errors, k, caps, known)
            cells = cells + moves
        weights = made.credible_counts(sums.counts, sums.count_noise, k, SERVERLESS.credible_cell)
        return _MadeProxies(projection, cells, weights, np.zeros(0), subspace, subspace.mean)

    def initial_centers(self, proxies: _MadeProxies, projected_centers: FloatArray) -> _ServerlessCenters:
        """Return centers in full space: residuals around the lifted centers (step 3)."""
        found, k = proxies.found, len(projected_centers)
        places = proxies.mean.place if found.is_hopeless else projected_centers @ proxies.projection.T
        nothing = np.zeros(k)
        start = _ServerlessCenters(
            centers=places,
            counts=nothing,
            center_stddev=nothing,
            count_stddev=0.0,
            remarks=(),
            found=found,
            bound=self._bound(found, "sums", places),
            places=places,
            known=np.zeros_like(places),
            mean=proxies.mean,
            all_counts=(),
        )
        return self.lloyd_centers(start)

    def lloyd_centers(self, latest: _ServerlessCenters) -> _ServerlessCenters:
        """Return the centers after one noisy Lloyd step on residuals: averaged with the steps before as far as they stand still."""
        return self._mean_step(latest) if latest.found.is_hopeless else self._full_step(latest)

    def _candidates(self, subspace: _FoundSubspace) -> tuple[FloatArray, FloatArray]:
        """Return candidates drawn from the noisy moments, then drawn again near the heavy ones, and their credible counts."""
        k, looks, ball, projection = self._method.k, self._looks, subspace.domain.ball, subspace.projection
        rng = np.random.default_rng(self._seed)
        variances = subspace.shape.along[: projection.shape[1]]
        release = looks.plan["candidates"]
        nothing = np.zeros((self._method.dimension, 0))
        bound = Bound.at(1.0, 1.0, 1.0, release)
        count = made.n_candidates(subspace.domain.n_points, release.scale, k)
        candidates = made.first_candidates(rng, count, variances)
        for left in reversed(range(SERVERLESS.candidate_rounds)):
            frame = Frame(np.rint(candidates), np.zeros((count, 0)), projection, nothing)
            if looks.is_client_level and left == SERVERLESS.candidate_rounds - 1:
                typical = typical_sums(looks, ball, frame, 1.0, length_edges(looks, 1.0))
                bound = Bound.at(typical.length, 1.0, typical.kept, release)
            sums = looks.sums("candidates", ball, frame, bound)
            weights = made.credible_counts(sums.counts, sums.count_noise, k, SERVERLESS.credible_candidate)
            if left:
                candidates = made.resampled(rng, candidates, weights, variances)
        return candidates, weights

    def _only_mean(self, subspace: _FoundSubspace) -> _MadeProxies:
        """Return the mean as the only proxy: all releases go to it."""
        mean = subspace.mean
        bound = self._bound(subspace, "sums", mean.place)
        for name in ["candidates"] * SERVERLESS.candidate_rounds + ["cells"] * SERVERLESS.cell_steps:
            mean, _ = self._moved_mean(name, subspace, mean, bound)
        return _MadeProxies(subspace.projection, np.zeros((1, subspace.projection.shape[1])), np.ones(1), np.zeros(0), subspace, mean)

    def _moved_mean(self, name: str, subspace: _FoundSubspace, mean: _Mean, bound: Bound) -> tuple[_Mean, Sums]:
        place = np.rint(mean.place)
        sums = self._looks.sums(name, subspace.domain.ball, Frame.around(place), bound)
        shift, variance = mean.move(sums, subspace.domain.n_points / 2)
        return _Mean(place + shift, variance), sums

    def _mean_step(self, latest: _ServerlessCenters) -> _ServerlessCenters:
        k, ball = len(latest.counts), latest.found.domain.ball
        mean, sums = self._moved_mean("sums", latest.found, latest.mean, latest.bound)
        return replace(
            latest,
            centers=self._decoded(latest, np.repeat(mean.place, k, axis=0)),
            counts=np.append(sums.counts / sums.kept, np.zeros(k - 1)),
            center_stddev=np.full(k, np.sqrt(mean.variance) * ball.grid),
            count_stddev=float(sums.count_noise / sums.kept),
            remarks=(_HIDDEN,),
            mean=mean,
        )

    def _full_step(self, latest: _ServerlessCenters) -> _ServerlessCenters:
        k, shape, ball = len(latest.counts), latest.found.shape, latest.found.domain.ball
        origins = np.rint(latest.places)
        sums = self._looks.sums("sums", ball, Frame.around(origins), latest.bound)
        # Clusters change less from step to step than their noise: the counts of all steps so far are averaged.
        all_counts = (*latest.all_counts, sums.counts)
        sums = replace(sums, counts=np.mean(all_counts, axis=0), count_noise=sums.count_noise / np.sqrt(len(all_counts)))
        shift, variance = latest.mean.move(sums)
        mean = _Mean(latest.mean.place + shift, variance)
        means, errors = sums.means(SERVERLESS.least_count)
        moves, known = filtered((means - shift) @ shape.basis, errors, k, SERVERLESS.largest_signal * shape.along, latest.known)
        places = origins + shift + moves @ shape.basis.T
        supported, remarks = _supported(places, sums, mean.place)
        return replace(
            latest,
            centers=self._decoded(latest, supported),
            counts=sums.counts / sums.kept,
            center_stddev=np.sqrt(known.mean(axis=1)) * ball.grid,
            count_stddev=float(sums.count_noise / sums.kept),
            remarks=remarks,
            places=places,
            known=known,
            mean=mean,
            all_counts=all_counts,
        )

    def _decoded(self, latest: _ServerlessCenters, places: FloatArray) -> FloatArray:
        ball, region = latest.found.domain.ball, self._method.region
        return (ball if region is None else region).clip(ball.decode(places))

    def _bound(self, subspace: _FoundSubspace, name: str, centers: FloatArray, projection: FloatArray | None = None) -> Bound:
        count_length = SERVERLESS.full_counts if projection is None else SERVERLESS.cell_counts
        return subspace.bounds.of_sums(self._looks.plan[name], Frame.around(np.rint(centers), projection), count_length)


def _supported(places: FloatArray, sums: Sums, mean: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the centers, those with too few points to tell from noise as copies of the nearest other one, and a remark about them."""
    weak = sums.counts < SERVERLESS.supported * sums.count_noise
    if not weak.any():
        return places, ()
    numbers = ", ".join(str(i) for i in np.flatnonzero(weak))
    remark = f"clusters {numbers} cannot be told from noise: their centers repeat others, or the mean where all are such"
    others = mean if weak.all() else places[~weak]
    distances = np.square(places[:, None] - others[None]).sum(axis=2)
    return np.where(weak[:, None], others[distances.argmin(axis=1)], places), (remark,)
