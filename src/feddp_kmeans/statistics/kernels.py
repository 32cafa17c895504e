"""Compiled forms of the nearest center, and of products and sums by label. Importing this starts numba.

Scores ``z c - |c|**2 / 2`` are computed in float32 first. Centers whose score is within twice the error bound of the best are candidates;
a candidate that is alone is the nearest center, and among several the float64 scores decide, which are exact. See ``nearest``.
"""

import math

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, IntArray
from feddp_kmeans.statistics.engine import any_order, as_written

CENTERS_AT_ONCE = 5
"""Centers that ``nearest_wide`` takes together: with two points that makes ten sums, which the processor's registers hold."""

GROUP = 16
"""Centers of which ``nearest_narrow`` keeps the best score alone."""

_WIDE_POINTS = 32
_NARROW_POINTS = 128
"""Points in a tile: small enough to stay in the nearest cache with the scores, large enough for long loops."""

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
def nearest_sums(
    points: Array,
    center: FloatArray,
    scale: float,
    largest: float,
    bits: int,
    resolution: float,
    targets: FloatArray,
    offsets: FloatArray,
    coarse: Array,
    halves: Array,
    error: float,
) -> FloatArray:
    """Return the sum of the encoded points nearest to each target: a sweep in which encoded points never leave the cache."""
    sums = np.zeros(targets.shape)
    step = max(1, _SWEEP_VALUES // points.shape[1])
    for start in range(0, len(points), step):
        encoded = encode(points[start : start + step], center, scale, largest, bits, resolution)
        labels = nearest_wide(encoded, targets, offsets, coarse, halves, error)
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
def nearest_wide(points: FloatArray, targets: FloatArray, offsets: FloatArray, coarse: Array, halves: Array, error: float) -> IntArray:
    """Return the nearest target of each point of many coordinates: products run along the coordinates.

    ``coarse`` and ``halves`` are the targets and half their squares in float32, with unreachable targets up to a multiple of
    CENTERS_AT_ONCE.
    """
    labels = np.zeros(len(points), dtype=np.int64)
    tile = np.zeros((_WIDE_POINTS, points.shape[1]), dtype=np.float32)
    scores = np.empty((_WIDE_POINTS, len(coarse)), dtype=np.float32)
    slacks = np.empty(_WIDE_POINTS)
    longest = math.sqrt(offsets.max())
    for start in range(0, len(points), _WIDE_POINTS):
        rows = min(_WIDE_POINTS, len(points) - start)
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


@any_order
def nearest_narrow(points: FloatArray, targets: FloatArray, offsets: FloatArray, coarse: Array, halves: Array, error: float) -> IntArray:
    """Return the nearest of many targets to each point of few coordinates: products run along the points.

    ``coarse`` and ``halves`` are those of ``nearest_wide``, with unreachable targets up to a multiple of 4 and zeros up to a number of
    coordinates that is 2 more than a multiple of 4. Only the best score of each group of targets is kept; candidates are whole groups.
    """
    labels = np.zeros(len(points), dtype=np.int64)
    tile = np.zeros((coarse.shape[1], _NARROW_POINTS), dtype=np.float32)
    scores = np.empty((4, _NARROW_POINTS), dtype=np.float32)
    groups = np.empty((-(-len(coarse) // GROUP), _NARROW_POINTS), dtype=np.float32)
    slacks, least, leaders = np.zeros(_NARROW_POINTS), np.empty(_NARROW_POINTS, dtype=np.float32), np.empty(_NARROW_POINTS, dtype=np.int32)
    longest = math.sqrt(offsets.max())
    for start in range(0, len(points), _NARROW_POINTS):
        rows = min(_NARROW_POINTS, len(points) - start)
        for i in range(rows):
            square = 0.0
            for j in range(points.shape[1]):
                tile[j, i] = points[start + i, j]
                square += points[start + i, j] * points[start + i, j]
            slacks[i] = error * longest * (math.sqrt(square) + longest / 2)
        groups[:] = -np.inf
        for r in range(0, len(coarse), 4):
            _scores_of_four(tile, coarse, halves, r, scores[0], scores[1], scores[2], scores[3])
            _keep_best(groups[r // GROUP], scores[0], scores[1], scores[2], scores[3])
        _leaders(groups, slacks, least, leaders)
        for i in range(rows):
            labels[start + i] = _decided_in_groups(points, start + i, targets, offsets, groups, i, least[i], leaders[i])
    return labels


@any_order
def _scores_of_four(tile: Array, coarse: Array, halves: Array, r: int, s0: Array, s1: Array, s2: Array, s3: Array) -> None:
    t0, t1, t2, t3 = coarse[r], coarse[r + 1], coarse[r + 2], coarse[r + 3]
    h0, h1, h2, h3 = halves[r], halves[r + 1], halves[r + 2], halves[r + 3]
    x0, x1 = tile[0], tile[1]
    a0, a1, b0, b1, c0, c1, d0, d1 = t0[0], t0[1], t1[0], t1[1], t2[0], t2[1], t3[0], t3[1]
    for i in range(_NARROW_POINTS):
        s0[i] = x0[i] * a0 + x1[i] * a1 - h0
        s1[i] = x0[i] * b0 + x1[i] * b1 - h1
        s2[i] = x0[i] * c0 + x1[i] * c1 - h2
        s3[i] = x0[i] * d0 + x1[i] * d1 - h3
    for j in range(2, len(tile), 4):
        x0, x1, x2, x3 = tile[j], tile[j + 1], tile[j + 2], tile[j + 3]
        a0, a1, a2, a3 = t0[j], t0[j + 1], t0[j + 2], t0[j + 3]
        b0, b1, b2, b3 = t1[j], t1[j + 1], t1[j + 2], t1[j + 3]
        c0, c1, c2, c3 = t2[j], t2[j + 1], t2[j + 2], t2[j + 3]
        d0, d1, d2, d3 = t3[j], t3[j + 1], t3[j + 2], t3[j + 3]
        for i in range(_NARROW_POINTS):
            s0[i] += x0[i] * a0 + x1[i] * a1 + x2[i] * a2 + x3[i] * a3
            s1[i] += x0[i] * b0 + x1[i] * b1 + x2[i] * b2 + x3[i] * b3
            s2[i] += x0[i] * c0 + x1[i] * c1 + x2[i] * c2 + x3[i] * c3
            s3[i] += x0[i] * d0 + x1[i] * d1 + x2[i] * d2 + x3[i] * d3


@any_order
def _keep_best(best: Array, s0: Array, s1: Array, s2: Array, s3: Array) -> None:
    for i in range(_NARROW_POINTS):
        best[i] = max(best[i], s0[i], s1[i], s2[i], s3[i])


@any_order
def _leaders(groups: Array, slacks: FloatArray, least: Array, leaders: Array) -> None:
    least[:] = groups[0]
    for g in range(1, len(groups)):
        for i in range(_NARROW_POINTS):
            least[i] = max(least[i], groups[g, i])
    for i in range(_NARROW_POINTS):
        least[i] = np.float32(least[i] - 2 * slacks[i])
    leaders[:] = -1
    for g in range(len(groups)):
        for i in range(_NARROW_POINTS):
            taken = np.int32(g) if leaders[i] == np.int32(-1) else np.int32(-2)
            leaders[i] = taken if groups[g, i] >= least[i] else leaders[i]


@any_order
def _decided_in_groups(
    points: FloatArray, at: int, targets: FloatArray, offsets: FloatArray, groups: Array, i: int, least: float, leader: int
) -> int:
    best, label = -np.inf, 0
    first, last = (leader, leader + 1) if leader >= 0 else (0, len(groups))
    for g in range(first, last):
        if groups[g, i] >= least:
            for r in range(g * GROUP, min(len(targets), (g + 1) * GROUP)):
                score = 2 * _product(points, at, targets, r) - offsets[r]
                if score > best:
                    best, label = score, r
    return label
