"""The nearest center of integer points, in exact arithmetic at the speed of float32.

Scores ``z c - |c|**2 / 2`` in float32 tell the nearest center wherever the best is ahead by more than rounding can do; the few other
points are scored in float64, which is exact for whole numbers. So labels are the exact ones whoever adds up, and in whatever order.

The bound: a float32 sum of d products and one more term, in any order, with or without fused operations, differs from its value by at
most ``g (|z| |c| + |c|**2 / 2)``, ``g = (d + 5) u / (1 - (d + 5) u)``, u = 2**-24 (Higham, Accuracy and Stability, section 3.1; the five
stand for the rounding of a coordinate of z, of c, of the half square, of the difference and of what it is compared with).
"""

from functools import cached_property

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, IntArray
from feddp_kmeans.privacy.engine import compiled

_SCORES = 1 << 16
"""Scores held at once without compiled kernels: 256 KiB, which stay in cache."""

_UNIT_ROUNDOFF = 2.0**-24
_TO_SPARE = 1.01
"""For the rounding of the bound itself."""

_NARROW = 16
_MANY = 48
"""Points of at most so many coordinates, with at least so many centers, are worth turning around."""

_UNREACHABLE = 3e38


class Nearest:
    """Public centers, whole numbers, prepared for many calls: each returns the nearest center's index for every point."""

    def __init__(self, targets: FloatArray) -> None:
        self._targets = np.ascontiguousarray(targets)
        self._offsets = np.square(targets).sum(axis=1)
        self._coarse = targets.astype(np.float32)
        self._halves = (self._offsets / 2).astype(np.float32)
        terms = (targets.shape[1] + 5) * _UNIT_ROUNDOFF
        self._error = _TO_SPARE * terms / (1 - terms)

    def __call__(self, points: FloatArray) -> IntArray:
        """Return ``argmin_r |z - c_r|**2`` for every point z; the first where several tie."""
        if compiled(len(points) * len(self._targets)):
            return self._compiled(np.ascontiguousarray(points, dtype=np.float64))
        labels = np.empty(len(points), dtype=np.int64)
        step = max(1, _SCORES // len(self._targets))
        for start in range(0, len(points), step):
            labels[start : start + step] = self._block(points[start : start + step])
        return labels

    def _compiled(self, points: FloatArray) -> IntArray:
        from feddp_kmeans.algorithm.statistics import kernels

        narrow = points.shape[1] <= _NARROW and len(self._targets) >= _MANY
        kernel = kernels.nearest_narrow if narrow else kernels.nearest_wide
        coarse, halves = self._padded_narrow if narrow else self._padded_wide
        return kernel(points, self._targets, self._offsets, coarse, halves, self._error)

    def _block(self, points: FloatArray) -> IntArray:
        scores = points.astype(np.float32) @ self._coarse.T
        scores -= self._halves
        labels: IntArray = scores.argmax(axis=1)
        rows = np.arange(len(points))
        best = scores[rows, labels].astype(np.float64)
        scores[rows, labels] = -np.inf
        longest = np.sqrt(self._offsets.max())
        slack = self._error * longest * (np.sqrt(np.einsum("ij,ij->i", points, points)) + longest / 2)
        unsure = scores.max(axis=1) >= best - 2 * slack
        if unsure.any():
            labels[unsure] = (points[unsure] @ (2 * self._targets.T) - self._offsets).argmax(axis=1)
        return labels

    @cached_property
    def _padded_wide(self) -> tuple[Array, Array]:
        from feddp_kmeans.algorithm.statistics.kernels import CENTERS_AT_ONCE

        return self._padded(-len(self._coarse) % CENTERS_AT_ONCE, 0)

    @cached_property
    def _padded_narrow(self) -> tuple[Array, Array]:
        width = self._coarse.shape[1]
        return self._padded(-len(self._coarse) % 4, 1 if width == 1 else (2 - width) % 4)

    def _padded(self, centers: int, coordinates: int) -> tuple[Array, Array]:
        return np.pad(self._coarse, ((0, centers), (0, coordinates))), np.pad(self._halves, (0, centers), constant_values=_UNREACHABLE)
