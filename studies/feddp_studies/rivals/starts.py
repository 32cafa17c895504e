"""First centers that touch no client data, then the paper's FedDP-Lloyds with the whole budget."""

from collections.abc import Callable

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clusterer, Clustering, run
from feddp_kmeans.algorithm.prepare import prepare_lloyds
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_kmeans.statistics.fixed_point import Ball

Start = Callable[[FloatArray, Ball, int, int], FloatArray]
"""k centers from the server points, the public ball, k and a seed."""


def lloyds_from(name: str, start: Start, default_steps: int = 1) -> Clusterer:
    """Return the rival that runs noisy Lloyd steps from this start."""

    def cluster(
        federation: Federation,
        settings: Settings,
        server_points: FloatArray,
        *,
        seed: int | None = None,
        on_release: Callable[[str], None] | None = None,
    ) -> Clustering:
        prepared = prepare_lloyds(settings, server_points, federation.n_clients, name, default_steps)
        assert prepared.server_points is not None
        server_points = prepared.server_points
        ball = settings.ball(server_points, np.zeros(server_points.shape[1]))
        centers = start(server_points, ball, settings.fixed_k, StreamFactory(seed).integer_seed("start"))
        return run(federation, prepared, start=centers, seed=seed, on_release=on_release)

    return cluster
