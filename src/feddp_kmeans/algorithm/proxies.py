"""Points that stand for the clients' if the server has none: made from noisy moments and noisy counts, at no further cost."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.tuning import SERVERLESS

_LEAST_WEIGHT = 1e-3
"""Least weight of a candidate relative to the heaviest one, if all are kept."""

_LEAST_NOISE = 1e-9


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
        """Return the dimension of the subspace: the number of directions above the noise, but at least k."""
        return min(max(int(np.sum(self.variances > self.edge)), k), SERVERLESS.rank_factor * k, len(self.variances))

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


def n_candidates(n_points: float, noise: float, k: int) -> int:
    """Return how many candidates there may be, so that one holds about as many points as its count has noise."""
    return int(np.clip(n_points / max(noise, _LEAST_NOISE), SERVERLESS.least_candidates * k, SERVERLESS.most_candidates))


def first_candidates(rng: np.random.Generator, count: int, variances: FloatArray) -> FloatArray:
    """Return candidates drawn from a normal law somewhat wider than the points'."""
    return rng.standard_normal((count, len(variances))) * (SERVERLESS.spread * np.sqrt(variances))


def resampled(rng: np.random.Generator, candidates: FloatArray, weights: FloatArray, variances: FloatArray) -> FloatArray:
    """Return as many new candidates, each near an old one that was drawn by weight."""
    chosen = rng.choice(len(candidates), len(candidates), p=weights / weights.sum())
    return candidates[chosen] + rng.standard_normal(candidates.shape) * (SERVERLESS.resampled_spread * np.sqrt(variances))


def credible_counts(counts: FloatArray, noise: float, k: int, level: float) -> FloatArray:
    """Return noisy counts with those that noise would explain set to zero; if fewer than k would be left, all stay."""
    credible: FloatArray = np.where(counts > level * noise, np.maximum(counts, 0.0), 0.0)
    if np.count_nonzero(credible) < k:
        credible = np.maximum(counts, _LEAST_WEIGHT * max(float(counts.max()), noise, _LEAST_WEIGHT))
    return credible
