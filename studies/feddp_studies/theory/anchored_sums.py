"""Statistics of the appendix: of points, moved with the group of their nearest anchor and then clipped to the ball.

Where a point goes, and whether it is clear of other clusters, is decided by arithmetic that treats every point alike and by itself:
distances to anchors are added up one coordinate after the other, the rest is exact integers. So no point's place can depend on another
point, and each statistic has the sensitivity of its namesake in ``statistics.paper_sums``.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import project, sums_by
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.gate import CLUSTERS, Argument
from feddp_kmeans.statistics.paper_sums import CLUSTER_COUNTS, CLUSTER_SUMS, ONE, OUTER_PRODUCT
from feddp_kmeans.statistics.query import Statistic
from feddp_studies.theory.awasthi_sheffet import is_clear, squared_distances

_BLOCK_VALUES = 1 << 20

_ANCHORS = {"anchors": Argument(("a", "d"))}
_MOVES = _ANCHORS | {"shifts": Argument(("a", "d"))}
_MARGIN = {"margin": Argument(low=0.0, high=1.0)}
"""Server points and how far the points nearest to each are moved, in the data's units; and by what part a point must be nearer."""


def nearest(points: FloatArray, anchors: FloatArray) -> IntArray:
    """Return for each point the index of its nearest anchor, independently of other points; ties go to the first."""
    labels = np.zeros(len(points), dtype=np.int64)
    if len(anchors) == 1:
        return labels
    step = max(1, _BLOCK_VALUES // len(anchors))
    with np.errstate(over="ignore"):
        for start in range(0, len(points), step):
            block = points[start : start + step]
            distances = np.zeros((len(block), len(anchors)))
            for column in range(points.shape[1]):
                distances += np.square(block[:, column, None] - anchors[None, :, column])
            labels[start : start + step] = distances.argmin(axis=1)
    return labels


def moved(points: FloatArray, anchors: FloatArray, shifts: FloatArray) -> FloatArray:
    """Return the points, each with the shift of its nearest anchor."""
    if not shifts.any():
        return points
    with np.errstate(over="ignore"):
        there: FloatArray = points + shifts[nearest(points, anchors)]
    return there


def _anchor_counts(batch: ClientBatch, *, anchors: FloatArray) -> IntArray:
    return np.bincount(nearest(batch.dense, anchors), minlength=len(anchors)).astype(np.int64)


def _moved_statistic(name: str, plain: Statistic) -> Statistic:
    def compute(batch: ClientBatch, *, anchors: FloatArray, shifts: FloatArray, **public: Any) -> IntArray:
        return plain.compute(ClientBatch(moved(batch.dense, anchors, shifts), batch.starts), **public)

    return replace(plain, name=name, compute=compute, arguments={**plain.arguments, **_MOVES})


def _clear(
    batch: ClientBatch, center: FloatArray, radius: float, centers: FloatArray, projection: FloatArray | None, margin: float
) -> tuple[FloatArray, IntArray]:
    """Return the encoded points that are nearer to one center than to any other by the margin, and their clusters."""
    encoded = Ball(center, radius).encode(batch.dense)
    distances = squared_distances(project(encoded, projection), np.rint(centers))
    labels = distances.argmin(axis=1)
    clear = is_clear(distances, labels, margin)
    return encoded[clear], labels[clear]


def _clear_sums(batch: ClientBatch, *, centers: FloatArray, **where: Any) -> IntArray:
    encoded, labels = _clear(batch, centers=centers, **where)
    return sums_by(encoded, labels, len(centers)).astype(np.int64).ravel()


def _clear_counts(batch: ClientBatch, *, centers: FloatArray, **where: Any) -> IntArray:
    _, labels = _clear(batch, centers=centers, **where)
    return np.bincount(labels, minlength=len(centers)).astype(np.int64)


ANCHOR_COUNTS = Statistic("anchor-counts", _anchor_counts, PrivacyUnit.POINT, ONE, _ANCHORS, lambda *, a, **_: int(a))
"""How many points are nearest to each server point, in the data's own space. One point changes it by 1 in L1 norm."""

MOVED_OUTER_PRODUCT = _moved_statistic("moved-outer-product", OUTER_PRODUCT)
"""``statistics.paper_sums.OUTER_PRODUCT`` of moved points: one of them changes it by at most ``R**2`` in L2 norm."""

MOVED_COUNTS = _moved_statistic("moved-cluster-counts", CLUSTER_COUNTS)
"""``statistics.paper_sums.CLUSTER_COUNTS`` of moved points: one of them changes it by 1 in L1 norm."""

MOVED_SUMS = _moved_statistic("moved-cluster-sums", CLUSTER_SUMS)
"""``statistics.paper_sums.CLUSTER_SUMS`` of moved points: one of them changes it by at most R in L2 norm."""

CLEAR_SUMS = _moved_statistic("clear-cluster-sums", replace(CLUSTER_SUMS, compute=_clear_sums, arguments=CLUSTERS | _MARGIN))
"""Sums over S_r, the moved points clear of other clusters. A point is in one S_r or none, so it changes them by at most R in L2 norm."""

CLEAR_COUNTS = _moved_statistic("clear-cluster-counts", replace(CLUSTER_COUNTS, compute=_clear_counts, arguments=CLUSTERS | _MARGIN))
"""Sizes of the S_r: one point changes them by at most 1 in L1 norm."""
