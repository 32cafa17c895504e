"""What a list of releases claims, and what an attacker achieves against the claim in many runs.

The claim is a curve of (epsilon, delta) pairs, from another accountant than the one that makes plans: those are made with the closed form
of Gaussian differential privacy, and here dp-accounting's privacy loss distributions add up the same numbers. Both bound from above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.audit.finding import CHANCE, AuditFinding
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.accounting import gaussian_epsilon
from feddp_kmeans.privacy.mechanism import Mechanism, Release

_POINTS, _REACH = 61, 1.5
"""Number of epsilons of the curve, and its largest as a multiple of the claimed one."""

_FINEST, _COARSEST = 1e-4, 1e-2
"""Limits of the discretisation of privacy loss, which is a thousandth of a rough epsilon."""

Made = Sequence[tuple[Release, int]]
"""Releases, and how many times each is made."""

FEWEST_RUNS = 20
_THRESHOLDS = np.linspace(0.01, 0.99, 99)
_CHOOSING = 4
"""One run in this many is used only to choose thresholds."""

_CHANCE = CHANCE / 6
"""Of each bound on a rate: two rates at three thresholds, the best for the claimed pair, for the whole curve, and for Gaussian noise."""


@dataclass(frozen=True)
class PrivacyClaim:
    """(epsilon, delta), and all other pairs that hold if the noise has its stated law."""

    epsilon: float
    delta: float
    curve: tuple[tuple[float, float], ...]

    def largest_tpr(self, fpr: FloatArray) -> FloatArray:
        """Return the largest true positive rate of any attacker at these false positive rates, if the claim holds.

        Every pair demands ``tpr <= e^eps fpr + delta`` and, for whoever denies instead of accusing, ``1 - fpr <= e^eps (1 - tpr) + delta``.
        """
        epsilons, deltas = np.array(self.curve).T
        factors = np.exp(epsilons)
        rates = np.asarray(fpr, dtype=np.float64)[..., None]
        accuse = (factors * rates + deltas).min(axis=-1)
        deny = (1 - (1 - rates - deltas) / factors).min(axis=-1)
        largest: FloatArray = np.clip(np.minimum(accuse, deny), 0.0, 1.0)
        return largest

    def boundary(self) -> list[list[float]]:
        """Return the curve of rates that no attacker can exceed, as pairs of false and largest true positive rate."""
        fpr = np.concatenate([np.geomspace(1e-4, 0.05, 12), np.linspace(0.06, 1.0, 48)])
        return [[0.0, self.delta], *([float(x), float(y)] for x, y in zip(fpr, self.largest_tpr(fpr), strict=True))]


def claim_of(made: Made, delta: float, sampling_rate: float = 1.0, epsilon: float | None = None) -> PrivacyClaim:
    """Return the claim that releases imply; ``epsilon`` is the promised one, if it is not theirs."""
    if not made or any(release.noise_multiplier == 0 for release, _ in made):
        raise InputError("releases must be made with noise to be audited, got none or one without.")
    loss = _privacy_loss(_rows(made), sampling_rate)
    own = float(loss.get_epsilon_for_delta(delta))
    promised = own if epsilon is None else epsilon
    epsilons = np.linspace(0.0, _REACH * max(own, promised, 0.1), _POINTS)
    deltas = np.asarray(loss.get_delta_for_epsilon(epsilons))
    curve = tuple((float(e), float(d)) for e, d in zip(epsilons, deltas, strict=True))
    return PrivacyClaim(promised, delta, (*curve, (promised, delta)))


def second_epsilon(made: Made, delta: float, sampling_rate: float = 1.0) -> float:
    """Return the epsilon that the second accountant finds for releases; infinity where one has no noise."""
    if any(release.noise_multiplier == 0 for release, _ in made):
        return math.inf
    return float(_privacy_loss(_rows(made), sampling_rate).get_epsilon_for_delta(delta))


def _rows(made: Made) -> tuple[tuple[Mechanism, float, int], ...]:
    return tuple((release.mechanism, release.noise_multiplier, times) for release, times in made)


@lru_cache(maxsize=64)
def _privacy_loss(rows: tuple[tuple[Mechanism, float, int], ...], sampling_rate: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    rough = math.sqrt(sum(times / multiplier**2 for _, multiplier, times in rows))
    interval = min(_COARSEST, max(_FINEST, rough / 1000))
    if sampling_rate == 1 and {mechanism for mechanism, _, _ in rows} == {Mechanism.GAUSSIAN}:
        return pld.from_gaussian_mechanism(1 / rough, value_discretization_interval=interval)
    total: Any = None
    for mechanism, multiplier, times in rows:
        make = pld.from_gaussian_mechanism if mechanism is Mechanism.GAUSSIAN else pld.from_laplace_mechanism
        many = make(multiplier, value_discretization_interval=interval, sampling_prob=sampling_rate).self_compose(times)
        total = many if total is None else total.compose(many)
    return total


@dataclass(frozen=True)
class AttackVerdict:
    """What an attacker achieved, against the claim."""

    claim: PrivacyClaim
    epsilon_lower_bound: float
    """Holds whatever the mechanism is."""
    epsilon_if_gaussian: float
    """Holds if the attacker's curve is that of Gaussian noise: far sharper, since runs need not reach events of chance delta."""
    excess: float
    """Lower bound on how far the true positive rate exceeds the claimed curve; negative if it does not."""
    runs: int
    roc: list[dict[str, float]] = field(repr=False, default_factory=list)

    @property
    def refuted(self) -> bool:
        """Return whether the claim is refuted."""
        return self.epsilon_lower_bound > self.claim.epsilon or self.excess > 0

    def finding(self, about: str) -> AuditFinding:
        """Return the verdict in one line."""
        told = f"epsilon is at least {self.epsilon_lower_bound:.2f} ({self.epsilon_if_gaussian:.2f} as Gaussian noise), "
        told += f"{self.claim.epsilon:.2f} is claimed; {self.runs} runs of each kind"
        return AuditFinding("attack by likelihood", about, told, self.refuted, CHANCE)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        claimed = {"epsilon_claimed": self.claim.epsilon, "delta": self.claim.delta, "allowed": self.claim.boundary()}
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "claim"}
        return claimed | own | {"refuted": self.refuted, "failure_chance": CHANCE}


def verdict_on(claim: PrivacyClaim, scores_with: FloatArray, scores_without: FloatArray) -> AttackVerdict:
    """Return the verdict on a claim, from scores of runs with and without the unit; it is wrong with CHANCE at most.

    An attacker says "with" above a threshold. Thresholds are chosen on the first scores; on the others the attacker's true and false
    positive rates are bounded by Clopper and Pearson.
    """
    runs = min(len(scores_with), len(scores_without))
    if runs < FEWEST_RUNS:
        raise InputError(f"an audit must have at least {FEWEST_RUNS} runs of each kind, got {runs}.")
    first = runs // _CHOOSING
    sign = 1.0 if scores_with[:first].mean() >= scores_without[:first].mean() else -1.0
    choosing, trying = ((sign * scores_with[part], sign * scores_without[part]) for part in (slice(first), slice(first, runs)))
    thresholds = np.quantile(np.concatenate(choosing), _THRESHOLDS)
    low, high = _rates(*choosing, thresholds)
    chosen = [int(np.argmax(bound)) for bound in (_epsilons(low, high, claim.delta), low - claim.largest_tpr(high), _shifts(low, high))]
    low, high = _rates(*trying, thresholds[chosen])
    shift = float(_shifts(low, high)[2])
    return AttackVerdict(
        claim=claim,
        epsilon_lower_bound=float(_epsilons(low, high, claim.delta)[0]),
        epsilon_if_gaussian=gaussian_epsilon(shift, claim.delta) if shift > 0 else 0.0,
        excess=float((low - claim.largest_tpr(high))[1:].max()),
        runs=runs,
        roc=_roc(sign * scores_with, sign * scores_without),
    )


def likelihood_score(release: Release, values: FloatArray, total_with: FloatArray, total_without: FloatArray) -> float:
    """Return the log-likelihood ratio of one noisy release between two exact totals: no attacker can have a better score."""
    own, other = np.ravel(values - total_with), np.ravel(values - total_without)
    if release.mechanism is Mechanism.LAPLACE:
        return float((np.abs(other) - np.abs(own)).sum() / release.scale)
    return float((np.square(other) - np.square(own)).sum() / (2 * release.scale**2))


def sampled_score(rate: float, score: float) -> float:
    """Return the log-likelihood ratio if the unit's client takes part with chance ``rate``; ``score`` is the one if it surely does."""
    return score if rate >= 1 else float(np.logaddexp(math.log1p(-rate), math.log(rate) + score))


def _rates(positive: FloatArray, negative: FloatArray, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a lower bound on the true and an upper bound on the false positive rate at each threshold."""
    from scipy import stats

    hits = (positive[None] > thresholds[:, None]).sum(axis=1)
    alarms = (negative[None] > thresholds[:, None]).sum(axis=1)
    n, m = len(positive), len(negative)
    low = np.where(hits > 0, stats.beta.ppf(_CHANCE, np.maximum(hits, 1), n - hits + 1), 0.0)
    high = np.where(alarms < m, stats.beta.isf(_CHANCE, alarms + 1, np.maximum(m - alarms, 1)), 1.0)
    return low, high


def _epsilons(low: FloatArray, high: FloatArray, delta: float) -> FloatArray:
    """Return the epsilon that each pair of rates proves, of who accuses or of who denies; zero where it proves none."""
    accuse = np.log(np.maximum(low - delta, 1e-300) / high)
    deny = np.log(np.maximum(1 - high - delta, 1e-300) / np.maximum(1 - low, 1e-300))
    proved: FloatArray = np.maximum(np.maximum(accuse, deny), 0.0)
    return proved


def _shifts(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return by how many standard deviations Gaussian noise must be shifted at least to give each pair of rates."""
    from scipy import special

    return np.asarray(special.ndtri(np.clip(low, 1e-12, 1.0)) - special.ndtri(np.clip(high, 0.0, 1 - 1e-12)))


def _roc(positive: FloatArray, negative: FloatArray) -> list[dict[str, float]]:
    """Return the attacker's rates at some thresholds, and bounds on them."""
    thresholds = np.unique(np.quantile(np.concatenate([positive, negative]), _THRESHOLDS[::2]))
    bounds = zip(thresholds, *_rates(positive, negative, thresholds), strict=True)
    rates = [((negative > t).mean(), (positive > t).mean(), high, low) for t, low, high in bounds]
    return [dict(zip(("fpr", "tpr", "fpr_high", "tpr_low"), map(float, row), strict=True)) for row in rates]
