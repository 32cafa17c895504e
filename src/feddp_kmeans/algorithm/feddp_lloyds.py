"""Algorithm 2, FedDP-Lloyds: noisy steps of Lloyd's algorithm from given centers."""

from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Steps


def feddp_lloyds(steps: Steps, start: NoisyCenters, n_steps: int) -> NoisyCenters:
    """Return the centers nu^T and the noisy counts after T noisy steps."""
    latest = start
    for _ in range(n_steps):
        latest = steps.lloyd_centers(latest)
    return latest
