"""What a noisy second moment shows: directions, and the variance of the points along them."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.tuning import SERVERLESS


@dataclass(frozen=True)
class Shape:
    """What the noisy second moment shows: directions, variances along them, and how much of these is noise."""

    basis: FloatArray
    """All directions, as columns, largest variance first."""
    variances: FloatArray
    trace: float
    edge: float
    """Largest eigenvalue that noise only would give."""

    @classmethod
    def of(cls, matrix: FloatArray, trace: float, noise: float, trace_limits: tuple[float, float]) -> "Shape":
        """Return the shape that a noisy traceless moment per point and its trace show; the trace is kept within its limits."""
        d = len(matrix)
        trace = float(np.clip(trace, *trace_limits))
        eigenvalues, vectors = linalg.eigh(matrix + np.eye(d) * trace / d)
        return cls(np.ascontiguousarray(vectors[:, ::-1]), eigenvalues[::-1], trace, noise * np.sqrt(2 * d))

    def rank(self, k: int) -> int:
        """Return the dimension of the subspace: the number of directions that stand above the noise, but at least k.

        All of few directions if noise is low: in a table whose columns have one unit the variances do not show what tells clusters apart.
        """
        d, most, mean = len(self.variances), SERVERLESS.rank_factor * k, self.trace / len(self.variances)
        if d <= most and self.edge < SERVERLESS.clear_edge * mean:
            return d
        return min(max(int(np.sum(self.variances - mean > self.edge)), k), most, d)

    @property
    def visible(self) -> float:
        """Return the part of the variance that the points are seen to have along single directions, beyond the mean variance."""
        return float(np.maximum(self.along - self.trace / len(self.variances), 0.0).sum()) / self.trace

    @property
    def along(self) -> FloatArray:
        """Return the variance that the points have along each direction; noise has turned the directions and inflated their eigenvalues.

        For an eigenvalue t above the mean one m, noise with spectral edge e leaves ``m + sqrt(t**2 - e**2)`` of it (a spiked
        Wigner matrix); below the edge a direction is like any other.
        """
        mean = self.trace / len(self.variances)
        excess = np.maximum(self.variances - mean, 0.0)
        left = mean + np.sqrt(np.maximum(np.square(excess) - self.edge**2, 0.0))
        low = np.minimum(left, np.where(self.edge < mean, self.variances, mean))
        return np.clip(np.where(excess > 0, left, low), SERVERLESS.least_variance * mean, self.trace)
