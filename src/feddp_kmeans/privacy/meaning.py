"""What a guarantee means, from public numbers only: how well an attacker can guess who took part, and where the budget went."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from feddp_kmeans.privacy.accounting import composed_epsilon, gaussian_delta
from feddp_kmeans.privacy.mechanism import Mechanism, Release

WEAK_EPSILON = 8.0
"""A larger epsilon is hardly a promise: at 8, an attacker may be right in 99.97 % of cases (docs/choosing_epsilon.md)."""


def attack_advantage(epsilon: float, delta: float) -> float:
    """Return the most that any attacker's true positive rate can exceed the false positive rate: ``(e^eps - 1 + 2 delta) / (e^eps + 1)``.

    The attacker sees all that was released, knows all other data, and says "took part" with chance T if the unit did and F if it did not.

    Proof. The guarantee bounds the event "took part" one way, and its complement the other way:
    ``T <= e^eps F + delta`` and ``1 - F <= e^eps (1 - T) + delta``. Add them: ``1 + T - F <= e^eps (1 - (T - F)) + 2 delta``. Solve
    for ``T - F``. Randomized response reaches the bound, so it cannot be lowered for a general mechanism.

    >>> round(attack_advantage(1.0, 0.0), 4)
    0.4621
    """
    # Divided by e^eps, so that no large epsilon overflows.
    shrunk = math.exp(-epsilon)
    return min(1.0, (1.0 - shrunk + 2.0 * delta * shrunk) / (1.0 + shrunk))


def attack_accuracy(epsilon: float, delta: float) -> float:
    """Return the largest chance to guess right whether a unit took part, where both were equally likely before.

    Proof. At even odds the chance is ``(T + 1 - F) / 2 = (1 + advantage) / 2``, that is ``(e^eps + delta) / (1 + e^eps)``.

    >>> round(attack_accuracy(1.0, 0.0), 4)
    0.7311
    """
    return (1.0 + attack_advantage(epsilon, delta)) / 2.0


def weakness(epsilon: float, delta: float) -> str:
    """Return a sentence if this epsilon is too large to protect anyone; empty otherwise, and for no noise at all, which is said elsewhere.

    >>> weakness(50.0, 1e-6)
    'epsilon 50 protects hardly anyone: whoever knows all other data may guess right who took part in 100.00 % of cases'
    >>> weakness(8.0, 1e-6)
    ''
    """
    if not WEAK_EPSILON < epsilon < math.inf:
        return ""
    chance = f"{attack_accuracy(epsilon, delta):.2%}".replace("%", " %")
    return f"epsilon {epsilon:g} protects hardly anyone: whoever knows all other data may guess right who took part in {chance} of cases"


def ledger_accuracy(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the same chance for the noise of this ledger, smaller than what (epsilon, delta) imply; None where it is not all Gaussian.

    Proof. A release with noise multiplier m, made t times, is Gaussian DP with ``mu^2 = t / m^2``, and these squares add up, also where
    queries depend on earlier answers (Dong et al. 2019). The largest advantage against mu-Gaussian DP is its delta at epsilon 0,
    ``2 Phi(mu / 2) - 1``. The samplers' distance from their ideal law, at most a factor ``e^s``, adds at most ``e^s - 1``. Leaving clients
    out at random only lowers it.
    """
    releases = [Release.from_dict(row) for row in rows]
    if not releases or any(r.mechanism is not Mechanism.GAUSSIAN or r.noise_multiplier == 0 for r in releases):
        return None
    mu = math.sqrt(sum(r.times / r.noise_multiplier**2 for r in releases))
    sampler = math.expm1(sum(r.sampler_epsilon for r in releases))
    return min(1.0, (1.0 + gaussian_delta(mu, 0.0) + sampler) / 2.0)


class ShareKind(StrEnum):
    """What the shares of a budget are shares of."""

    SQUARED_MU = "squared mu"
    """Parts of ``mu^2``: they add up exactly, because all noise is Gaussian."""
    SINGLE_EPSILON = "single epsilon"
    """Each release's own epsilon, over the sum of them: a picture, since epsilons of different noise do not add up."""
    NONE = "none"
    """No release, or no noise."""


@dataclass(frozen=True)
class BudgetShares:
    """The share of the budget that each row of a ledger took."""

    kind: ShareKind
    shares: tuple[float, ...]


def budget_shares(rows: Sequence[Mapping[str, Any]], delta: float, sampling_rate: float = 1.0) -> BudgetShares:
    """Return the share of the budget of each row; all zero where nothing was released or a release had no noise."""
    releases = [Release.from_dict(row) for row in rows]
    kind, costs = ShareKind.NONE, [0.0] * len(releases)
    if all(r.noise_multiplier > 0 for r in releases):
        if all(r.mechanism is Mechanism.GAUSSIAN for r in releases):
            kind, costs = ShareKind.SQUARED_MU, [r.times / r.noise_multiplier**2 for r in releases]
        else:
            kind, costs = ShareKind.SINGLE_EPSILON, [composed_epsilon([r], delta, sampling_rate) for r in releases]
    total = sum(costs)
    return BudgetShares(kind, tuple(cost / total for cost in costs)) if total > 0 else BudgetShares(ShareKind.NONE, tuple(costs))
