"""Bounds from noisy histograms: how long the vectors are that the units would send."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.looks import Bound, Frame, Looks, affordable_length
from feddp_kmeans.algorithm.proxies import Shape
from feddp_kmeans.algorithm.tuning import BOUNDS, DOMAIN, SERVERLESS
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.statistics.fixed_point import Ball


@dataclass(frozen=True)
class Typical:
    """The length of a typical unit's vector, and the part of all points that is left when longer ones are scaled down to it."""

    length: float
    kept: float


def geometric_edges(top: float, classes: int) -> FloatArray:
    """Return this many edges up to ``top``, half an octave apart."""
    edges: FloatArray = top * 2.0 ** (np.arange(1 - classes, 1) / 2)
    return edges


def length_edges(looks: Looks, top: float) -> FloatArray:
    """Return edges for the lengths of units' vectors, in integer steps, if a point's is at most about ``top``."""
    if looks.is_client_level:
        return geometric_edges(top * DOMAIN.largest_client, DOMAIN.client_classes)
    return geometric_edges(top, DOMAIN.point_classes)


def typical_length(
    histogram: FloatArray, noise: float, edges: FloatArray, quantile: float = 0.5, *, least_classes: int = 0, stretch: float = 1.0
) -> Typical:
    """Return the quantile of noisy classes of lengths; classes that noise alone would explain are taken as empty, all but the largest few.

    Where nothing stands out, the largest edge: then nothing is scaled down. ``stretch`` says by how much more than the quantile noise
    leaves room for; it is used as far as there are longer vectors, so that long tails weigh what they should where that is cheap.
    """
    threshold = noise * np.sqrt(2 * np.log(len(histogram)))
    if least_classes:
        threshold = min(threshold, float(np.sort(histogram)[-least_classes]))
    credible = np.where(histogram >= threshold, np.maximum(histogram, 0.0), 0.0)
    total = credible.sum()
    if total <= 0:
        return Typical(float(edges[-1]), 1.0)
    half_class = float(np.sqrt(edges[-2] / edges[-1]))
    cumulated = np.cumsum(credible)

    def length_at(part: float) -> float:
        index = min(int(np.searchsorted(cumulated, part * total)), len(edges) - 1)
        return float(edges[index]) if index == len(edges) - 1 else float(edges[index] * half_class)

    length = length_at(quantile)
    length = max(length, min(length_at(BOUNDS.tail), stretch * length))
    middles = np.append(edges, edges[-1]) * half_class
    return Typical(length, float(credible @ np.minimum(1.0, length / middles) / total))


def typical_sums(looks: Looks, ball: Ball, frame: Frame, count_weight: float, edges: FloatArray, stretch: float = 1.0) -> Typical:
    """Return the typical length of a unit's vector of residuals and counts."""
    histogram = looks.residual_lengths(ball, frame, count_weight, edges)
    return typical_length(histogram, looks.plan["bounds"].scale, edges, stretch=stretch)


def typical_moment(looks: Looks, ball: Ball, edges: FloatArray) -> Typical:
    """Return the typical length of a unit's second moment."""
    return typical_length(looks.moment_lengths(ball, edges), looks.plan["bounds"].scale, edges)


@dataclass(frozen=True)
class HistogramBounds:
    """A source of bounds: noisy histograms of lengths, in the integer coordinates of the ball."""

    looks: Looks
    ball: Ball
    shape: Shape
    typical: float
    """Typical distance of a point from the mean."""
    n_points: float
    k: int

    def of_sums(self, release: Release, frame: Frame, count_length: float) -> Bound:
        """Return the bound for residual sums around centers: the noisy median of what units would send, or more if that is cheap.

        A point's vector is its residual and one count, so the residual is measured and the weight is a part of it. A client's is not so
        simple: the weight is then a guess from the trace.
        """
        edges = length_edges(self.looks, (SERVERLESS.full_reach if frame.in_full else SERVERLESS.subspace_reach) * self.typical)
        if self.looks.is_client_level:
            weight = max(1.0, count_length * self._within(frame.origins))
            found = typical_sums(self.looks, self.ball, frame, weight, edges)
            return Bound.at(found.length, weight, found.kept, release)
        stretch = affordable_length(release, self.n_points, self.k, self.ball.dimension, release.times) if frame.in_full else 1.0
        found = typical_sums(self.looks, self.ball, frame, 1.0, edges, stretch)
        if found.length >= edges[-1]:  # nothing stood out
            found = Typical(self.typical, 1.0)
        weight = max(1.0, count_length * found.length)
        return Bound.at(float(np.hypot(found.length, weight)), weight, found.kept, release)

    def _within(self, centers: FloatArray) -> float:
        """Return a rough typical distance of a point from its center: what the spread of the centers leaves of the trace."""
        d = centers.shape[1]
        trace = self.shape.trace if d == self.ball.dimension else float(self.shape.along[:d].sum())
        between = float(np.square(centers).sum(axis=1).mean())
        return float(np.sqrt(max(trace - between, SERVERLESS.least_within * trace)))
