"""k-FED (Dennis et al. 2021): every client sends its local centers once, the server clusters those. Not private."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_studies.rivals.outside import dense_points, nonprivate_clients, outside_result, rival_plan
from feddp_studies.theory.awasthi_sheffet import awasthi_sheffet

NAME = "k-fed"


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray,
    *,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,  # noqa: ARG001
    local_clusters: int | None = None,
) -> Clustering:
    """Return k centers from one message per client: the centers of its own k' clusters (``local_clusters``, k by default).

    The server starts from the first client's centers, adds the center farthest from all chosen until it has k, and makes one Lloyd
    step on the clients' centers. It uses no server data.
    """
    k = settings.fixed_k
    clients = nonprivate_clients(federation, settings, server_points)
    sent = local_centers(clients, local_clusters or k, StreamFactory(seed).integer_seed("k-fed"))
    chosen = farthest_first(sent, k)
    everyone = np.concatenate(sent)
    labels = pairwise_distances_argmin(everyone, chosen)
    centers = np.stack([everyone[labels == r].mean(axis=0) if (labels == r).any() else chosen[r] for r in range(k)])
    return outside_result(
        NAME,
        "NOT PRIVATE: every client sends the exact centers of its own clusters.",
        federation,
        rival_plan(NAME, settings, federation),
        centers,
        np.full(k, np.nan),
        trust="the server sees every client's centers",
    )


def local_centers(clients: Sequence[Any], k: int, seed: int) -> list[FloatArray]:
    """Return each client's centers: those of ``Cluster(P)``, or its points if it has no more than k'; nothing from empty clients."""
    sent = []
    for points in clients:
        dense = dense_points(points)
        if len(dense) > k:
            sent.append(awasthi_sheffet(dense, k, seed=seed, restarts=3).centers)
        elif len(dense):
            sent.append(dense)
    return sent


def farthest_first(sent: Sequence[FloatArray], k: int) -> FloatArray:
    """Return k of the centers: the first client's, then always the one farthest from those chosen; with repeats if there are too few."""
    everyone = np.concatenate(sent)
    chosen = [*sent[0][:k]]
    distances = euclidean_distances(everyone, np.stack(chosen), squared=True).min(axis=1)
    while len(chosen) < k:
        chosen.append(everyone[int(distances.argmax())])
        distances = np.minimum(distances, euclidean_distances(everyone, chosen[-1][None], squared=True)[:, 0])
    return np.stack(chosen)
