"""Algorithm 2, FedDP-Lloyds: noisy steps of Lloyd's algorithm from given centers."""

from typing import Protocol

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.plan import Plan


class LloydMethod(Protocol):
    """The noisy aggregates that FedDP-Lloyds needs, as a method makes them."""

    def lloyd_centers(self, federation: Federation, plan: Plan, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next centers and the noisy counts."""
        ...


def feddp_lloyds(
    federation: Federation, plan: Plan, method: LloydMethod, centers: FloatArray, counts: FloatArray, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Return the centers nu^T after T noisy steps, and the noisy counts of the last one (those given, where T = 0)."""
    for _ in range(steps):
        centers, counts = method.lloyd_centers(federation, plan, centers)
    return centers, counts
