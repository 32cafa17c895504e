"""Algorithm 1, FedDP-Init: initial centers from three noisy looks at the clients and the server's own data."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.choose_k import Elbow, find_elbow
from feddp_kmeans.algorithm.server import weighted_kmeans


def feddp_proxies(steps: "InitSteps[SubspaceT, ProxiesT, CentersT_co]") -> "ProxiesT":
    """Return the weighted points that stand for the client data (steps 1 and 2)."""
    # Step 1: projection onto the top singular vectors of the client data.
    subspace = steps.subspace()
    # Step 2: importance weights of the projected server points.
    return steps.proxies(subspace)


def feddp_init(steps: "InitSteps[Any, ProxiesT, CentersT_co]", proxies: "ProxiesT", k: int, seed: int) -> "CentersT_co":
    """Return the initial centers nu_1, ..., nu_k and their noisy counts (step 3)."""
    # Step 3: cluster the weighted points, then initialize in full space.
    projected_centers = weighted_kmeans(proxies.points, proxies.weights, k, seed)
    return steps.initial_centers(proxies, projected_centers)


@dataclass(frozen=True)
class Subspace:
    """What step 1 gives; a method adds what its next steps need."""

    projection: FloatArray
    """Pi, as orthonormal columns."""


@dataclass(frozen=True)
class Proxies:
    """What step 2 gives: weighted points in the subspace. Free to use: they are released already."""

    projection: FloatArray
    points: FloatArray
    weights: FloatArray
    """The noisy weights w_q."""
    server_weights: FloatArray
    """Weight of each server point; empty where there are none."""

    def elbow(self, largest: int, seed: int) -> Elbow:
        """Return the costs of up to ``largest`` clusters, and the number picked."""
        return find_elbow(self.points, self.weights, largest, seed)


@dataclass(frozen=True)
class NoisyCenters:
    """What step 3 and every Lloyd step give."""

    centers: FloatArray
    """nu_r."""
    counts: FloatArray
    """The noisy counts n_r."""
    center_stddev: FloatArray
    """Standard deviation of the noise in one coordinate of each center."""
    count_stddev: float
    """Standard deviation of the noise in each count."""
    remarks: tuple[str, ...]
    """What a reader of the result should know; made of public facts and released numbers only."""


SubspaceT = TypeVar("SubspaceT", bound=Subspace)
ProxiesT = TypeVar("ProxiesT", bound=Proxies)
CentersT_co = TypeVar("CentersT_co", bound=NoisyCenters, covariant=True)


class InitSteps(Protocol[SubspaceT, ProxiesT, CentersT_co]):
    """The noisy steps of FedDP-Init, as a method makes them: each takes what the last one gave."""

    def subspace(self) -> SubspaceT:
        """Return the subspace that holds the clusters."""
        ...

    def proxies(self, subspace: SubspaceT) -> ProxiesT:
        """Return points of the subspace that stand for the client points, and their noisy weights."""
        ...

    def initial_centers(self, proxies: ProxiesT, projected_centers: FloatArray) -> CentersT_co:
        """Return the centers and noisy counts of the clusters around the projected centers xi_r."""
        ...
