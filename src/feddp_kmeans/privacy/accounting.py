"""From noise to epsilon and back, for a list of releases that are composed.

All Gaussian: the closed form of Gaussian differential privacy, exact. Anything else: dp-accounting's privacy loss
distributions, which bound from above. Knows nothing of k-means.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.privacy.mechanism import Mechanism, Release

_TOLERANCE = 1e-5
"""Relative tolerance of a calibrated noise scale; the search ends on the private side."""


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse a budget that is not one: epsilon > 0 (infinity: no noise), 0 < delta < 1."""
    if not (isinstance(epsilon, int | float) and epsilon > 0):
        raise FedDPError(f"epsilon must be positive, got {epsilon!r}.")
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise FedDPError(f"delta must be between 0 and 1, got {delta!r}.")


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta at which mu-Gaussian DP implies (epsilon, delta)-DP (Balle and Wang 2018; Dong et al. 2019).

    ``delta = Phi(-eps/mu + mu/2) - exp(eps) Phi(-eps/mu - mu/2)``.
    """
    from scipy import special

    upper = special.log_ndtr(-epsilon / mu + mu / 2)
    lower = epsilon + special.log_ndtr(-epsilon / mu - mu / 2)
    return float(math.exp(upper) * -math.expm1(min(0.0, lower - upper)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon of mu-Gaussian DP at this delta."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    from scipy import optimize

    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return float(optimize.brentq(lambda eps: gaussian_delta(mu, eps) - delta, 0.0, high, xtol=1e-12, rtol=1e-12))


@lru_cache(maxsize=256)
def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian DP implies (epsilon, delta)-DP: the whole budget of an all-Gaussian plan."""
    from scipy import optimize

    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) < delta:
        low, high = high, 2 * high
    mu = optimize.brentq(lambda m: gaussian_delta(m, epsilon) - delta if m > 0 else -delta, low, high, xtol=1e-14, rtol=1e-13)
    return float(mu) * (1 - 1e-9)


def composed_epsilon(releases: Sequence[Release], delta: float, sampling_rate: float = 1.0) -> float:
    """Return the epsilon of all the releases together, each ``times`` times.

    With ``sampling_rate`` below 1 every release, and each of its times, sees a fresh Poisson cohort of privacy units; so the
    composition is one of independently sampled mechanisms. (Two releases of one cohort would be *one* sampled mechanism, and
    pretending otherwise understates epsilon by up to 27 %.)
    """
    return runs_epsilon([(releases, sampling_rate)], delta)


def runs_epsilon(runs: Sequence[tuple[Sequence[Release], float]], delta: float) -> float:
    """Return the epsilon of several runs on the same data together: the releases of each, and its sampling rate."""
    rows = tuple((r.mechanism, r.noise_multiplier, r.times, rate) for releases, rate in runs for r in releases)
    if not rows:
        return 0.0
    if any(multiplier == 0 for _, multiplier, _, _ in rows):
        return math.inf
    if all(mechanism is Mechanism.GAUSSIAN and rate == 1.0 for mechanism, _, _, rate in rows):
        return gaussian_epsilon(math.sqrt(sum(times / multiplier**2 for _, multiplier, times, _ in rows)), delta)
    return _pld_epsilon(rows, delta)


def accounting_work(releases: Sequence[Release], *, sampled: bool) -> float:
    """Return about how large the privacy losses of noisy releases become together: time and memory of the accountant grow with it.

    Zero where there is a closed form: all noise is Gaussian, and no release is of a sample.
    """
    gaussian = [r for r in releases if r.mechanism is Mechanism.GAUSSIAN]
    if len(gaussian) == len(releases) and not sampled:
        return 0.0
    return sum(r.times / r.noise_multiplier for r in releases) + sum(r.times / (2 * r.noise_multiplier**2) for r in gaussian)


@lru_cache(maxsize=1024)
def _pld_epsilon(rows: tuple[tuple[Mechanism, float, int, float], ...], delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    # A discretisation of 1e-3 is within 5e-5 (relative) of the exact value at epsilon 1; scaled with epsilon so that small budgets are
    # met as tightly and large ones stay fast. Never finer than dp-accounting's own default, so that whoever checks the ledger with it
    # finds no more than was asked for.
    rough = sum(rate * times / multiplier for _, multiplier, times, rate in rows)
    interval = min(1e-2, max(1e-4, rough / 1000))
    total: Any = None
    for mechanism, multiplier, times, rate in rows:
        make = pld.from_gaussian_mechanism if mechanism is Mechanism.GAUSSIAN else pld.from_laplace_mechanism
        one = make(multiplier, value_discretization_interval=interval, sampling_prob=rate)
        many = one.self_compose(times) if times > 1 else one
        total = many if total is None else total.compose(many)
    return float(total.get_epsilon_for_delta(delta))


def calibrate_scale(epsilon_at: Callable[[float], float], epsilon: float) -> float:
    """Return the smallest factor c (to a relative 1e-5) with ``epsilon_at(c) <= epsilon``; epsilon_at falls as c grows."""
    from scipy import optimize

    high = 1.0
    while epsilon_at(high) > epsilon:
        high *= 2
    low = high / 2
    while epsilon_at(low) <= epsilon:
        low, high = low / 2, low
    root = optimize.brentq(lambda c: epsilon_at(c) - epsilon, low, high, rtol=_TOLERANCE, xtol=_TOLERANCE * low)
    while epsilon_at(root) > epsilon:
        root *= 1 + _TOLERANCE
    return float(root)
