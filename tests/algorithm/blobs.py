"""Three far clusters, and one way to fit them, for the tests of the methods with server data."""

import numpy as np

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation


def blobs(rng, sizes=(30, 0, 1, 200, 60), d=5, spread=0.05):
    """Three far clusters, over clients of very different sizes, and server data near them."""
    truth = np.zeros((3, d))
    truth[0, 0], truth[1, 1], truth[2, 2] = 4.0, 4.0, -4.0
    clients = [truth[rng.integers(3, size=n)] + spread * rng.standard_normal((n, d)) for n in sizes]
    server = np.vstack([np.repeat(truth, 10, axis=0) + 0.3 * rng.standard_normal((30, d)), rng.uniform(-4, 4, (10, d))])
    return clients, server, truth


def fit(clients, server, seed=0, **settings):
    prepared = prepare(Settings(**settings), server, len(clients))
    return run(InMemoryFederation(clients), prepared, seed=seed)


def in_order(centers, truth):
    return centers[np.linalg.norm(truth[:, None] - centers[None], axis=2).argmin(axis=1)]
