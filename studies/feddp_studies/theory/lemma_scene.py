"""One separated mixture and all that the appendix's lemmas speak of, in its notation. Not private: exact values are looked at."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.server import top_subspace, weighted_kmeans
from feddp_studies.theory.separated import SeparatedMixture, labels_of, separated_mixture
from feddp_studies.theory.simplify import freezing_threshold, simplify_rounds, simplify_server_data


@dataclass(frozen=True)
class LemmaScene:
    """A mixture, a budget, and one draw of all noise: what is cached is drawn once."""

    seed: int
    n: int = 16_000
    dimension: int = 10
    k: int = 4
    epsilon: float = 1.0
    delta: float = 1e-6
    separation: float = 1.0
    per_component: int = 50

    def noise(self, name: str) -> np.random.Generator:
        """Return the stream of this name."""
        return np.random.default_rng([self.seed, *name.encode()])

    @cached_property
    def mixture(self) -> SeparatedMixture:
        """Return P with its G_i and mu_i, and Q."""
        return separated_mixture(
            self.seed, n=self.n, k=self.k, dimension=self.dimension, constant=self.separation, per_component=self.per_component
        )

    @property
    def gaussian(self) -> float:
        """Return ``sigma(epsilon, delta) = sqrt(2 log(2/delta)) / epsilon``."""
        return math.sqrt(2 * math.log(2 / self.delta)) / self.epsilon

    @cached_property
    def radius(self) -> float:
        """Return Delta."""
        return float(np.linalg.norm(self.mixture.points, axis=1).max())

    @cached_property
    def outer(self) -> FloatArray:
        """Return ``P P^T`` (d x d)."""
        product: FloatArray = self.mixture.points.T @ self.mixture.points
        return product

    @cached_property
    def projection(self) -> FloatArray:
        """Return Pi (d x d) of Theorem "pca": from the outer product with noise of standard deviation ``Delta^2 sigma``."""
        noise = np.triu(self.noise("pca").standard_normal(self.outer.shape)) * self.radius**2 * self.gaussian
        return _onto(self.outer + noise + np.triu(noise, 1).T, self.k)

    @cached_property
    def loss(self) -> FloatArray:
        """Return by how much ``|P P^T - Pi P (Pi P)^T|`` exceeds that of the best projection: in spectral norm, and in Frobenius norm."""
        best = _onto(self.outer, self.k)
        left = [self.outer - pi @ self.outer @ pi for pi in (self.projection, best)]
        return np.array([np.linalg.norm(left[0], order) - np.linalg.norm(left[1], order) for order in (2, "fro")])

    @cached_property
    def offsets(self) -> FloatArray:
        """Return ``P - C``, one row per point."""
        return self.mixture.points - self.mixture.means[self.mixture.labels]

    @cached_property
    def spectral(self) -> float:
        """Return ``|P - C|_2``."""
        return float(np.sqrt(np.linalg.eigvalsh(self.offsets.T @ self.offsets)[-1]))

    @cached_property
    def projected(self) -> FloatArray:
        """Return ``Pi P``."""
        return self.mixture.points @ self.projection

    @property
    def reach(self) -> float:
        """Return ``sqrt(k log n) sigma``, the proof's Delta_C."""
        return math.sqrt(self.k * math.log(self.n))

    def weights(self, chosen: IntArray) -> IntArray:
        """Return the exact number of client points nearest to each of these server points, after projection."""
        nearest = labels_of(self.projected, (self.mixture.server @ self.projection)[chosen])
        return np.bincount(nearest, minlength=len(chosen))

    def frozen(self, threshold: float | None = None) -> IntArray:
        """Return F of SimplifyServerData; the threshold is the one of the proof unless another is given."""
        n_server, rng = len(self.mixture.server), self.noise("simplify")
        rounds = simplify_rounds(n_server, self.epsilon, 1 / self.k)
        limit = freezing_threshold(rounds, n_server, self.n, self.epsilon) if threshold is None else threshold

        def noisy(chosen: IntArray) -> FloatArray:
            drawn: FloatArray = self.weights(chosen) + rng.laplace(scale=rounds / self.epsilon, size=len(chosen))
            return drawn

        return simplify_server_data(n_server, noisy, rounds, limit, self.seed)

    @cached_property
    def start(self) -> FloatArray:
        """Return the ``nu_i`` of Part 1 in all d coordinates: k-means of Pi F with noisy weights."""
        chosen = self.frozen()
        noisy = self.weights(chosen) + self.noise("weights").laplace(scale=1 / self.epsilon, size=len(chosen))
        return weighted_kmeans((self.mixture.server @ self.projection)[chosen], np.maximum(noisy, 1e-9), self.k, self.seed)


def _onto(symmetric: FloatArray, k: int) -> FloatArray:
    vectors = top_subspace(symmetric, k)
    square: FloatArray = vectors @ vectors.T
    return square


def cost(points: FloatArray, centers: FloatArray) -> float:
    """Return the k-means cost of the points."""
    return float(np.square(points - centers[labels_of(points, centers)]).sum())
