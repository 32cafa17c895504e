"""How far a released center may be from the mean of the points that it attracts: noise, and all that noise does not explain."""

from collections.abc import Iterator

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.closing import Closing
from feddp_kmeans.algorithm.tuning import ERROR_BARS

_SMALLEST = 1e-300


def blocks(dimension: int, first: int) -> Iterator[slice]:
    """Return blocks of coordinates: ``first`` of them, then ever more. In a basis sorted by variance the first ones hold the signal."""
    low, width = 0, first
    while low < dimension:
        high = dimension if dimension - low < 2 * width else low + width
        yield slice(low, high)
        low, width = high, int(1.5 * width) + 1


def error_at_origins(means: FloatArray, noise: FloatArray, known: FloatArray, first: int) -> FloatArray:
    """Return the variance of error that the origins of a look had, in each coordinate: an innovation check, as of adaptive filters.

    Noisy mean residuals are as long as noise and the error of their origins make them. Over a block of coordinates, what is beyond
    the noise estimates the error: over all clusters together, plus the standard error of this, except clusters that stand out by
    that of their own estimate. It is never below ``known``.
    """
    found = known.copy()
    for block in blocks(means.shape[1], first):
        size = block.stop - block.start
        own = np.square(means[:, block]).mean(axis=1) - noise
        weights = np.square(noise.min() / np.maximum(noise, _SMALLEST)) + _SMALLEST
        shares = weights / weights.sum()
        pooled = max(0.0, float(own @ shares)) + np.sqrt(2 / size) * float(np.linalg.norm(shares * noise))
        stands_out = own > pooled + (noise + pooled) * np.sqrt(2 / size)
        found[:, block] = np.maximum(found[:, block], np.where(stands_out, own, pooled)[:, None])
    return found


def center_variances(
    means: FloatArray, noise: FloatArray, left: FloatArray, known: FloatArray, basis: FloatArray, *, first: int, bias: float = 0.0
) -> FloatArray:
    """Return the variance of each released center around the mean of the points that it attracts, for each original coordinate (k, d).

    ``means`` are the last look's noisy mean residuals in the basis (its columns), with noise of variance ``noise`` per cluster; ``left`` is
    the variance that the filter left, so ``left / noise`` is the part g of a residual by which a center was moved; ``known`` is
    the variance of error that its origin was known to have; ``bias`` the squared length by which bounds may move means.

    A move by g times the residual leaves 1 - g of the error e of the origin. It also changes which points are attracted: the mean follows
    by a part r of the move (the rate of Lloyd's algorithm), so ``1 - g (1 - r)`` of e is left, and g of the noise is added. What is
    left of e lies along the residual, as far as that is seen.
    """
    gains = np.where(noise[:, None] > 0, left / np.maximum(noise, _SMALLEST)[:, None], 1.0)
    lasting = np.square(1 - gains * (1 - ERROR_BARS.following)) * error_at_origins(means, noise, known, first)
    turned = np.square(basis).T
    seen = np.maximum(np.square(means @ basis.T) - noise[:, None], 0.0)
    totals = seen.sum(axis=1, keepdims=True)
    along = lasting.sum(axis=1, keepdims=True) * np.where(totals > 0, seen / np.maximum(totals, _SMALLEST), 1 / means.shape[1])
    variances: FloatArray = (np.square(gains) * noise[:, None]) @ turned + (lasting @ turned + along) / 2 + bias / means.shape[1]
    return variances


def cut_stddev(closing: Closing, dimension: int, length: float, square: float) -> FloatArray:
    """Return how far, in each coordinate, centers may be off since vectors longer than this were scaled down, as far as noise hid these.

    ``square`` is the mean square of what was seen of all vectors, scaled down. Squared distances at the end that this does not explain
    are of longer ones. A vector of length l lost ``l - length``, at most l squared over 4 times the length. Any cluster may hold an equal
    share of all that was lost, so that the mean of a small one is off by more.
    """
    k, n = len(closing.counts), max(float(closing.counts.sum()), 1.0)
    lost = max(closing.inertia - n * square, 0.0) / (4 * max(length, _SMALLEST))
    sizes = np.maximum(closing.counts, max(ERROR_BARS.least_size * closing.count_stddev, 1.0))  # nothing is known of smaller ones
    found: FloatArray = lost / (k * sizes * np.sqrt(dimension))
    return found
