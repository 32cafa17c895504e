"""Algorithm 2, FedDP-Lloyds: noisy steps of Lloyd's algorithm from given centers."""

from typing import Protocol

from feddp_kmeans._typing import FloatArray


class LloydSteps(Protocol):
    """The noisy step of FedDP-Lloyds, as a method makes it."""

    def lloyd_centers(self, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the next centers and the noisy counts."""
        ...


def feddp_lloyds(steps: LloydSteps, centers: FloatArray, counts: FloatArray, n_steps: int) -> tuple[FloatArray, FloatArray]:
    """Return the centers nu^T after T noisy steps, and the noisy counts of the last one (those given, where T = 0)."""
    for _ in range(n_steps):
        centers, counts = steps.lloyd_centers(centers)
    return centers, counts
