"""One private run on a data set, and how it compares with the exact data: NON-PRIVATE checks, for benchmarks only.

The privacy of each run is recomputed from its ledger; a run that spent more than it was given is an error.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from feddp_kmeans import FedDPKMeans
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.assignment import Labels
from feddp_kmeans.errors import BudgetError
from feddp_kmeans.privacy.accounting import composed_epsilon, gaussian_mu
from feddp_kmeans.privacy.mechanism import Release
from feddp_studies.accuracy.benchmark_sets import BenchmarkSet, is_drawn, load
from feddp_studies.rivals.optimal import nonprivate_kmeans

WITHIN = 2.0
"""A stated error holds if the exact value is within this many standard deviations: 95 % of Gaussian errors are."""

_MIXTURE_RADIUS = 7.2
"""Typical length of a residual of the paper's mixture in 100 dimensions: the bound of the oracle floor."""

_SERVER_RESTARTS = 3
"""Ten k-means runs each: the best of thirty."""


@dataclass(frozen=True)
class CheckedFit:
    """What one run came to. Fields that a set or a run does not have are NaN."""

    epsilon: float
    dimension: int
    n_points: int
    k: int
    """Planted or given number of clusters."""
    found_k: int
    cost: float
    optimal: float
    """Best non-private cost: Lloyd's algorithm from the planted means, or the best of ten k-means runs."""
    server_only: float
    """Cost of k-means on the server's points alone."""
    one_center: float
    """Cost of one center at the mean of all points."""
    one_noisy_center: float
    """The same, with noise of the whole budget in it and two standard deviations of what that costs; only where a box is public."""
    floor: float
    """Excess of the oracle floor, for the paper's mixtures."""
    lost: float
    """Planted clusters in which no center is, though the optimal clustering has one there."""
    size_errors: FloatArray
    """Stated less exact size of each cluster, in stated standard deviations."""
    total_error: float
    """Sum of the stated sizes, as a part of the number of points, less 1."""
    mean_errors: FloatArray
    """Center less exact mean of the points that it attracts, in stated standard deviations: every coordinate of every center."""
    inertia_error: float
    """Stated less exact cost, in stated standard deviations. Where the run divides columns by units, both are in these."""
    seconds: float

    @property
    def excess(self) -> float:
        """Return the cost above optimal in per cent."""
        return 100 * (self.cost / self.optimal - 1)

    @property
    def times_floor(self) -> float:
        """Return the excess as a multiple of the oracle floor."""
        return (self.cost - self.optimal) / self.floor


@dataclass(frozen=True)
class Reference:
    """A draw of a data set and its non-private clusterings."""

    data: BenchmarkSet
    optimal: float
    server_only: float
    one_center: float
    reached: FloatArray
    """Which planted clusters the optimal clustering has a center in."""


@lru_cache(maxsize=4)
def reference(name: str, seed: int, folder: Path | str) -> Reference:
    """Return the named draw and its non-private clusterings."""
    data = load(name, seed, folder)
    points = data.points
    centers, _ = nonprivate_kmeans(points, data.k, 0, start=data.means)
    server_only = np.nan
    if data.server_points is not None:
        tries = [nonprivate_kmeans(data.server_points, data.k, seed)[0] for seed in range(_SERVER_RESTARTS)]
        best = min(tries, key=lambda found: kmeans_cost(data.server_points, found))
        server_only = kmeans_cost(points, best)
    mean = np.asarray(points.mean(axis=0)).reshape(1, -1)
    reached = np.zeros(0) if data.means is None else clusters_reached(data.means, centers)
    return Reference(data, kmeans_cost(points, centers), server_only, kmeans_cost(points, mean), reached)


def checked_fits(
    name: str, epsilons: Sequence[float], seeds: tuple[int, int], folder: Path | str, settings: Mapping[str, Any]
) -> list[CheckedFit]:
    """Return one checked run per epsilon on the named set; ``seeds`` are those of the data and of the noise."""
    exact = reference(name, seeds[0] if is_drawn(name) else 0, folder)
    return [checked_fit(exact, epsilon, {"random_state": seeds[1], **settings}) for epsilon in epsilons]


def checked_fit(exact: Reference, epsilon: float, settings: Mapping[str, Any]) -> CheckedFit:
    """Return one run with everything automatic, except for what the set gives and these settings."""
    data = exact.data
    asked: dict[str, Any] = {"n_clusters": data.k, **data.given, **settings}
    model = FedDPKMeans(epsilon=epsilon, **asked)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(data.clients, server_data=data.server_points)
    seconds = time.perf_counter() - began
    check_privacy(model)
    n, dimension = data.points.shape
    mu = gaussian_mu(epsilon, model.delta)
    centers = model.cluster_centers_
    cost = kmeans_cost(data.points, centers)
    labels = Labels(centers, model.clustering_.units)
    sizes, means = attracted(data, labels)
    in_units = kmeans_cost(*labels.in_units(data.points))
    with np.errstate(divide="ignore", invalid="ignore"):
        size_errors = (model.cluster_counts_ - sizes) / _stated(model.count_stddev_)
        mean_errors = ((centers - means) / model.center_stddev_[:, None])[sizes > 0]
    stated, stddev = (_stated(getattr(model, name, None)) for name in ("inertia_", "inertia_stddev_"))
    floor = one_noisy_center = np.nan
    if data.weights is not None:
        floor = dimension * (_MIXTURE_RADIUS * np.sqrt(dimension / 100) / mu / n) ** 2 * float((1 / data.weights).sum())
    if "box" in data.given:
        low, high = (np.broadcast_to(edge, dimension) for edge in data.given["box"])
        noise = dimension * (float(np.linalg.norm(high - low)) / 2 / mu / n) ** 2
        one_noisy_center = exact.one_center + noise * (1 + WITHIN * np.sqrt(2 / dimension))
    return CheckedFit(
        epsilon=epsilon,
        dimension=dimension,
        n_points=n,
        k=data.k,
        found_k=len(centers),
        cost=cost,
        optimal=exact.optimal,
        server_only=exact.server_only,
        one_center=exact.one_center,
        one_noisy_center=one_noisy_center,
        floor=floor,
        lost=np.nan if data.means is None else float((exact.reached > clusters_reached(data.means, centers)).sum()),
        size_errors=size_errors,
        total_error=float(model.cluster_counts_.sum() / n - 1),
        mean_errors=mean_errors,
        inertia_error=float((stated - n * in_units) / stddev),
        seconds=seconds,
    )


def check_privacy(model: FedDPKMeans) -> None:
    """Refuse a run whose ledger adds up to more than its budget."""
    spent = composed_epsilon([Release.from_dict(row) for row in model.privacy_.ledger], model.delta)
    if not (model.privacy_.ledger and spent <= model.epsilon and model.privacy_.delta <= model.delta):
        raise BudgetError(f"the ledger must add up to at most epsilon = {model.epsilon}, got {spent}.")


def attracted(data: BenchmarkSet, labels: Labels) -> tuple[FloatArray, FloatArray]:
    """Return how many points each center attracts, and their exact mean; zeros where it attracts none."""
    k, nearest = len(labels.centers), labels(data.points)
    member = sparse.csr_matrix((np.ones(len(nearest)), (nearest, np.arange(len(nearest)))), shape=(k, len(nearest)))
    sizes = np.bincount(nearest, minlength=k).astype(np.float64)
    sums = member @ data.points
    dense = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
    return sizes, dense / np.maximum(sizes, 1)[:, None]


def clusters_reached(means: FloatArray, centers: FloatArray) -> FloatArray:
    """Return 1 for each planted cluster with a center inside, else 0.

    Inside: nearer to its mean than half the distance to the nearest other mean, and some center has this mean as its nearest.
    """
    between = euclidean_distances(means)
    np.fill_diagonal(between, np.inf)
    distances = euclidean_distances(means, centers)
    near = distances.min(axis=1) <= between.min(axis=1) / 2
    own = np.isin(np.arange(len(means)), distances.argmin(axis=0))
    return np.asarray(near & own, dtype=np.float64)


def _stated(value: Any) -> Any:
    """Return a stated number or array, NaN where the run states none."""
    return np.nan if value is None else value
