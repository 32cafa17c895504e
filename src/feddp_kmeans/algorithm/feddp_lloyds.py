"""Algorithm 2, FedDP-Lloyds: noisy steps of Lloyd's algorithm from given centers."""

from typing import Protocol, TypeVar

T = TypeVar("T")


def feddp_lloyds(steps: "LloydSteps[T]", start: T, n_steps: int) -> T:
    """Return the centers nu^T and the noisy counts after T noisy steps."""
    latest = start
    for _ in range(n_steps):
        latest = steps.lloyd_centers(latest)
    return latest


class LloydSteps(Protocol[T]):
    """The noisy step of FedDP-Lloyds, as a method makes it."""

    def lloyd_centers(self, latest: T) -> T:
        """Return the next centers and noisy counts."""
        ...
