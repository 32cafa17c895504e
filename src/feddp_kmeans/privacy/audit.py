"""Audits: a lower bound on epsilon from many runs on the two worst neighbours, against the epsilon that is claimed.

An audit can refute a guarantee, never prove one: it complements the property tests of the sensitivities.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.accounting import composed_epsilon
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.noise import StreamFactory

FAILURE_CHANCE = 1e-4
"""Chance that a correct release is refuted."""


@dataclass(frozen=True)
class Verdict:
    """What an audit found."""

    epsilon_claimed: float
    epsilon_lower_bound: float
    runs: int

    @property
    def refuted(self) -> bool:
        """Return whether the claim is refuted."""
        return self.epsilon_lower_bound > self.epsilon_claimed


def epsilon_lower_bound(scores_with: FloatArray, scores_without: FloatArray, delta: float) -> float:
    """Return a lower bound on epsilon that holds but for FAILURE_CHANCE, from scores of runs with and without the unit.

    An attacker says "with" above a threshold. The threshold is chosen on the first half of the scores; on the other half the
    attacker's true and false positive rates are bounded by Clopper and Pearson. (epsilon, delta)-DP demands
    ``tpr <= e^eps fpr + delta``.
    """
    half = min(len(scores_with), len(scores_without)) // 2
    if half < 10:
        raise FedDPError(f"an audit must have at least 20 runs of each kind, got {2 * half}.")
    best = 0.0
    for sign in (1.0, -1.0):
        for positive, negative in ((scores_with, scores_without), (scores_without, scores_with)):
            threshold = _best_threshold(sign * positive[:half], sign * negative[:half], delta)
            hits = int(np.sum(sign * positive[half : 2 * half] > threshold))
            alarms = int(np.sum(sign * negative[half : 2 * half] > threshold))
            best = max(best, _epsilon(hits, alarms, half, delta, FAILURE_CHANCE / 4))
    return best


def audit_release(release: Release, total_with: IntArray, total_without: IntArray, *, delta: float, runs: int, seed: int) -> Verdict:
    """Return the verdict on one release, from the exact integer sums of two neighbouring data sets.

    The attacker knows both data sets and scores a run by its place on the line between them: the most powerful test for Gaussian noise.
    """
    direction = (total_with - total_without).astype(np.float64)
    norm = np.linalg.norm(direction)
    if norm == 0:
        raise FedDPError(f"neighbours must give different sums of {release.name!r}, got equal ones.")
    streams = StreamFactory(seed)

    def scores(total: IntArray) -> FloatArray:
        return np.array([release.noisy(total, streams.stream(release.name)) @ direction / norm for _ in range(runs)])

    bound = epsilon_lower_bound(scores(total_with), scores(total_without), delta)
    return Verdict(composed_epsilon([release], delta), bound, runs)


def _best_threshold(positive: FloatArray, negative: FloatArray, delta: float) -> float:
    thresholds = np.quantile(np.concatenate([positive, negative]), np.linspace(0.02, 0.98, 97))
    n = len(positive)
    values = [_epsilon(int(np.sum(positive > t)), int(np.sum(negative > t)), n, delta, FAILURE_CHANCE) for t in thresholds]
    return float(thresholds[int(np.argmax(values))])


def _epsilon(hits: int, alarms: int, runs: int, delta: float, failure_chance: float) -> float:
    low = float(stats.beta.ppf(failure_chance / 2, hits, runs - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - failure_chance / 2, alarms + 1, runs - alarms)) if alarms < runs else 1.0
    return math.log((low - delta) / high) if low > delta + high else 0.0
