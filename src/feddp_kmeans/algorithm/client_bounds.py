"""Bounds on a client's statistics for method ``paper``, simulated from public data: what a client of a typical size would send."""

from dataclasses import dataclass, fields

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.statistics.fixed_point import Ball, row_norms

DEFAULT_CLIENT_SIZE = 50
"""Typical number of points of a client if none is given: that of the paper's cross-device mixture."""

_RESTARTS = 5
"""Restarts of server k-means: here the clusters need only be typical."""

_SIMULATED_CLIENTS = 200
_QUANTILE = 0.9


@dataclass(frozen=True)
class ClientBounds:
    """How much one client may add to each statistic: L2 norms for outer product, means and sums; L1 norms for the rest.

    Examples
    --------
    >>> from feddp_kmeans import ClientBounds, FedDPKMeans
    >>> bounds = ClientBounds(outer_product=50.0, weights=50.0, means=5.0, presence=3.0, sums=50.0, counts=50.0)
    >>> model = FedDPKMeans(3, method="paper", privacy_unit="client", bounds=bounds)
    >>> model.bounds.counts  # a client counts for at most 50 points
    50.0

    """

    outer_product: float
    weights: float
    means: float
    presence: float
    sums: float
    counts: float

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value > 0):
                raise InputError(f"bound {field.name!r} must be positive and finite, got {value}.")


def simulated_bounds(server_points: FloatArray, ball: Ball, k: int, client_size: int) -> ClientBounds:
    """Return what clients of ``client_size`` points would send, simulated with random server points and the clusters of server k-means.

    A quotient of sums and counts is biased if only one of them is clipped. So the bounds of step 3 do not clip a typical client: up to
    ``min(k, client_size)`` clusters can be present, and each of their means may be as long as nine in ten simulated ones.
    Reads public data only, with a fixed seed: the same public facts give the same bounds.
    """
    from feddp_kmeans.algorithm.server import weighted_kmeans  # loads scipy, which whoever only states bounds need not wait for

    points = ball.clip(server_points) - ball.center
    centers = weighted_kmeans(points, np.ones(len(points)), k, seed=0, restarts=_RESTARTS)
    labels = np.argmin(np.square(centers).sum(axis=1) - 2 * points @ centers.T, axis=1)
    rng = np.random.default_rng(0)
    simulated = [_simulate(points, labels, k, rng.integers(len(points), size=client_size)) for _ in range(_SIMULATED_CLIENTS)]
    outer, sums, means = zip(*simulated, strict=True)
    present = min(k, client_size)
    tiny = 2 * ball.grid  # a bound on outer products is at least a few steps
    return ClientBounds(
        outer_product=max(float(np.quantile(outer, _QUANTILE)), tiny**2),
        weights=float(client_size),
        means=max(float(np.quantile(np.concatenate(means), _QUANTILE)), tiny) * present**0.5,
        presence=float(present),
        sums=max(float(np.quantile(sums, _QUANTILE)), tiny),
        counts=float(client_size),
    )


def _simulate(points: FloatArray, labels: IntArray, k: int, chosen: IntArray) -> tuple[float, float, FloatArray]:
    """Return one simulated client's norms: of its outer product, of its sums, and of each of its clusters' means."""
    own = points[chosen]
    indicator = np.eye(k)[labels[chosen]]
    counts = indicator.sum(axis=0)
    sums = indicator.T @ own
    gram = own @ own.T if len(own) < points.shape[1] else own.T @ own
    means = row_norms(sums[counts > 0] / counts[counts > 0, None])
    return float(np.linalg.norm(gram)), float(np.linalg.norm(sums)), means
