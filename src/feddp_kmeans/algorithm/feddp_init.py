"""Algorithm 1, FedDP-Init: initial centers from three noisy looks at the clients and the server's own data."""

from typing import Protocol

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.server import weighted_kmeans


class InitSteps(Protocol):
    """The noisy steps of FedDP-Init, as a method makes them."""

    def projection(self) -> FloatArray:
        """Return Pi, as orthonormal columns."""
        ...

    def proxies(self, projection: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return points of the subspace that stand for the client points, and their noisy weights w_q."""
        ...

    def initial_centers(self, projection: FloatArray, projected_centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the centers nu_r and the noisy counts n_r of the clusters around the projected centers xi_r."""
        ...


def feddp_init(steps: InitSteps, k: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the initial centers nu_1, ..., nu_k, their noisy counts, and the projection."""
    # Step 1: projection onto the top singular vectors of the client data.
    projection = steps.projection()
    # Step 2: importance weights of the projected server points.
    points, weights = steps.proxies(projection)
    # Step 3: cluster the weighted points, then initialize in full space.
    projected_centers = weighted_kmeans(points, weights, k, seed)
    centers, counts = steps.initial_centers(projection, projected_centers)
    return centers, counts, projection
