"""Made-up mixtures that are separated as the theorems ask, and how far centers are from their means. Not private."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_studies.theory.assumptions import MixtureFacts, separation_constant


@dataclass(frozen=True)
class SeparatedMixture:
    """Points of unit variance in k components of equal weight, and server points of each component."""

    points: FloatArray
    labels: IntArray
    means: FloatArray
    server: FloatArray

    @property
    def sizes(self) -> IntArray:
        """Return the ``|G_i|``."""
        return np.bincount(self.labels, minlength=len(self.means))

    @property
    def sample_means(self) -> FloatArray:
        """Return the mean of each G_i, which differs from mu_i by the error of sampling."""
        members = (self.points[self.labels == i] for i in range(len(self.means)))
        return np.array([some.mean(axis=0) for some in members])

    @property
    def facts(self) -> MixtureFacts:
        """Return what the theorems are given about it."""
        return MixtureFacts(len(self.points), 1 / len(self.means), 1.0)


def separated_mixture(
    seed: int, *, n: int, k: int = 4, dimension: int = 20, constant: float = 1.0, per_component: int = 5
) -> SeparatedMixture:
    """Return n points whose means are exactly c-separated for this constant."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((k, dimension))
    means *= constant / separation_constant(means, np.full(k, 1 / k), 1.0, n)
    labels = rng.choice(k, n)
    points = means[labels] + rng.standard_normal((n, dimension))
    server = np.repeat(means, per_component, axis=0) + rng.standard_normal((k * per_component, dimension))
    return SeparatedMixture(points, labels, means, server)


def center_errors(means: FloatArray, centers: FloatArray) -> FloatArray:
    """Return ``|mu_i - nu_i|`` for each mean, under the matching with the least sum of squares."""
    distances = cdist(means, centers)
    rows, columns = linear_sum_assignment(np.square(distances))
    matched: FloatArray = distances[rows, columns]
    return matched


def same_partition(first: IntArray, second: IntArray) -> bool:
    """Return whether two labellings differ only by names."""
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def labels_of(points: FloatArray, centers: FloatArray) -> IntArray:
    """Return the nearest center of each point."""
    nearest: IntArray = (np.square(centers).sum(axis=1) - 2 * points @ centers.T).argmin(axis=1)
    return nearest
