"""Algorithm "SimplifyServerData": fewer server points, each with enough client points around it that its weight outlives the noise."""

import math
from collections.abc import Callable

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray


def simplify_rounds(n_server: int, epsilon: float, min_weight: float) -> int:
    """Return ``T = 10 log(4 log|Q| / (epsilon w_min))``, rounded up, at least 1."""
    inside = 4 * math.log(max(2, n_server)) / (epsilon * min_weight)
    return max(1, math.ceil(10 * math.log(inside))) if inside > 1 else 1


def freezing_threshold(rounds: int, n_server: int, n_points: int, epsilon: float) -> float:
    """Return the noisy weight above which a point is frozen: ``max(T log(T |Q|), 2 log n) / epsilon``.

    The pseudo-code has only the second term, which noise of scale T/epsilon exceeds; the proof of Lemma "induction" uses the first.
    """
    return max(rounds * math.log(rounds * n_server), 2 * math.log(n_points)) / epsilon


def simplify_server_data(
    n_server: int, noisy_weights: Callable[[IntArray], FloatArray], rounds: int, threshold: float, seed: int
) -> IntArray:
    """Return F, the indices of the frozen server points.

    ``noisy_weights(C)`` is the noisy number of client points nearest to each server point of C. In every round the points above the
    threshold are frozen, and of the others each stays with probability 1/2. Rounds for which no point is left are not made.
    """
    rng = np.random.default_rng(seed)
    frozen: BoolArray = np.zeros(n_server, dtype=bool)
    left: BoolArray = np.ones(n_server, dtype=bool)
    for _ in range(rounds + 1):
        if not left.any():
            break
        candidates = np.flatnonzero(frozen | left)
        weights = np.zeros(n_server)
        weights[candidates] = noisy_weights(candidates)
        light = left & (weights <= threshold)
        frozen |= left & ~light
        left = light & (rng.random(n_server) < 0.5)
    return np.flatnonzero(frozen)
