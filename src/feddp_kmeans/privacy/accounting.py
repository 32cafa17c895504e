"""From noise to epsilon and back, for releases that are composed.

Gaussian noise has an exact closed form; for all other noise, dp-accounting's privacy loss distributions bound epsilon from above. The
closed form is written out although ``dp_accounting.gaussian_mechanism`` has it. A test shows that both agree to a relative 1e-10, but
theirs may end on the wrong side of a budget, states no delta, warns where mu is 1e-5, and takes a second to import, at every site.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.mechanism import Mechanism, Release

_LARGEST_EPSILON = 1e3
"""Larger budgets give no privacy, and an accountant cannot add them up."""

_ROUNDING = 1e-9
"""Part of a total that is not shared out."""
_TOLERANCE = 1e-5
"""Relative tolerance of a calibrated epsilon; the search ends on the private side."""

_COARSE, _COARSE_TOLERANCE = 16.0, 1e-4
_STEPS, _STEEPEST = 8, 8.0
"""The search: coarseness and tolerance of its first part; most steps and steepest slope of its second part."""


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse a budget outside its range: epsilon > 0 (infinity: no noise), 0 < delta < 1."""
    if not (isinstance(epsilon, int | float) and epsilon > 0):
        raise InputError(f"epsilon must be positive, got {epsilon!r}.")
    if _LARGEST_EPSILON < epsilon < math.inf:
        raise InputError(f"epsilon must be at most {_LARGEST_EPSILON:g}, or infinite for no noise, got {epsilon:g}.")
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise InputError(f"delta must be between 0 and 1, got {delta!r}.")


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


def shares_of_total(epsilon: float, delta: float, shares: Sequence[float]) -> list[float]:
    """Return the epsilon of each of some runs with Gaussian noise only that together have this one, all at the same delta.

    The costs mu**2 of Gaussian runs add up; each run has its share of the sum, which is never above the total by rounding.

    Examples
    --------
    A fit, and a profile of its clusters that has a fifth of the budget:

    >>> [round(epsilon, 2) for epsilon in shares_of_total(1.0, 1e-6, [0.8, 0.2])]
    [0.89, 0.42]

    """
    if epsilon == math.inf:
        return [math.inf] * len(shares)
    mu = gaussian_mu(epsilon, delta) * (1 - _ROUNDING)
    return [gaussian_epsilon(mu * math.sqrt(share / sum(shares)), delta) for share in shares]


def composed_epsilon(releases: Sequence[Release], delta: float, sampling_rate: float = 1.0, coarseness: float = 1.0) -> float:
    """Return the epsilon of all the releases together, each ``times`` times.

    With ``sampling_rate`` below 1 every release, and each of its times, sees a fresh Poisson cohort of privacy units: independently sampled
    mechanisms are composed. (Two releases of one cohort are *one* sampled mechanism; counting them as two understates epsilon by up to
    27 %.) A coarser grid of privacy losses is faster and bounds less tightly.
    """
    return runs_epsilon([(releases, sampling_rate)], delta, coarseness)


def runs_epsilon(runs: Sequence[tuple[Sequence[Release], float]], delta: float, coarseness: float = 1.0) -> float:
    """Return the epsilon of several runs on the same data together: the releases of each, and its sampling rate."""
    rows = [(r.mechanism, r.noise_multiplier, r.times, rate) for releases, rate in runs for r in releases]
    if not rows:
        return 0.0
    if any(multiplier == 0 for _, multiplier, _, _ in rows):
        return math.inf
    plain = [row for row in rows if row[0] is Mechanism.GAUSSIAN and row[3] == 1.0]
    others = [row for row in rows if not (row[0] is Mechanism.GAUSSIAN and row[3] == 1.0)]
    mu = math.sqrt(sum(times / multiplier**2 for _, multiplier, times, _ in plain))
    if not others:
        return gaussian_epsilon(mu, delta)
    # Gaussians without sampling compose to one Gaussian, exactly. Equal mechanisms are one mechanism, composed several times.
    numbers = Counter({(Mechanism.GAUSSIAN, 1 / mu, 1.0): 1} if plain else {})
    for mechanism, multiplier, times, rate in others:
        numbers[mechanism, multiplier, rate] += times
    return _pld_epsilon(tuple(numbers.items()), delta, coarseness)


def pure_mu(epsilon: float) -> float:
    """Return the mu at which every pure epsilon-DP mechanism is mu-Gaussian DP: ``2 Phi^-1(e^eps / (1 + e^eps))``.

    Its trade-off curve lies on or above ``max(1 - e^eps a, e^-eps (1 - a))``, whose kink is at ``a = b = 1 / (1 + e^eps)``. The curve of
    mu-Gaussian DP is convex and symmetric, starts at (0, 1), and passes through that point if ``Phi(-mu / 2) = 1 / (1 + e^eps)``: so it
    lies below the two straight pieces.
    """
    from scipy import special

    return float(-2 * special.ndtri_exp(-math.log1p(math.exp(-epsilon)) - epsilon))


def filter_epsilon(releases: Sequence[Release], delta: float) -> float:
    """Return the epsilon of releases whose noise may have been chosen after looking at those before.

    Gaussian DP composes without loss for adaptively chosen budgets too (Smith and Thakurta 2022; Koskela et al. 2023): a sum of squared
    mu. A Laplace release counts with the mu of its pure epsilon, a sampled release as if it were not sampled.
    """
    costs = [(1 / r.noise_multiplier, r) for r in releases]
    mu = math.sqrt(sum(r.times * (cost if r.mechanism is Mechanism.GAUSSIAN else pure_mu(cost)) ** 2 for cost, r in costs))
    return gaussian_epsilon(mu, delta) if mu else 0.0


def accounting_work(releases: Sequence[Release], *, sampled: bool) -> float:
    """Return roughly the privacy loss of all releases, with which the accountant's time and memory grow; 0 where a closed form holds."""
    gaussian = [r for r in releases if r.mechanism is Mechanism.GAUSSIAN]
    if len(gaussian) == len(releases) and not sampled:
        return 0.0
    return sum(r.times / r.noise_multiplier for r in releases) + sum(r.times / (2 * r.noise_multiplier**2) for r in gaussian)


@lru_cache(maxsize=1024)
def _pld_epsilon(rows: tuple[tuple[tuple[Mechanism, float, float], int], ...], delta: float, coarseness: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    # A discretisation of 1e-3 is within 5e-5 (relative) of the exact value at epsilon 1; scaled with epsilon so that small budgets are
    # met as tightly and large ones stay fast. Never finer than dp-accounting's own default, so that whoever checks the ledger with it
    # finds no more than was asked for.
    # Sampled mechanisms lose far more in rare cases than on the whole: the root of the rate is within 1e-5, in a tenth of the time.
    rough = sum(math.sqrt(rate) * times / multiplier for (_, multiplier, rate), times in rows)
    interval = coarseness * min(1e-2, max(1e-4, rough / 1000))
    total: Any = None
    try:
        for (mechanism, multiplier, rate), times in rows:
            make = pld.from_gaussian_mechanism if mechanism is Mechanism.GAUSSIAN else pld.from_laplace_mechanism
            one = make(multiplier, value_discretization_interval=interval, sampling_prob=rate)
            many = one.self_compose(times) if times > 1 else one
            total = many if total is None else total.compose(many)
    except (ValueError, MemoryError):  # Losses of thousands are too much for dp-accounting's arithmetic: no bound is known.
        return math.inf
    return float(total.get_epsilon_for_delta(delta))


def calibrate_scale(epsilon_at: Callable[[float, float], float], epsilon: float) -> float:
    """Return the smallest factor c (to a relative 1e-5 of epsilon) with ``epsilon_at(c, 1) <= epsilon``; epsilon_at falls as c grows.

    The second argument of ``epsilon_at`` is the coarseness of its bound. A coarse root comes first, at little cost; from there a few
    steps along the slope of log epsilon over log c find the fine one.
    """
    from scipy import optimize

    def excess(factor: float) -> float:
        return epsilon_at(factor, _COARSE) - epsilon

    high = 1.0
    while excess(high) > 0:
        high *= 2
    low = high / 2
    while excess(low) <= 0:
        low, high = low / 2, low
    factor = float(optimize.brentq(excess, low, high, rtol=_COARSE_TOLERANCE, xtol=_COARSE_TOLERANCE * low))
    slope, before = 1.0, None
    for _ in range(_STEPS):
        found = epsilon_at(factor, 1.0)
        if epsilon * (1 - _TOLERANCE) <= found <= epsilon or found <= 0:
            break
        here = math.log(factor), math.log(found)
        if before is not None and here[0] != before[0]:
            slope = min(_STEEPEST, max(1 / _STEEPEST, (before[1] - here[1]) / (here[0] - before[0])))
        before = here
        factor *= math.exp((here[1] - math.log(epsilon * (1 - _TOLERANCE / 2))) / slope)
    step = _TOLERANCE
    while epsilon_at(factor, 1.0) > epsilon:
        factor, step = factor * (1 + step), 2 * step
    return factor
