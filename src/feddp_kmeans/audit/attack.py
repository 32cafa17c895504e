"""Audits: what an attacker achieves in many runs on the two worst neighbours, against what is claimed that none can.

An audit can refute a guarantee, never prove one: it complements the proofs and the property tests of the sensitivities. Knows scores and
rates, and nothing of how runs are made.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.audit.claim import PrivacyClaim
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.accounting import gaussian_epsilon
from feddp_kmeans.privacy.mechanism import Mechanism, Release

FAILURE_CHANCE = 1e-4
"""Chance that an audit refutes code that is right, all its checks together."""

_THRESHOLDS = np.linspace(0.01, 0.99, 99)
_TESTS = 3
"""Thresholds that a verdict tries on fresh runs: the best for the claimed pair, for the whole curve, and for Gaussian noise."""

_CHOOSING = 4
"""One run in so many only serves to choose thresholds."""


@dataclass(frozen=True)
class AuditFinding:
    """What one check found. ``failure_chance`` is that of refuting code that is right: zero where no chance is involved."""

    check: str
    about: str
    told: str
    refuted: bool
    failure_chance: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {
            "check": self.check,
            "about": self.about,
            "told": self.told,
            "refuted": self.refuted,
            "failure_chance": self.failure_chance,
        }


@dataclass(frozen=True)
class RocPoint:
    """An attacker's rates at one threshold, and bounds on them."""

    fpr: float
    tpr: float
    fpr_high: float
    tpr_low: float


@dataclass(frozen=True)
class AttackVerdict:
    """What an attacker achieved, against the claim."""

    claim: PrivacyClaim
    epsilon_lower_bound: float
    """Holds whatever the mechanism is."""
    epsilon_if_gaussian: float
    """Holds if the attacker's curve is that of Gaussian noise: far sharper, since runs need not reach events of chance delta."""
    excess: float
    """By how much the true positive rate is sure to be above all that the claimed curve allows; negative where it is not."""
    runs: int
    score: str
    failure_chance: float
    roc: tuple[RocPoint, ...] = field(repr=False, default=())

    @property
    def refuted(self) -> bool:
        """Return whether the claim is refuted."""
        return self.epsilon_lower_bound > self.claim.epsilon or self.excess > 0

    def finding(self, about: str) -> AuditFinding:
        """Return the verdict in one line."""
        told = (
            f"epsilon is at least {max(self.epsilon_lower_bound, 0.0):.2f} ({self.epsilon_if_gaussian:.2f} as Gaussian noise), "
            f"claimed {self.claim.epsilon:.3g}; {self.runs} runs"
        )
        if self.excess > 0:
            told += f"; the attacker hits {100 * self.excess:.1f} % more often than the claimed curve allows"
        return AuditFinding(f"attack by {self.score}", about, told, self.refuted, self.failure_chance)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "epsilon_claimed": self.claim.epsilon,
            "delta": self.claim.delta,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "epsilon_if_gaussian": self.epsilon_if_gaussian,
            "excess": self.excess,
            "refuted": self.refuted,
            "runs": self.runs,
            "score": self.score,
            "failure_chance": self.failure_chance,
            "allowed": self.claim.boundary(),
            "roc": [{"fpr": p.fpr, "tpr": p.tpr, "fpr_high": p.fpr_high, "tpr_low": p.tpr_low} for p in self.roc],
        }


def verdict_on(
    claim: PrivacyClaim,
    scores_with: FloatArray,
    scores_without: FloatArray,
    *,
    score: str = "score",
    failure_chance: float = FAILURE_CHANCE,
) -> AttackVerdict:
    """Return the verdict on a claim, from scores of runs with and without the unit; it is wrong with ``failure_chance`` at most.

    An attacker says "with" above a threshold. Thresholds are chosen on the first scores; on the others the attacker's true and false
    positive rates are bounded by Clopper and Pearson.
    """
    runs = min(len(scores_with), len(scores_without))
    if runs < 20:
        raise InputError(f"an audit must have at least 20 runs of each kind, got {runs}.")
    first = runs // _CHOOSING
    sign = 1.0 if scores_with[:first].mean() >= scores_without[:first].mean() else -1.0
    chance = failure_chance / (2 * _TESTS)
    choosing, trying = ((sign * scores_with[part], sign * scores_without[part]) for part in (slice(first), slice(first, runs)))
    thresholds = np.quantile(np.concatenate(choosing), _THRESHOLDS)
    low, high = _rates(*choosing, thresholds, chance)
    chosen = [int(np.argmax(bound)) for bound in (_epsilons(low, high, claim.delta), low - claim.largest_tpr(high), _shifts(low, high))]
    low, high = _rates(*trying, thresholds[chosen], chance)
    shift = float(_shifts(low, high)[2])
    return AttackVerdict(
        claim=claim,
        epsilon_lower_bound=float(_epsilons(low, high, claim.delta)[0]),
        epsilon_if_gaussian=gaussian_epsilon(shift, claim.delta) if shift > 0 else 0.0,
        excess=float((low - claim.largest_tpr(high))[1:].max()),
        runs=runs,
        score=score,
        failure_chance=failure_chance,
        roc=_roc(sign * scores_with, sign * scores_without, chance),
    )


def likelihood_score(release: Release, values: FloatArray, total_with: FloatArray, total_without: FloatArray) -> float:
    """Return the log-likelihood ratio of one noisy release between two exact totals: no attacker can have a better score."""
    own, other = np.ravel(values - total_with), np.ravel(values - total_without)
    if release.mechanism is Mechanism.LAPLACE:
        return float((np.abs(other) - np.abs(own)).sum() / release.scale)
    return float((np.square(other) - np.square(own)).sum() / (2 * release.scale**2))


def sampled_score(rate: float, inside_with: float, inside_without: float) -> float:
    """Return the log-likelihood ratio where the unit's client takes part with chance ``rate``; both scores are against its absence."""
    if rate >= 1:
        return inside_with - inside_without
    absent = math.log1p(-rate)
    both = [float(np.logaddexp(absent, math.log(rate) + inside)) for inside in (inside_with, inside_without)]
    return both[0] - both[1]


def _rates(positive: FloatArray, negative: FloatArray, thresholds: FloatArray, chance: float) -> tuple[FloatArray, FloatArray]:
    """Return a lower bound on the true and an upper bound on the false positive rate at each threshold."""
    from scipy import stats

    hits = (positive[None] > thresholds[:, None]).sum(axis=1)
    alarms = (negative[None] > thresholds[:, None]).sum(axis=1)
    n, m = len(positive), len(negative)
    low = np.where(hits > 0, stats.beta.ppf(chance, np.maximum(hits, 1), n - hits + 1), 0.0)
    high = np.where(alarms < m, stats.beta.isf(chance, alarms + 1, np.maximum(m - alarms, 1)), 1.0)
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


def _roc(positive: FloatArray, negative: FloatArray, chance: float) -> tuple[RocPoint, ...]:
    thresholds = np.unique(np.quantile(np.concatenate([positive, negative]), _THRESHOLDS[::2]))
    low, high = _rates(positive, negative, thresholds, chance)
    return tuple(
        RocPoint(float((negative > t).mean()), float((positive > t).mean()), float(h), float(lo))
        for t, lo, h in zip(thresholds, low, high, strict=True)
    )
