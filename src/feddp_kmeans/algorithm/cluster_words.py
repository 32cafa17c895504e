"""Which listed words set a cluster apart: noisy counts of words in clusters, from one release, and what follows from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.cluster_profile import placed_centers
from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.ledger import PrivacyReport
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.word_counts import CLIENT_WORDS, POINT_WORDS

WORDS_RELEASE = "words"
_SURE = 3.0
"""A word is shown if its count is this many standard deviations of the noise."""
_CREDIBLE = 2.0
"""And if it is more frequent than in all by this many standard deviations."""
_NAMED = 3
"""Words in the name of a cluster."""


@dataclass(frozen=True)
class FoundWord:
    """A word that sets a cluster apart."""

    word: str
    count: float
    """Noisy number of units that have it in the cluster."""
    error: float
    """Standard deviation of the noise in the count."""
    lift: float
    """How many times as frequent it is among the cluster's words as among those of all clusters."""
    lift_error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the word as plain data."""
        return {name: getattr(self, name) for name in ("word", "count", "error", "lift", "lift_error")}


@dataclass(frozen=True)
class ClusterWords:
    """The words of each cluster, those that set it most apart first; none where noise hides all of them."""

    words: tuple[tuple[FoundWord, ...], ...]
    plan: Plan = field(repr=False)
    privacy: PrivacyReport = field(repr=False)

    @property
    def names(self) -> list[str]:
        """Return a name for each cluster, made of its first words."""
        return [", ".join(found.word for found in cluster[:_NAMED]) or "(no word stands out)" for cluster in self.words]

    def to_dict(self) -> dict[str, Any]:
        """Return the words as plain data."""
        both = zip(self.names, self.words, strict=True)
        made: dict[str, Any] = {"clusters": [{"name": name, "words": [word.to_dict() for word in words]} for name, words in both]}
        made |= {"guarantee": self.privacy.sentence(), "ledger": list(self.privacy.ledger)}
        return made | {"plan": self.plan.to_dict()}


def words_plan(unit: PrivacyUnit, epsilon: float, delta: float, *, n_clients: int, k: int, n_words: int, most: int) -> Plan:
    """Return the plan of one release: all words in all clusters. A unit counts with at most ``most`` of its words."""
    request = Release(WORDS_RELEASE, Mechanism.GAUSSIAN, math.sqrt(most), math.sqrt(most), 1.0, k * n_words)
    facts = {"n_clients": n_clients, "n_clusters": k, "n_words": n_words, "most_words": most}
    return calibrated_plan(unit, epsilon, delta, [request], facts=facts)


def words_of(
    run: Run, centers: FloatArray, units: ColumnUnits | None, listed: Sequence[str], slots: int, *, most: int, shown: int = 10
) -> ClusterWords:
    """Return the words of clusters. Clients' points have the coordinates of the centers, then ``slots`` that hold numbers of words."""
    ball, placed = placed_centers(run, centers, units, slots)
    marks = np.array([0.0] * centers.shape[1] + [1.0] * slots)
    public: dict[str, Any] = {"center": ball.center, "radius": ball.radius, "centers": placed, "slots": marks}
    statistic = CLIENT_WORDS if run.plan.unit is PrivacyUnit.CLIENT else POINT_WORDS
    values = run.noisy_sum(statistic, run.plan[WORDS_RELEASE], **public, n_words=float(len(listed)), most=float(most))
    counts = values.reshape(len(centers), len(listed))
    return ClusterWords(standing_out(counts, run.made[WORDS_RELEASE].stddev, listed, shown), run.plan, run.report())


def standing_out(counts: FloatArray, noise: float, listed: Sequence[str], shown: int) -> tuple[tuple[FoundWord, ...], ...]:
    """Return the words that set each cluster apart, most first, from noisy counts of words in clusters.

    A word's place is its share of the cluster's words times the logarithm of its lift, both from a count that is lowered by its noise: the
    word's part in how the cluster differs from all (relative entropy).
    """
    totals = np.maximum(counts.sum(axis=1), 1.0)
    overall = np.maximum(counts.sum(axis=0), noise) / totals.sum()
    overall_error = noise * math.sqrt(len(counts)) / totals.sum()
    lowered = np.maximum(counts - noise, 0.0) / totals[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(lowered > 0, lowered * np.log(lowered / overall), 0.0)
    made = []
    for row, total, score in zip(counts, totals, scores, strict=True):
        best = [place for place in np.argsort(-score, kind="stable") if score[place] > 0 and row[place] > _SURE * noise]
        lifts = {place: row[place] / total / overall[place] for place in best}
        errors = {place: lifts[place] * math.hypot(noise / row[place], overall_error / overall[place]) for place in best}
        found = [
            FoundWord(listed[place], float(row[place]), noise, float(lifts[place]), float(errors[place]))
            for place in best
            if lifts[place] - _CREDIBLE * errors[place] > 1
        ]
        made.append(tuple(found[:shown]))
    return tuple(made)
