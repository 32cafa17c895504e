"""The paper's Gaussian mixtures, split over clients, with server data that is only partly of the same law."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import FloatArray, IntArray


@dataclass(frozen=True)
class FederatedData:
    """Points of many clients, and the server's own."""

    clients: list[FloatArray]
    server_points: FloatArray
    means: FloatArray

    @property
    def pooled(self) -> FloatArray:
        """Return all clients' points in one array: what no federation ever does."""
        return np.concatenate(self.clients)


def gaussian_mixture(
    seed: int,
    *,
    n_clients: int = 100,
    client_size: int | Sequence[int] = 1000,
    k: int = 10,
    dimension: int = 100,
    variance: float = 0.5,
    component_weights: Sequence[float] | None = None,
    server_per_component: int = 20,
    server_uniform: int = 100,
    missing_components: int = 0,
) -> FederatedData:
    """Return the mixture of the paper's appendix: means uniform in the unit cube, covariance ``variance`` times the identity.

    The server holds some points of each component, but for the last ``missing_components`` of them, and some that are uniform in the
    unit cube.
    """
    if missing_components >= k:
        raise FedDPError(f"missing_components must be below k = {k}, got {missing_components}.")
    rng = np.random.default_rng(seed)
    means = rng.random((k, dimension))
    sizes = [client_size] * n_clients if isinstance(client_size, int) else list(client_size)

    def draw(labels: IntArray) -> FloatArray:
        noise: FloatArray = means[labels] + np.sqrt(variance) * rng.standard_normal((len(labels), dimension))
        return noise

    clients = [draw(rng.choice(k, size=size, p=component_weights)) for size in sizes]
    known = np.repeat(np.arange(k - missing_components), server_per_component).astype(np.int64)
    server_points = np.vstack([draw(known), rng.random((server_uniform, dimension))])
    return FederatedData(clients, server_points, means)
