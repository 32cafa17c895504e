"""The compiled form of ``Ball.encode``: one pass over the points, no copy of them. Importing this starts numba."""

import math

import numpy as np

from feddp_kmeans._typing import Array, FloatArray
from feddp_kmeans.statistics.engine import any_order, as_written


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
