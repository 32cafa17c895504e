"""What rivals outside the ledger share: they read raw points, and their results carry a caveat in place of our guarantee."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.privacy.ledger import PrivacyReport
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.batches import finite_rows
from feddp_kmeans.statistics.fixed_point import Ball


def nonprivate_clients(federation: Federation, settings: Settings, server_points: FloatArray) -> list[Any]:
    """Return every client's finite rows, after the checks that all rivals make; refuse a federation whose points are elsewhere."""
    settings.check_server(np.asarray(server_points, dtype=np.float64), federation.dimension)
    if not isinstance(federation, LocalFederation):
        raise InputError(f"federation must be on this machine for a comparison that is not private, got {type(federation).__name__}.")
    clients = [points[finite_rows(points)] for points in federation.nonprivate_clients()]
    if not any(points.shape[0] for points in clients):
        raise InputError("clients must hold at least one point for a comparison that is not private, got none.")
    return clients


def pooled(clients: Sequence[Any]) -> Any:
    """Return all points in one table, sparse where the clients' are."""
    return sparse.vstack(clients).tocsr() if sparse.issparse(clients[0]) else np.concatenate(clients)


def dense_points(points: Any) -> FloatArray:
    """Return the points as a float64 array."""
    return np.asarray(points.toarray() if sparse.issparse(points) else points, dtype=np.float64)


def outside_result(
    name: str,
    caveat: str,
    federation: Federation,
    plan: Plan,
    centers: FloatArray,
    counts: FloatArray,
    *,
    trust: str,
    epsilon: float = float("inf"),
) -> Clustering:
    """Return a clustering made outside the ledger; its report says so in place of a guarantee."""
    privacy = PrivacyReport(
        unit=plan.unit,
        epsilon=epsilon,
        delta=plan.delta,
        epsilon_spent=epsilon,
        secure=False,
        trust=trust,
        ledger=tuple(plan.ledger_rows()),
        caveat=caveat,
    )
    return Clustering(
        centers=centers,
        counts=counts,
        center_stddev=np.zeros(len(centers)),
        projection=np.eye(federation.dimension),
        server_weights=np.empty(0),
        plan=plan,
        privacy=privacy,
        remarks=(f"{name}: {caveat}",),
    )


def rival_plan(name: str, settings: Settings, federation: Federation, releases: Sequence[Release] = ()) -> Plan:
    """Return the plan of a rival: no release that counts, or the one given with the whole budget."""
    facts = {"method": name, "n_clusters": settings.fixed_k, "dimension": federation.dimension, "n_clients": federation.n_clients}
    epsilon = settings.epsilon if releases else float("inf")
    return calibrated_plan(settings.unit, epsilon, settings.delta, releases, facts=facts)


def central_points(federation: Federation, settings: Settings, server_points: FloatArray) -> tuple[FloatArray, Ball]:
    """Return all points as one dense array, and the public ball around the server data's mean, for a library that is central."""
    dense = dense_points(pooled(nonprivate_clients(federation, settings, server_points)))
    if settings.unit is not PrivacyUnit.POINT:
        raise InputError(f"privacy_unit must be 'point' for a central library, got {settings.unit.value!r}.")
    if not np.isfinite(settings.epsilon):
        raise InputError(f"epsilon must be finite for a central library, got {settings.epsilon}.")
    center = server_points.mean(axis=0) if settings.radius is None else np.zeros(dense.shape[1])
    return dense, settings.ball(server_points, center)
