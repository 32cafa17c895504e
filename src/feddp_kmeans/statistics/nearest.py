"""The nearest center of integer points, in exact arithmetic at the speed of float32.

Scores ``z c - |c|**2 / 2`` in float32 show the nearest center wherever the best is ahead by more than rounding can explain; the few other
points are scored in float64, which is exact for whole numbers. So labels are exact, whatever computes them and in whatever order.

The bound: a float32 sum of d products and one more term, in any order, with or without fused operations, differs from its value by at
most ``g (|z| |c| + |c|**2 / 2)``, ``g = (d + 5) u / (1 - (d + 5) u)``, u = 2**-24 (Higham, Accuracy and Stability, section 3.1; the five
stand for the rounding of a coordinate of z, of c, of the half square, of the difference and of what it is compared with).
"""

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.statistics import kernels
from feddp_kmeans.statistics.engine import compiled

_SCORES = 1 << 18
"""Scores held at once without compiled kernels: 1 MiB, which stays in cache."""

_UNIT_ROUNDOFF = 2.0**-24
_TO_SPARE = 1.01
"""For the rounding of the bound itself."""


def nearest(points: FloatArray, targets: FloatArray) -> IntArray:
    """Return ``argmin_r |z - c_r|**2`` for every point z, all whole numbers; the first of several that tie."""
    if compiled():
        return kernels.nearest(points, targets, score_error(targets.shape[1]))
    labels = np.empty(len(points), dtype=np.int64)
    step = max(1, _SCORES // len(targets))
    for start in range(0, len(points), step):
        labels[start : start + step] = _nearest(points[start : start + step], targets)
    return labels


def score_error(dimension: int) -> float:
    """Return g of the bound."""
    terms = (dimension + 5) * _UNIT_ROUNDOFF
    return _TO_SPARE * terms / (1 - terms)


def _nearest(points: FloatArray, targets: FloatArray) -> IntArray:
    offsets = np.square(targets).sum(axis=1)
    # One more coordinate subtracts half the square within the product.
    wider = np.concatenate([points, np.ones((len(points), 1))], axis=1, dtype=np.float32)
    with np.errstate(invalid="ignore"):  # all is finite, but a BLAS that pads odd shapes may set the flag
        scores = wider @ np.concatenate([targets, -offsets[:, None] / 2], axis=1, dtype=np.float32).T
    labels: IntArray = scores.argmax(axis=1)
    rows = np.arange(len(points))
    best = scores[rows, labels].astype(np.float64)
    scores[rows, labels] = -np.inf
    longest = np.sqrt(offsets.max())
    slack = score_error(targets.shape[1]) * longest * (np.sqrt(np.einsum("ij,ij->i", points, points)) + longest / 2)
    second = scores[rows, scores.argmax(axis=1)]  # takes two thirds of the time of a maximum
    unsure = ~(second < best - 2 * slack)  # also where a score were no number
    if unsure.any():
        labels[unsure] = (points[unsure] @ (2 * targets.T) - offsets).argmax(axis=1)
    return labels
