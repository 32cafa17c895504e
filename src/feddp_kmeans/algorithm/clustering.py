"""FedDP-KMeans: FedDP-Init, then FedDP-Lloyds, under one plan that is fixed before any data is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.choose_k import Elbow
from feddp_kmeans.algorithm.feddp_init import feddp_init, feddp_proxies
from feddp_kmeans.algorithm.feddp_lloyds import feddp_lloyds
from feddp_kmeans.algorithm.prepare import Prepared, prepare, prepare_serverless
from feddp_kmeans.algorithm.settings import AUTO, Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.ledger import PrivacyReport
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.silos.threads import one_blas_thread


@dataclass(frozen=True)
class Clustering:
    """The private result of a run."""

    centers: FloatArray
    counts: FloatArray
    center_stddev: FloatArray
    projection: FloatArray
    server_weights: FloatArray
    plan: Plan
    privacy: PrivacyReport
    remarks: tuple[str, ...] = ()
    elbow: Elbow | None = None
    """How the number of clusters was chosen, where it was."""
    count_stddev: float | None = None
    """Standard deviation of the noise in a count; None where it is not known."""


class Clusterer(Protocol):
    """The one signature of the algorithm and of its rivals."""

    def __call__(
        self,
        federation: Federation,
        settings: Settings,
        server_points: FloatArray,
        *,
        seed: int | None = None,
        on_release: Callable[[str], None] | None = None,
    ) -> Clustering:
        """Return k centers for the federation's points, and what was spent on them."""
        ...


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray | None,
    *,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,
) -> Clustering:
    """Return the clustering of the federation's points: a plan, then its run. Without server points, proxies are made privately."""
    if server_points is None:
        prepared = prepare_serverless(settings, federation.dimension, federation.n_clients)
    else:
        prepared = prepare(settings, server_points, federation.n_clients)
    return run(federation, prepared, seed=seed, on_release=on_release)


@one_blas_thread()
def run(
    federation: Federation,
    prepared: Prepared,
    *,
    start: FloatArray | None = None,
    chosen_k: int | None = None,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,
) -> Clustering:
    """Return the clustering of the federation's points under the prepared plan; from ``start`` where the plan has no initialization.

    Where the number of clusters is to be chosen it is the elbow's, or ``chosen_k``, of one who has seen the curve.
    """
    if chosen_k is not None and not 1 <= chosen_k <= prepared.settings.largest_k:
        raise FedDPError(f"n_clusters must be from 1 to the {prepared.settings.largest_k} that the plan is made for, got {chosen_k}.")
    settings, plan = prepared.settings, prepared.plan
    if prepared.server_points is not None:
        settings.check_server(prepared.server_points, federation.dimension)
    federation.begin(plan, seed, on_release)
    restarts = federation.server_seed
    steps = prepared.method.bind(federation, plan, restarts)
    elbow = None
    if start is None:
        proxies = feddp_proxies(steps)
        projection = proxies.projection
        if settings.n_clusters == AUTO:
            elbow = proxies.elbow(settings.largest_k, restarts)
        k = chosen_k or (elbow.picked if elbow else settings.fixed_k)
        centers, counts = feddp_init(steps, proxies, k, restarts)
    else:
        centers, counts, projection = start, np.full(len(start), np.nan), np.eye(federation.dimension)
    centers, counts = feddp_lloyds(steps, centers, counts, prepared.lloyd_steps)
    return Clustering(
        centers=centers,
        counts=counts,
        center_stddev=steps.center_stddev,
        projection=projection,
        server_weights=steps.server_weights,
        plan=plan,
        privacy=_report(federation, plan),
        remarks=tuple(steps.remarks),
        elbow=elbow,
        count_stddev=steps.count_stddev,
    )


@one_blas_thread()
def choose_k(
    federation: Federation, prepared: Prepared, *, seed: int | None = None, on_release: Callable[[str], None] | None = None
) -> Elbow:
    """Return the elbow of steps 1 and 2 of the prepared run, and make no other release.

    On a federation that records its releases, a run of the same plan goes on from there: nothing is paid twice.
    """
    settings = prepared.settings
    if prepared.server_points is not None:
        settings.check_server(prepared.server_points, federation.dimension)
    federation.begin(prepared.plan, seed, on_release)
    restarts = federation.server_seed
    return feddp_proxies(prepared.method.bind(federation, prepared.plan, restarts)).elbow(settings.largest_k, restarts)


def _report(federation: Federation, plan: Plan) -> PrivacyReport:
    rows = federation.ledger.rows()
    if rows != plan.ledger_rows():
        raise FedDPError(f"the ledger must equal the plan after a run, got {rows}.")
    return PrivacyReport(
        unit=plan.unit,
        epsilon=plan.epsilon,
        delta=plan.delta,
        epsilon_spent=plan.epsilon_spent,
        secure=federation.secure,
        trust=federation.trust,
        ledger=tuple(rows),
    )
