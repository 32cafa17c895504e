"""The length that vectors are scaled down to, of known lengths or a noisy histogram: the one whose noise and bias are least together."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.looks import Frame, Looks
from feddp_kmeans.algorithm.tuning import BOUNDS, DOMAIN
from feddp_kmeans.statistics.fixed_point import Ball

LEAST_LENGTH = 1e-300


@dataclass(frozen=True)
class _Best:
    """A length to scale down to, and the squared bias that this leaves."""

    length: float
    bias: float


Biases = Callable[[FloatArray], FloatArray]
"""Returns the squared bias of each of some bounds."""


def least_error_length(lengths: FloatArray, noise: float, biases: Biases) -> _Best:
    """Return the bound, from the median of the lengths to beyond the largest of them, that makes squared noise plus squared bias least.

    Where noise dominates this is the median, where it is tiny nothing is scaled down.
    """
    bounds = np.append(np.quantile(lengths, BOUNDS.quantiles), lengths.max() * np.array(BOUNDS.beyond))
    return _least_error(bounds, noise, biases)


def _least_error(bounds: FloatArray, noise: float, biases: Biases, lasting: float = BOUNDS.lasting) -> _Best:
    """Return the best of these bounds, ordered by length; ``noise`` is that of a bound of 1.

    There may be longer vectors than those that are known, so from one bound to the next no more than a part of the bias is believed
    to vanish.
    """
    believed = list(accumulate(biases(bounds).tolist(), lambda before, now: max(now, lasting * before)))
    best = int(np.argmin(np.square(noise * bounds) + believed))
    return _Best(float(bounds[best]), believed[best])


def guessed_bias(lengths: FloatArray, bounds: FloatArray, counts: FloatArray | None = None) -> FloatArray:
    """Return a guess of the squared bias of each bound where it cannot be computed: a part of the mean length that is cut off.

    ``counts`` is how many vectors of each length there are.
    """
    cut: FloatArray = np.average(np.maximum(lengths - bounds[:, None], 0.0), axis=1, weights=counts)
    return np.square(BOUNDS.bias * cut)


@dataclass(frozen=True)
class Typical:
    """The length of a typical unit's vector, and the part of all points that is left when longer ones are scaled down to it."""

    length: float
    kept: float
    bias: float = 0.0
    """Squared length by which this may move means."""
    square: float | None = None
    """Mean square of the lengths that noise lets see, after they are scaled down; None if none are seen."""


def geometric_edges(top: float, classes: int, finer: int = 1) -> FloatArray:
    """Return this many edges up to ``top``, half an octave apart; or ``finer`` times as many, as much closer to each other."""
    return top * 2.0 ** (np.arange(1 - classes * finer, 1) / (2 * finer))


def length_edges(looks: Looks, top: float) -> FloatArray:
    """Return edges for the lengths of units' vectors, in integer steps, if a point's is at most about ``top``."""
    if looks.is_client_level:
        return geometric_edges(top * DOMAIN.largest_client, DOMAIN.client_classes)
    return geometric_edges(top, DOMAIN.point_classes)


def typical_length(
    histogram: FloatArray,
    noise: float,
    edges: FloatArray,
    quantile: float = 0.5,
    *,
    least_classes: int = 0,
    otherwise: float | None = None,
    per_length: float | None = None,
    most: float = np.inf,
) -> Typical:
    """Return the quantile of a noisy histogram of lengths, over the run of classes that stands out from noise.

    If nothing stands out it is the length given for this case; the largest edge if there is none, since then nothing is scaled down; with
    ``least_classes`` it is the fullest class. If ``per_length`` is given, the noise that sums of vectors of length 1 would have, the length
    may be that of longer classes too: the one whose noise and bias are least together. The bias is guessed from the mean length that is cut
    off. If there are at most ``most`` points, nothing is believed where these would not stand out either.
    """
    span = standing_out(histogram, noise, most)
    if span is None and least_classes:
        span = slice(int(histogram.argmax()), int(histogram.argmax()) + 1)
    if span is None:
        return Typical(float(edges[-1]) if otherwise is None else otherwise, 1.0)
    if per_length is not None:
        span = slice(span.start, max(span.stop - explained(histogram[span][::-1], noise, BOUNDS.tail), span.start + 1))
    counts = np.zeros_like(histogram)
    counts[span] = np.maximum(histogram[span], 0.0)
    total = max(float(counts.sum()), LEAST_LENGTH)
    step = float(edges[-1] / edges[-2])
    middles = np.append(edges, edges[-1] * step) / np.sqrt(step)
    cumulated = np.cumsum(counts)
    first = min(int(np.searchsorted(cumulated, quantile * total)), len(edges) - 1)
    inside = (quantile * total - (cumulated[first - 1] if first else 0.0)) / max(float(counts[first]), LEAST_LENGTH)
    length = float(edges[first] * step ** (min(inside, 1.0) - 1))

    def kept(bound: float) -> float:
        return float(counts @ np.minimum(1.0, bound / np.maximum(middles, LEAST_LENGTH)) / total)

    if per_length is None:
        return Typical(length, kept(length))
    last = min(int(np.flatnonzero(counts)[-1]), len(edges) - 1) if counts.any() else first
    longer = np.array([length, *middles[first + 1 : last + 1], max(float(edges[last]), length)])
    lasting = BOUNDS.lasting ** (2 * math.log2(step))
    best = _least_error(longer, per_length, lambda bounds: guessed_bias(middles, bounds, counts), lasting)
    return Typical(best.length, kept(best.length), best.bias, float(counts @ np.square(np.minimum(middles, best.length)) / total))


def standing_out(histogram: FloatArray, noise: float, most: float = np.inf, level: float = BOUNDS.stands_out) -> slice | None:
    """Return the run of classes whose count exceeds its noise by most; None if none exceeds it clearly, or all points would not do so.

    Lengths lie close together, so neighbouring classes hold them all, each perhaps with fewer than its noise.
    """
    sums = np.concatenate([[0.0], np.cumsum(histogram)])
    start, stop = np.triu_indices(len(sums), 1)
    noises = level * noise * np.sqrt(stop - start)
    excess = np.where(noises < most, sums[stop] - sums[start] - noises, -1.0)
    best = int(excess.argmax())
    return slice(int(start[best]), int(stop[best])) if excess[best] > 0 else None


def explained(counts: FloatArray, noise: float, level: float) -> int:
    """Return how many of the first classes hold together no more than noise explains, up to this many standard deviations."""
    nothing = np.flatnonzero(np.cumsum(counts) <= level * noise * np.sqrt(np.arange(1, len(counts) + 1)))
    return int(nothing[-1]) + 1 if len(nothing) else 0


def typical_sums(
    looks: Looks, ball: Ball, frame: Frame, count_weight: float, edges: FloatArray, square_weight: float | None = None, **more: Any
) -> Typical:
    """Return the typical length of a unit's vector of residuals and counts; ``more`` as in ``typical_length``."""
    histogram = looks.residual_lengths(ball, frame, count_weight, edges, square_weight=square_weight)
    return typical_length(histogram, looks.made["bounds"].scale, edges, **more)
