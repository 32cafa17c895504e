"""Histograms and sums of columns within each cluster: what the clusters of a finished run are about."""

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
from feddp_kmeans.statistics.norms import SHARE_STEPS
from feddp_kmeans.statistics.query import Statistic

VALUE, CLUSTERED = -1.0, 0.0
"""What a coordinate is: a value from -1 to 1, or one that points are assigned by. Any other is a class, and the number says of how many."""

MOST_CLASSES = 1 << 16

_ARGUMENTS = BALL | {
    "centers": Argument(("k", "d"), row_norm=FARTHEST),
    "kinds": Argument(("d",), low=VALUE, high=float(MOST_CLASSES), whole=True),
}
_BOUND = {"bound": Argument(low=1.0, high=2.0**24, whole=True)}


def _profile(
    batch: ClientBatch, *, center: FloatArray, radius: float, centers: FloatArray, kinds: FloatArray, bound: float = 1.0
) -> IntArray:
    points, ours = batch.dense, kinds == CLUSTERED
    labels = np.zeros(len(points), dtype=np.int64)
    if ours.any():  # otherwise all points are as near to one center as to any other
        labels = assign(Ball(center[ours], radius).encode(points[:, ours]), centers[:, ours])
    most = int(bound) * SHARE_STEPS
    weights = np.minimum(most // np.maximum(batch.sizes, 1), SHARE_STEPS)[batch.owners].astype(np.float64)
    blocks = [_sums(points[:, j], int(kinds[j]), labels, weights, len(centers)) for j in np.flatnonzero(~ours)]
    return np.concatenate(blocks, axis=1).ravel()


def _sums(cells: FloatArray, kind: int, labels: IntArray, weights: FloatArray, k: int) -> IntArray:
    """Return for each cluster the weights of each class; of a value, the sum of its products with the weights."""
    if kind == VALUE:
        products = np.trunc(np.clip(cells, -1.0, 1.0) * weights)
        return np.bincount(labels, products, minlength=k).astype(np.int64)[:, None]
    classes = np.clip(cells, 0, kind - 1).astype(np.int64)
    return np.bincount(labels * kind + classes, weights, minlength=k * kind).astype(np.int64).reshape(k, kind)


def _sensitivity(*, kinds: FloatArray, bound: float = 1.0, **_: Any) -> Sensitivity:
    columns, most = int(np.count_nonzero(kinds != CLUSTERED)), bound * SHARE_STEPS
    return Sensitivity(l1=columns * most, l2=math.sqrt(columns) * most)


def _values(*, kinds: FloatArray, k: int, **_: Any) -> int:
    return int(k * np.abs(kinds).sum())


def _check(*, kinds: FloatArray, **_: Any) -> None:
    if (kinds == CLUSTERED).all():
        raise InputError("kinds must be other than 0 for at least one coordinate, which is that of a profile, got 0 for all.")


POINT_PROFILE = Statistic("point-profile", _profile, PrivacyUnit.POINT, _sensitivity, _ARGUMENTS, _values, _check)
CLIENT_PROFILE = Statistic("client-profile", _profile, PrivacyUnit.CLIENT, _sensitivity, _ARGUMENTS | _BOUND, _values, _check)
"""For each cluster a histogram of each class coordinate, and the sum of each value coordinate, over the points nearest to its center.

Sensitivity: a client of n points gives each a weight of at most ``bound`` SHARE_STEPS / n, rounded down, and at most SHARE_STEPS; a point
has the weight SHARE_STEPS. So the weights of a unit add up to at most ``bound`` SHARE_STEPS (1 SHARE_STEPS for a point). Of a class
coordinate each point adds its weight to one number, so a unit adds non-negative numbers with that sum; of a value coordinate it adds at
most its weight in size. In each of s coordinates that is a norm, in L1 and so in L2, of at most ``bound`` SHARE_STEPS: sqrt(s) times that
in all, and s times that in L1. Cluster, class and value of a point are found by arithmetic on that point only.

Exact: whole numbers. A weight is at most 2**24 and a batch has at most 2**24 points of several clients, so its sums are below 2**48; those
of one client add up to at most ``bound`` SHARE_STEPS <= 2**48.
"""
