"""Algorithm 1, FedDP-Init: initial centers from three noisy looks at the clients and the server's own data."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.closing import Closing
from feddp_kmeans.algorithm.server import weighted_kmeans


def feddp_proxies(steps: "Steps") -> Any:
    """Return the weighted points that stand for the client data (steps 1 and 2)."""
    # Step 1: projection onto the top singular vectors of the client data.
    subspace = steps.subspace()
    # Step 2: importance weights of the projected server points.
    return steps.proxies(subspace)


def feddp_init(steps: "Steps", proxies: "Proxies", k: int, seed: int) -> Any:
    """Return the initial centers nu_1, ..., nu_k and their noisy counts (step 3)."""
    # Step 3: cluster the weighted points, then initialize in full space.
    projected_centers = weighted_kmeans(proxies.points, proxies.weights, k, seed)
    return steps.initial_centers(proxies, projected_centers)


@dataclass(frozen=True)
class Subspace:
    """The result of step 1."""

    projection: FloatArray
    """Pi, as orthonormal columns."""


@dataclass(frozen=True)
class Proxies:
    """The result of step 2: weighted points in the subspace. Using them costs nothing more: they are released already."""

    projection: FloatArray
    points: FloatArray
    weights: FloatArray
    """The noisy weights w_q."""
    server_weights: FloatArray
    """Weight of each server point; empty if there are none."""
    weight_noise: float = 0.0
    """Standard deviation of the noise in a weight."""
    place_noise: float = 0.0
    """Standard deviation of the noise in a coordinate of a point, times its weight."""
    variance: FloatArray | float = 0.0
    """Variance along one direction of the client points around their proxy, as far as known."""


@dataclass(frozen=True)
class NoisyCenters:
    """The result of step 3 and of every Lloyd step."""

    centers: FloatArray
    """nu_r."""
    counts: FloatArray
    """The noisy counts n_r."""
    center_stddev: FloatArray
    """Standard deviation of a center around the mean of the points that it attracts, in one coordinate: noise and what else is known."""
    count_stddev: float
    """Standard deviation of the noise in each count."""
    axis_stddev: FloatArray | None = field(default=None, kw_only=True)
    """The same for each coordinate of each center (k, d); None if it is not known."""
    place_stddev: FloatArray | None = field(default=None, kw_only=True)
    """What a filter takes the error of each coordinate to be (k, d), from which a later run goes on; None if there is no filter."""
    remarks: tuple[str, ...]
    """What a reader of the result must know; made of public facts and released numbers only."""
    useless: str | None = field(default=None, kw_only=True)
    """Why the centers say nothing about the clients' points, where the method knows; it is one of the remarks too."""


class Steps(Protocol):
    """The noisy steps of Algorithms 1 and 2, as one method makes them in one run.

    Each step takes what the last one returned: a Subspace, Proxies or NoisyCenters, to which a method adds what its next step needs.
    """

    def subspace(self) -> Any:
        """Return the subspace that holds the clusters."""

    def proxies(self, subspace: Any) -> Any:
        """Return points of the subspace that stand for the client points, and their noisy weights."""

    def initial_centers(self, proxies: Any, projected_centers: FloatArray) -> Any:
        """Return the centers and noisy counts of the clusters around the projected centers xi_r."""

    def lloyd_centers(self, latest: Any) -> Any:
        """Return the centers and noisy counts after one more Lloyd step."""

    def closing(self, latest: Any) -> Closing | None:
        """Return the sizes and spreads of the clusters around the centers that are released; None if the method does not look."""
