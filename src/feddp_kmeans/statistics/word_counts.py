"""Counts of listed words within each cluster: which words set a cluster of texts apart."""

import math
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import assign
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.gate import BALL, FARTHEST, Argument
from feddp_kmeans.statistics.query import Statistic

MOST_WORDS = 1 << 20
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd; 2**64 divided by the golden ratio
_ARGUMENTS = BALL | {
    "centers": Argument(("k", "d"), row_norm=FARTHEST),
    "slots": Argument(("d",), low=0.0, high=1.0, whole=True),
    "n_words": Argument(low=1.0, high=float(MOST_WORDS), whole=True),
    "most": Argument(low=1.0, high=float(MOST_WORDS), whole=True),
}


def _words(
    batch: ClientBatch, *, center: FloatArray, radius: float, centers: FloatArray, slots: FloatArray, n_words: float, most: float
) -> IntArray:
    points, ours, words = batch.dense, slots == 0, int(n_words)
    size = len(centers) * words
    labels = np.zeros(len(points), dtype=np.int64)
    if ours.any():  # otherwise all points are as near to one center as to any other
        labels = assign(Ball(center[ours], radius).encode(points[:, ours]), centers[:, ours])
    cells = np.clip(points[:, ~ours], -1, words)
    said = ((cells >= 0) & (cells < words)).ravel()
    rows = np.repeat(np.arange(len(points)), cells.shape[1])[said]
    pairs = labels[rows] * words + cells.ravel()[said].astype(np.int64)
    owners, pairs = np.divmod(np.unique(batch.owners[rows] * size + pairs), size)
    starts = np.searchsorted(owners, owners)
    totals = np.zeros(batch.n_clients, dtype=np.int64)
    np.add.at(totals, owners, pairs)
    mixed = (pairs ^ totals[owners]).astype(np.uint64) * _MIX  # modulo 2**64: one to one, so no two pairs of an owner tie
    drawn = np.lexsort((mixed, owners))
    return np.bincount(pairs[drawn[np.arange(len(pairs)) - starts < most]], minlength=size).astype(np.int64)


def _sensitivity(*, most: float, **_: Any) -> Sensitivity:
    return Sensitivity(l1=most, l2=math.sqrt(most))


def _values(*, n_words: float, k: int, **_: Any) -> int:
    return int(k * n_words)


def _check(*, slots: FloatArray, **_: Any) -> None:
    if not slots.any():
        raise InputError("slots must be 1 for at least one coordinate, which holds words, got 0 for all.")


POINT_WORDS = Statistic("point-words", _words, PrivacyUnit.POINT, _sensitivity, _ARGUMENTS, _values, _check)
CLIENT_WORDS = Statistic("client-words", _words, PrivacyUnit.CLIENT, _sensitivity, _ARGUMENTS, _values, _check)
"""How many units have each of ``n_words`` listed words in each cluster. A slot of a point holds the number of a word, or none.

Sensitivity: a unit adds a one for each pair of a word and a cluster that it has, once, and for at most ``most`` pairs: at most so many
ones, so sqrt(most) in L2 and most in L1 norm. Clusters and words of a unit are found by arithmetic on its own rows only. Where it has
more pairs than ``most``, its own set of pairs decides which count, as a draw would and whatever the order of its rows: those whose
numbers are smallest after all were mixed with the sum of the set.

Exact: whole numbers. Pairs of a batch are numbered below 2**24 * 2**28, and a unit's distinct pairs sum to less than 2**56: both < 2**63.
"""
