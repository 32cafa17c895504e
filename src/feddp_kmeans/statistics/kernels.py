"""Compiled forms of encoding, of the nearest center, and of products and sums by label. Importing this starts numba.

Scores ``z c - |c|**2 / 2`` are computed in float32 first. Centers whose score is within twice the error bound of the best are candidates;
a single candidate is the nearest center, and among several the float64 scores decide, which are exact. See ``nearest.py``.
"""

import math
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, IntArray
from feddp_kmeans.statistics.engine import any_order, as_written

CENTERS_AT_ONCE = 5
"""Centers that ``nearest`` multiplies together: with two points that makes ten sums, which fit the processor's registers."""

_TILE_POINTS = 32
"""Points in a tile: few enough to stay in the fastest cache with their scores, enough for long loops."""

_SWEEP_VALUES = 1 << 15
"""Numbers of the encoded points that ``nearest_sums`` holds at once: 256 KiB."""


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
def encode(points: Array, center: FloatArray, scale: float, largest: float, bits: int, resolution: float) -> FloatArray:
    """Return what ``Ball.encode`` does, to the last bit."""
    encoded = np.empty(points.shape)
    for i in range(len(points)):
        square = 0.0
        for j in range(points.shape[1]):
            value = np.rint((np.float64(points[i, j]) - center[j]) * scale)
            encoded[i, j] = value
            square = _add_square(square, value)
        if square > resolution * resolution:
            _shorten(points[i], center, largest, bits, resolution, encoded[i])
    return encoded


@any_order
def weighted_sums(encoded: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the weighted sum of the rows with each label."""
    sums = np.zeros((k, encoded.shape[1]))
    for i in range(len(encoded)):
        _add(sums, labels[i], encoded, i, weights[i])
    return sums


@any_order
def _add(sums: FloatArray, label: int, encoded: FloatArray, i: int, weight: float) -> None:
    for j in range(encoded.shape[1]):
        sums[label, j] += weight * encoded[i, j]


@any_order
def nearest_sums(points: Array, ball: tuple[Any, ...], targets: tuple[Any, ...]) -> FloatArray:
    """Return the sum of the encoded points nearest to each target, in one sweep in which encoded points never leave the cache."""
    sums = np.zeros(targets[0].shape)
    step = max(1, _SWEEP_VALUES // points.shape[1])
    for start in range(0, len(points), step):
        encoded = encode(points[start : start + step], *ball)
        labels = nearest(encoded, *targets)
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
def _product(rows: FloatArray, i: int, others: FloatArray, r: int) -> float:
    product = 0.0
    for j in range(rows.shape[1]):
        product += rows[i, j] * others[r, j]
    return product


@any_order
def nearest(points: FloatArray, targets: FloatArray, offsets: FloatArray, coarse: Array, halves: Array, error: float) -> IntArray:
    """Return the nearest target of each point.

    ``coarse`` and ``halves`` are the targets and half their squares in float32, with unreachable targets up to a multiple of
    CENTERS_AT_ONCE.
    """
    labels = np.zeros(len(points), dtype=np.int64)
    tile = np.zeros((_TILE_POINTS, points.shape[1]), dtype=np.float32)
    scores = np.empty((_TILE_POINTS, len(coarse)), dtype=np.float32)
    slacks = np.empty(_TILE_POINTS)
    longest = math.sqrt(offsets.max())
    for start in range(0, len(points), _TILE_POINTS):
        rows = min(_TILE_POINTS, len(points) - start)
        for i in range(rows):
            slacks[i] = error * longest * (math.sqrt(_copied(points[start + i], tile[i])) + longest / 2)
        _products(tile, coarse, scores, rows)
        for i in range(rows):
            label, least = _leader(scores, i, halves, len(targets), slacks[i])
            labels[start + i] = label if label >= 0 else _decided(points, start + i, targets, offsets, scores, i, least)
    return labels


@any_order
def _copied(row: FloatArray, copy: Array) -> float:
    square = 0.0
    for j in range(len(row)):
        copy[j] = row[j]
        square += row[j] * row[j]
    return square


@any_order
def _products(tile: Array, coarse: Array, scores: Array, rows: int) -> None:
    for r in range(0, len(coarse), 5):
        t0, t1, t2, t3, t4 = coarse[r], coarse[r + 1], coarse[r + 2], coarse[r + 3], coarse[r + 4]
        for i in range(0, rows, 2):
            p, q = tile[i], tile[i + 1]
            p0 = p1 = p2 = p3 = p4 = q0 = q1 = q2 = q3 = q4 = np.float32(0)
            for j in range(tile.shape[1]):
                p0 += p[j] * t0[j]
                p1 += p[j] * t1[j]
                p2 += p[j] * t2[j]
                p3 += p[j] * t3[j]
                p4 += p[j] * t4[j]
                q0 += q[j] * t0[j]
                q1 += q[j] * t1[j]
                q2 += q[j] * t2[j]
                q3 += q[j] * t3[j]
                q4 += q[j] * t4[j]
            scores[i, r], scores[i, r + 1], scores[i, r + 2], scores[i, r + 3], scores[i, r + 4] = p0, p1, p2, p3, p4
            scores[i + 1, r], scores[i + 1, r + 1], scores[i + 1, r + 2], scores[i + 1, r + 3], scores[i + 1, r + 4] = q0, q1, q2, q3, q4


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
def _decided(points: FloatArray, at: int, targets: FloatArray, offsets: FloatArray, scores: Array, i: int, least: float) -> int:
    best, label = -np.inf, 0
    for r in range(len(targets)):
        if scores[i, r] >= least:
            score = 2 * _product(points, at, targets, r) - offsets[r]
            if score > best:
                best, label = score, r
    return label
