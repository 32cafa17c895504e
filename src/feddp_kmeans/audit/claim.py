"""What is claimed of a list of releases: a curve of (epsilon, delta) pairs, from another accountant than the one that makes plans.

Plans are made with the closed form of Gaussian differential privacy. Here dp-accounting's privacy loss distributions add up the same
numbers, so that a mistake in one of the two shows. Both bound from above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.mechanism import Mechanism, Release

_POINTS = 61
_REACH = 1.5
"""The curve has so many epsilons, up to so many times the claimed one."""

_FINEST, _COARSEST = 1e-4, 1e-2
"""Steps of privacy loss: a thousandth of a rough epsilon, within these."""


@dataclass(frozen=True)
class PrivacyClaim:
    """(epsilon, delta), and all the other pairs that hold because the noise is what it is said to be."""

    epsilon: float
    delta: float
    curve: tuple[tuple[float, float], ...]

    def largest_tpr(self, fpr: FloatArray) -> FloatArray:
        """Return the largest true positive rate that an attacker can have at these false positive rates, if the claim holds.

        Every pair demands ``tpr <= e^eps fpr + delta`` and, of who denies rather than accuses, ``1 - fpr <= e^eps (1 - tpr) + delta``.
        """
        epsilons, deltas = np.array(self.curve).T
        factors = np.exp(epsilons)
        rates = np.asarray(fpr, dtype=np.float64)[..., None]
        accuse = (factors * rates + deltas).min(axis=-1)
        deny = (1 - (1 - rates - deltas) / factors).min(axis=-1)
        largest: FloatArray = np.clip(np.minimum(accuse, deny), 0.0, 1.0)
        return largest

    def boundary(self) -> list[list[float]]:
        """Return the curve of rates that no attacker can pass, as pairs of false and largest true positive rate."""
        fpr = np.concatenate([np.geomspace(1e-4, 0.05, 12), np.linspace(0.06, 1.0, 48)])
        return [[0.0, self.delta], *([float(x), float(y)] for x, y in zip(fpr, self.largest_tpr(fpr), strict=True))]


def claim_of(made: Sequence[tuple[Release, int]], delta: float, sampling_rate: float = 1.0, epsilon: float | None = None) -> PrivacyClaim:
    """Return the claim that releases imply, each made so many times; ``epsilon`` is the one that was promised, if it is not theirs."""
    rows = tuple((release.mechanism, release.noise_multiplier, times) for release, times in made)
    if not rows or any(multiplier == 0 for _, multiplier, _ in rows):
        raise InputError("releases must be made with noise to be audited, got none or one without.")
    loss = _privacy_loss(rows, sampling_rate)
    own = float(loss.get_epsilon_for_delta(delta))
    promised = own if epsilon is None else epsilon
    epsilons = np.linspace(0.0, _REACH * max(own, promised, 0.1), _POINTS)
    deltas = np.asarray(loss.get_delta_for_epsilon(epsilons))
    curve = tuple((float(e), float(d)) for e, d in zip(epsilons, deltas, strict=True))
    return PrivacyClaim(promised, delta, (*curve, (promised, delta)))


def second_epsilon(made: Sequence[tuple[Release, int]], delta: float, sampling_rate: float = 1.0) -> float:
    """Return the epsilon that the other accountant finds for releases, each made so many times; infinity where one has no noise."""
    rows = tuple((release.mechanism, release.noise_multiplier, times) for release, times in made)
    if any(multiplier == 0 for _, multiplier, _ in rows):
        return math.inf
    return float(_privacy_loss(rows, sampling_rate).get_epsilon_for_delta(delta))


@lru_cache(maxsize=64)
def _privacy_loss(rows: tuple[tuple[Mechanism, float, int], ...], sampling_rate: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    rough = math.sqrt(sum(times / multiplier**2 for _, multiplier, times in rows))
    interval = min(_COARSEST, max(_FINEST, rough / 1000))
    gaussian = {mechanism for mechanism, _, _ in rows} == {Mechanism.GAUSSIAN}
    if gaussian and sampling_rate == 1:
        return pld.from_gaussian_mechanism(1 / rough, value_discretization_interval=interval)
    total: Any = None
    for mechanism, multiplier, times in rows:
        make = pld.from_gaussian_mechanism if mechanism is Mechanism.GAUSSIAN else pld.from_laplace_mechanism
        one = make(multiplier, value_discretization_interval=interval, sampling_prob=sampling_rate)
        many = one.self_compose(times) if times > 1 else one
        total = many if total is None else total.compose(many)
    return total
