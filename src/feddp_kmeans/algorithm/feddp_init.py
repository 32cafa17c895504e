"""Algorithm 1, FedDP-Init: initial centers from three noisy looks at the clients and the server's own data."""

from dataclasses import dataclass
from typing import Protocol

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.choose_k import Elbow, find_elbow
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


@dataclass(frozen=True)
class Proxies:
    """What steps 1 and 2 give: a subspace, and weighted points in it. Free to use: it is released already."""

    projection: FloatArray
    points: FloatArray
    weights: FloatArray

    def elbow(self, largest: int, seed: int) -> Elbow:
        """Return the costs of up to ``largest`` clusters, and the number picked."""
        return find_elbow(self.points, self.weights, largest, seed)


def feddp_proxies(steps: InitSteps) -> Proxies:
    """Return the weighted points that stand for the client data."""
    # Step 1: projection onto the top singular vectors of the client data.
    projection = steps.projection()
    # Step 2: importance weights of the projected server points.
    points, weights = steps.proxies(projection)
    return Proxies(projection, points, weights)


def feddp_init(steps: InitSteps, proxies: Proxies, k: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the initial centers nu_1, ..., nu_k and their noisy counts."""
    # Step 3: cluster the weighted points, then initialize in full space.
    projected_centers = weighted_kmeans(proxies.points, proxies.weights, k, seed)
    return steps.initial_centers(proxies.projection, projected_centers)
