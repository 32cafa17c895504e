"""Compiled forms of encoding, of the nearest center, and of products and sums by label. Importing this starts numba.

Scores ``z c - |c|**2 / 2`` are computed in float32 first. Centers whose score is within twice the error bound of the best are candidates;
a single candidate is the nearest center, and among several the float64 scores decide, which are exact. See ``nearest.py``.
"""

import math
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, IntArray
from feddp_kmeans.statistics.engine import any_order, as_written

_SWEEP_VALUES = 1 << 15
"""Numbers of points, or scores of points, that are held at once: up to 256 KiB."""


@any_order
def _add_square(total: float, value: float) -> float:
    return total + value * value


@as_written
def _shorten(row: Array, center: FloatArray, largest: float, bits: int, resolution: float, encoded: FloatArray) -> None:
    longest = 0.0
    for j in range(len(row)):
        encoded[j] = min(max(np.float64(row[j]) - center[j], -largest), largest)
        longest = max(longest, abs(encoded[j]))
    step = math.ldexp(1.0, bits - math.frexp(longest)[1])
    square = 0.0
    for j in range(len(row)):
        encoded[j] = np.rint(encoded[j] * step)
        square = _add_square(square, encoded[j])
    factor = resolution / math.sqrt(square)
    rounded_square = 0.0
    for j in range(len(row)):
        rounded_square = _add_square(rounded_square, np.rint(encoded[j] * factor))
    beyond = rounded_square > resolution * resolution
    for j in range(len(row)):
        shortened = encoded[j] * factor
        encoded[j] = np.trunc(shortened) if beyond else np.rint(shortened)


@as_written
def encode(points: Array, center: FloatArray, scale: float, largest: float, bits: int, resolution: float, encoded: Array) -> None:
    """Write what ``Ball.encode`` returns, to the last bit; whole numbers up to 2**16 also fit float32."""
    shortened = np.empty(points.shape[1])
    for i in range(len(points)):
        square = 0.0
        for j in range(points.shape[1]):
            value = np.rint((np.float64(points[i, j]) - center[j]) * scale)
            encoded[i, j] = value
            square = _add_square(square, value)
        if square > resolution * resolution:
            _shorten(points[i], center, largest, bits, resolution, shortened)
            for j in range(points.shape[1]):
                encoded[i, j] = shortened[j]


@any_order
def weighted_sums(encoded: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the weighted sum of the rows with each label."""
    sums = np.zeros((k, encoded.shape[1]))
    for i in range(len(encoded)):
        _add(sums, labels[i], encoded, i, weights[i])
    return sums


@any_order
def _add(sums: FloatArray, label: int, encoded: Array, i: int, weight: float) -> None:
    for j in range(encoded.shape[1]):
        sums[label, j] += weight * encoded[i, j]


@any_order
def nearest_sums(points: Array, ball: tuple[Any, ...], ranked: tuple[Any, ...]) -> FloatArray:
    """Return the sum of the encoded points nearest to each target, in one sweep in which encoded points never leave the cache."""
    sums = np.zeros(ranked[0].shape)
    step = max(1, _SWEEP_VALUES // max(sums.shape))
    tile, labels = np.empty((step, points.shape[1]), dtype=np.float32), np.empty(step, dtype=np.int64)
    center, scale, largest, bits, resolution = ball
    for start in range(0, len(points), step):
        encoded = tile[: min(step, len(points) - start)]
        encode(points[start : start + step], center, scale, largest, bits, resolution, encoded)
        _label(encoded, encoded, resolution, ranked, labels)
        for i in range(len(encoded)):
            _add(sums, labels[i], encoded, i, 1.0)
    return sums


@any_order
def products_with(encoded: FloatArray, vectors: FloatArray, labels: IntArray) -> FloatArray:
    """Return the product of each row with the vector of its label."""
    products = np.empty(len(encoded))
    for i in range(len(encoded)):
        products[i] = _product(encoded, i, vectors, labels[i])
    return products


@any_order
def _product(rows: Array, i: int, others: FloatArray, r: int) -> float:
    product = 0.0
    for j in range(rows.shape[1]):
        product += rows[i, j] * others[r, j]
    return product


@any_order
def nearest(points: FloatArray, ranked: tuple[Any, ...]) -> IntArray:
    """Return the nearest target of each point."""
    labels = np.empty(len(points), dtype=np.int64)
    step = max(1, _SWEEP_VALUES // max(ranked[0].shape))
    for start in range(0, len(points), step):
        some = points[start : start + step]
        _label(some, some.astype(np.float32), math.sqrt(_largest_square(some)), ranked, labels[start : start + step])
    return labels


@any_order
def _largest_square(points: FloatArray) -> float:
    largest = 0.0
    for i in range(len(points)):
        largest = max(largest, _product(points, i, points, i))
    return largest


@any_order
def _label(points: Array, coarse_points: Array, longest_point: float, ranked: tuple[Any, ...], labels: IntArray) -> None:
    """Write the nearest target of each point. ``coarse`` and ``halves`` are the targets and half their squares in float32."""
    targets, offsets, coarse, halves, error = ranked
    scores = np.dot(coarse_points, coarse)
    longest = math.sqrt(offsets.max())
    slack = error * longest * (longest_point + longest / 2)
    for i in range(len(points)):
        label, least = _leader(scores, i, halves, len(targets), slack)
        labels[i] = label if label >= 0 else _decided(points, i, targets, offsets, scores, least)


@any_order
def _leader(scores: Array, i: int, halves: Array, k: int, slack: float) -> tuple[int, float]:
    best, second, label = np.float32(-np.inf), np.float32(-np.inf), 0
    for r in range(k):
        score = scores[i, r] - halves[r]
        scores[i, r] = score
        label = r if score > best else label
        second = max(second, min(best, score))
        best = max(best, score)
    least = np.float32(best - 2 * slack)
    return label if second < least else -1, float(least)


@any_order
def _decided(points: Array, i: int, targets: FloatArray, offsets: FloatArray, scores: Array, least: float) -> int:
    best, label = -np.inf, 0
    for r in range(len(targets)):
        if scores[i, r] >= least:
            score = 2 * _product(points, i, targets, r) - offsets[r]
            if score > best:
                best, label = score, r
    return label
