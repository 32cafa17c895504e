"""Scales of points in a second moment as a table, so that a device finds them without a logarithm of its own. Needs no torch."""

from functools import lru_cache

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.statistics import residual_sums
from feddp_kmeans.statistics.fixed_point import RESOLUTION


@lru_cache(maxsize=8)
def scale_table(dimension: int, bound: float) -> tuple[FloatArray, FloatArray]:
    """Return the scales of points in a second moment by their squared length: from which on each holds, and the scale.

    A scale is a step function of a whole number up to R**2, which never rises. Its steps are where a logarithm passes a multiple of 1/64,
    and from one whole number to the next that changes by far more than its rounding, so each step is found by bisection.
    """
    starts, scales = [0.0, 1.0], [float(_scale(0, dimension, bound)), float(_scale(1, dimension, bound))]
    while scales[-1] > _scale(RESOLUTION**2, dimension, bound):
        low, high = int(starts[-1]), RESOLUTION**2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _scale(middle, dimension, bound) == scales[-1] else (low, middle)
        starts.append(float(high))
        scales.append(float(_scale(high, dimension, bound)))
    return np.array(starts), np.array(scales)


def _scale(square: int, dimension: int, bound: float) -> float:
    return float(residual_sums.point_scales(np.array([float(square)]), dimension, bound)[0])
