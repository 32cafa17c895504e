"""What the theorems ask for and promise, as functions: sample sizes and errors, every symbol as in the paper, universal constants as 1.

The paper's sample sizes hold sigma, which is a length: they are meant for data in which sigma is about 1.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_studies.theory.assumptions import MixtureFacts

_MOST_LOGS = 6
"""The highest power of log n in a sample size: from ``e**6`` on, n grows faster than it."""


def practice_samples(k: int, dimension: int, epsilon: float, facts: MixtureFacts) -> float:
    """Return the samples that Theorem "mainPractice" asks for: ``k log^3(n) sqrt(d) sigma / (epsilon w_min)^2``."""
    return k * math.log(facts.n_points) ** 3 * math.sqrt(dimension) * facts.max_stddev / (epsilon * facts.min_weight) ** 2


def practice_error(lloyd_steps: int, radius: float, epsilon: float, cluster_sizes: IntArray, facts: MixtureFacts) -> FloatArray:
    """Return its bound of each ``|mu_i - nu_i|``: ``2^-T sqrt(n sigma^2 / |G_i|) + T Delta log(n) / (epsilon n w_min)``."""
    start = facts.max_stddev * np.sqrt(facts.n_points / cluster_sizes)
    noise = lloyd_steps * radius * math.log(facts.n_points) / (epsilon * facts.n_points * facts.min_weight)
    bound: FloatArray = 2.0**-lloyd_steps * start + noise
    return bound


def recovery_steps(n_points: int) -> int:
    """Return the steps after which it promises the planted clustering: ``log n``, rounded up."""
    return math.ceil(math.log(n_points))


def theory_samples(k: int, dimension: int, lloyd_steps: int, epsilon: float, delta: float, facts: MixtureFacts) -> float:
    """Return the samples that Theorem "mainTheory" asks for: ``k d T log^2(n) sqrt(log(1/delta)) / (epsilon w_min)^2``."""
    logs = math.log(facts.n_points) ** 2 * math.sqrt(math.log(1 / delta))
    return k * dimension * max(1, lloyd_steps) * logs / (epsilon * facts.min_weight) ** 2


def theory_error(k: int, dimension: int, lloyd_steps: int, epsilon: float, delta: float, facts: MixtureFacts) -> float:
    """Return its bound: ``max(2^-T, k d T log^2(n) sigma sqrt(log(T/delta)) / (n epsilon^2 w_min^2))``."""
    logs = math.log(facts.n_points) ** 2 * math.sqrt(math.log(max(1, lloyd_steps) / delta))
    noise = k * dimension * lloyd_steps * logs * facts.max_stddev / (facts.n_points * (epsilon * facts.min_weight) ** 2)
    return max(2.0**-lloyd_steps, noise)


def corollary_samples(k: int, dimension: int, epsilon: float, facts: MixtureFacts) -> float:
    """Return the samples that the corollary asks for: those of "mainPractice", and ``log^6(n) k d^2 / (epsilon^4 w_min^2)``."""
    many = math.log(facts.n_points) ** _MOST_LOGS * k * dimension**2 / (epsilon**4 * facts.min_weight**2)
    return max(practice_samples(k, dimension, epsilon, facts), many)


def corollary_steps(k: int, facts: MixtureFacts) -> int:
    """Return its number of Lloyd steps: ``T = log2(10 n w_min / (k sigma))``, rounded up."""
    return max(1, math.ceil(math.log2(10 * facts.n_points * facts.min_weight / (k * facts.max_stddev))))


def least_samples(needed: Callable[[MixtureFacts], float], facts: MixtureFacts) -> int:
    """Return the n from which on there are as many samples as are needed, though what is needed grows with log n; at least ``e**6``."""

    def enough(n: int) -> bool:
        return n >= needed(replace(facts, n_points=n))

    low = high = math.ceil(math.exp(_MOST_LOGS))
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
