"""Algorithm 1, FedDP-Init: initial centers from three noisy looks at the clients and the server's own data."""

from dataclasses import dataclass
from typing import Protocol

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.server import weighted_kmeans
from feddp_kmeans.algorithm.statistics import project
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.fixed_point import Ball
from feddp_kmeans.privacy.plan import Plan


class InitMethod(Protocol):
    """The noisy aggregates that FedDP-Init needs, as a method makes them."""

    ball: Ball

    def projection(self, federation: Federation, plan: Plan) -> FloatArray:
        """Return Pi, as orthonormal columns."""
        ...

    def weights(self, federation: Federation, plan: Plan, projection: FloatArray, projected: FloatArray) -> FloatArray:
        """Return the noisy weights w_q of the projected server points."""
        ...

    def initial_centers(
        self, federation: Federation, plan: Plan, projection: FloatArray, projected_centers: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the centers nu_r and the noisy counts n_r."""
        ...


@dataclass(frozen=True)
class Initialization:
    """What FedDP-Init found; all of it is private already."""

    centers: FloatArray
    counts: FloatArray
    projection: FloatArray
    server_weights: FloatArray


def feddp_init(federation: Federation, plan: Plan, method: InitMethod, server_points: FloatArray, k: int, seed: int) -> Initialization:
    """Return the initial centers nu_1, ..., nu_k."""
    # Step 1: projection onto the top k singular vectors of the client data.
    projection = method.projection(federation, plan)
    # Step 2: importance weights of the projected server points, Pi Q.
    projected = project(method.ball.encode(server_points), projection)
    weights = method.weights(federation, plan, projection, projected)
    # Step 3: cluster the weighted server points (xi), then initialize in full space.
    projected_centers = weighted_kmeans(projected, weights, k, seed)
    centers, counts = method.initial_centers(federation, plan, projection, projected_centers)
    return Initialization(centers, counts, projection, weights)
