"""Federated data that is made up: the paper's Gaussian mixtures, with server data that is only partly of the same law."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from feddp_kmeans._typing import FloatArray, IntArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.unit import PrivacyUnit

_N_CLIENTS = 100


@dataclass(frozen=True)
class FederatedData:
    """Points of many clients, and the server's own."""

    clients: list[Points]
    """One array or CSR matrix a client."""
    server_points: FloatArray
    means: FloatArray | None = None
    """Means of the components, where the data are made up."""
    name: str = "data"
    unit: PrivacyUnit = PrivacyUnit.POINT
    """What the paper protects in data of this kind: a hint, not a setting."""

    @property
    def pooled(self) -> Points:
        """Return all clients' points in one array or CSR matrix: what no federation ever does."""
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
    variance: npt.ArrayLike = 0.5,
    component_weights: Sequence[float] | None = None,
    dirichlet_alpha: float | None = None,
    server_per_component: int = 20,
    server_uniform: int = 100,
    missing_on_server: int = 0,
) -> FederatedData:
    """Return the mixture of the paper's appendix: means uniform in the unit cube, covariance ``variance`` times the identity.

    The server holds ``server_per_component`` points of each component, but for the last ``missing_on_server`` of them, and
    ``server_uniform`` points that are uniform in the unit cube. The components are exchangeable unless weights or variances differ, so
    the last ones are as good as any.

    ``n_clients`` is 100, or the length of ``client_size`` where that lists the size of each client.
    ``variance`` is one number, k numbers (one a component), a (k, dimension) table of diagonals or k covariance matrices.
    ``component_weights`` are equal unless given. With ``dirichlet_alpha`` the clients are not alike: each draws its own weights from
    Dirichlet(alpha k w), whose mean is w; for equal weights this is the symmetric Dirichlet(alpha). A small alpha gives each client
    few components.
    """
    weights = _checked_weights(component_weights, k)
    sizes = _checked_sizes(client_size, n_clients)
    _check_numbers(k, dimension, server_per_component, server_uniform, missing_on_server, dirichlet_alpha)
    factors = _factors(variance, k, dimension)
    rng = np.random.default_rng(seed)
    law = _Mixture(rng.random((k, dimension)), factors, rng)
    clients = [law.draw(rng.choice(k, size=size, p=_client_weights(rng, weights, k, dirichlet_alpha))) for size in sizes]
    known = np.repeat(np.arange(k - missing_on_server), server_per_component).astype(np.int64)
    server_points = np.vstack([law.draw(known), rng.random((server_uniform, dimension))])
    return FederatedData(clients, server_points, law.means, name="mixture")


@dataclass(frozen=True)
class _Mixture:
    means: FloatArray
    factors: FloatArray
    """Square roots of the covariances: one number, (k, 1), (k, dimension) or (k, dimension, dimension)."""
    rng: np.random.Generator

    def draw(self, labels: IntArray) -> FloatArray:
        """Return a point of each of these components."""
        noise = self.rng.standard_normal((len(labels), self.means.shape[1]))
        if self.factors.ndim == 3:
            for component in np.unique(labels):
                noise[labels == component] @= self.factors[component].T
        else:
            noise = (self.factors if self.factors.ndim == 0 else self.factors[labels]) * noise
        points: FloatArray = self.means[labels] + noise
        return points


def _factors(variance: npt.ArrayLike, k: int, dimension: int) -> FloatArray:
    """Return the square root of a variance in any of its four forms."""
    values = np.asarray(variance, dtype=np.float64)
    if values.shape not in ((), (k,), (k, dimension), (k, dimension, dimension)):
        raise InputError(
            f"variance must be one number, {k} numbers, a ({k}, {dimension}) table or {k} matrices of dimension {dimension}, "
            f"got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise InputError("variance must be finite, got NaN or infinity.")
    if values.ndim == 3:
        return np.stack([_matrix_factor(matrix) for matrix in values])
    if (values < 0).any():
        raise InputError(f"variance must not be negative, got {values.min()}.")
    roots: FloatArray = np.sqrt(values)
    return roots[:, None] if values.ndim == 1 else roots


def _matrix_factor(matrix: FloatArray) -> FloatArray:
    """Return F with F F^T = matrix; a singular matrix will do."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    slack = 1e-9 * max(1.0, float(np.abs(matrix).max()))
    if np.abs(matrix - matrix.T).max() > slack or eigenvalues[0] < -slack:
        raise InputError("variance must be symmetric and positive semidefinite in each component, got a matrix that is not.")
    factor: FloatArray = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    return factor


def _client_weights(rng: np.random.Generator, weights: FloatArray | None, k: int, alpha: float | None) -> FloatArray | None:
    """Return the weights of the components in the next client; None for equal ones."""
    if alpha is None:
        return weights
    mean = np.full(k, 1 / k) if weights is None else weights
    own = np.zeros(k)
    own[mean > 0] = rng.dirichlet(alpha * k * mean[mean > 0])
    return own


def _checked_weights(weights: Sequence[float] | None, k: int) -> FloatArray | None:
    if weights is None:
        return None
    values = np.asarray(weights, dtype=np.float64)
    # The negated form also refuses a NaN.
    if values.shape != (k,) or not (values >= 0).all() or not abs(values.sum() - 1) <= 1e-8:
        raise InputError(f"component_weights must be {k} numbers from 0 that add up to 1, got {list(weights)}.")
    return values


def _checked_sizes(client_size: int | Sequence[int], n_clients: int | None) -> list[int]:
    if np.ndim(client_size) == 0:
        sizes = [int(client_size)] * (_N_CLIENTS if n_clients is None else n_clients)  # type: ignore[arg-type]
    else:
        sizes = [int(size) for size in client_size]  # type: ignore[union-attr]
    if n_clients is not None and n_clients != len(sizes):
        raise InputError(f"n_clients must be the number of client sizes, {len(sizes)}, got {n_clients}.")
    if not sizes:
        raise InputError("n_clients must be at least 1, got 0.")
    if min(sizes) < 0:
        raise InputError(f"client_size must not be negative, got {min(sizes)}.")
    return sizes


def _check_numbers(k: int, dimension: int, per_component: int, uniform: int, missing: int, alpha: float | None) -> None:
    least = (("k", k, 1), ("dimension", dimension, 1), ("server_per_component", per_component, 0), ("server_uniform", uniform, 0))
    for name, value, low in least:
        if value < low:
            raise InputError(f"{name} must be at least {low}, got {value}.")
    if not 0 <= missing < k:
        raise InputError(f"missing_on_server must be from 0 to below k = {k}, got {missing}.")
    if alpha is not None and not 0 < alpha < np.inf:
        raise InputError(f"dirichlet_alpha must be positive and finite, got {alpha}.")
