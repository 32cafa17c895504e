"""Made-up federated data: the paper's Gaussian mixtures, with server data of which only a part follows the same law."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import FloatArray, IntArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.unit import PrivacyUnit

_N_CLIENTS = 100


@dataclass(frozen=True)
class FederatedData:
    """Points of many clients, and the server's own."""

    clients: list[Points]
    """One array or CSR matrix per client."""
    server_points: FloatArray
    means: FloatArray | None = None
    """Means of the components, if the data are made up."""
    name: str = "data"
    unit: PrivacyUnit = PrivacyUnit.POINT
    """What the paper protects in such data: a hint, not a setting."""

    @property
    def pooled(self) -> Points:
        """Return all clients' points in one array or CSR matrix, which no federation ever does."""
        if any(sparse.issparse(points) for points in self.clients):
            return sparse.vstack(self.clients, format="csr")
        return np.concatenate(self.clients)

    @property
    def n_points(self) -> int:
        """Return the number of points of all clients."""
        return sum(int(points.shape[0]) for points in self.clients)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return int(self.server_points.shape[1])


def gaussian_mixture(
    seed: int,
    *,
    n_clients: int | None = None,
    client_size: int | Sequence[int] = 1000,
    k: int = 10,
    dimension: int = 100,
    variance: float = 0.5,
    component_weights: Sequence[float] | None = None,
    server_per_component: int = 20,
    server_uniform: int = 100,
    missing_on_server: int = 0,
) -> FederatedData:
    """Return the mixture of the paper's appendix: means uniform in the unit cube, covariance ``variance`` times the identity.

    The server holds ``server_per_component`` points of each component except the last ``missing_on_server`` ones, and ``server_uniform``
    points that are uniform in the unit cube. ``n_clients`` is 100, or the length of ``client_size`` where that lists the size of each
    client. ``component_weights`` are equal unless given.
    """
    least = {"k": (k, 1), "dimension": (dimension, 1), "server_per_component": (server_per_component, 0)}
    for name, (value, low) in (least | {"server_uniform": (server_uniform, 0), "variance": (variance, 0)}).items():
        if not low <= value < math.inf:
            raise InputError(f"{name} must be finite and at least {low}, got {value}.")
    if not 0 <= missing_on_server < k:
        raise InputError(f"missing_on_server must be from 0 to below k = {k}, got {missing_on_server}.")
    weights = None if component_weights is None else np.asarray(component_weights, dtype=np.float64)
    # The negated form also refuses a NaN.
    if weights is not None and (weights.shape != (k,) or not (weights >= 0).all() or not abs(weights.sum() - 1) <= 1e-8):
        raise InputError(f"component_weights must be {k} numbers from 0 that add up to 1, got {component_weights}.")
    sizes = _checked_sizes(client_size, n_clients)
    rng = np.random.default_rng(seed)
    means = rng.random((k, dimension))

    def draw(labels: IntArray) -> FloatArray:
        points: FloatArray = means[labels] + math.sqrt(variance) * rng.standard_normal((len(labels), dimension))
        return points

    clients = [draw(rng.choice(k, size=size, p=weights)) for size in sizes]
    known = np.repeat(np.arange(k - missing_on_server), server_per_component).astype(np.int64)
    return FederatedData(clients, np.vstack([draw(known), rng.random((server_uniform, dimension))]), means, name="mixture")


def _checked_sizes(client_size: int | Sequence[int], n_clients: int | None) -> list[int]:
    if isinstance(client_size, int):
        sizes = [client_size] * (_N_CLIENTS if n_clients is None else n_clients)
    else:
        sizes = [int(size) for size in client_size]
    if n_clients is not None and n_clients != len(sizes):
        raise InputError(f"n_clients must be the number of client sizes, {len(sizes)}, got {n_clients}.")
    if not sizes:
        raise InputError("n_clients must be at least 1, got 0.")
    if min(sizes) < 0:
        raise InputError(f"client_size must not be negative, got {min(sizes)}.")
    return sizes
