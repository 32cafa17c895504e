"""How long the vector of one unit may be: from units simulated with server points, or from noisy histograms of lengths."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.looks import Bound, Frame, Looks, noise_per_length
from feddp_kmeans.algorithm.proxies import Shape
from feddp_kmeans.algorithm.tuning import BOUNDS, DOMAIN, REFINED, SERVERLESS
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import assign, joint_sums, project
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.residual_sums import second_moment_norms

_LEAST_LENGTH = 1e-300


@dataclass(frozen=True)
class _Best:
    """A length to scale down to, and the squared bias that this leaves."""

    length: float
    bias: float


@dataclass(frozen=True)
class SimulatedBounds:
    """A source of bounds: units of ``size`` server points each, drawn by their weights."""

    points: FloatArray
    """Server points in integer coordinates."""
    weights: FloatArray
    unit: PrivacyUnit
    size: int
    rng: np.random.Generator
    """Draws the units, for one bound after the other."""
    n_points: float = 0.0
    """Noisy number of all client points; 0 before it is known."""

    def moment_length(self) -> float:
        """Return the median length of a unit's second moment."""
        chosen, batch = self._units()
        return float(np.median(second_moment_norms(self.points[chosen], batch)[0]))

    def of_sums(
        self,
        release: Release,
        frame: Frame,
        lengths: tuple[float, float],
        *,
        times: int,
        before: float = 0.0,  # noqa: ARG002 what server points show needs no memory
        spread: FloatArray | float = 1.0,
    ) -> Bound:
        """Return the bound for residual sums: the median of what units would send, or more if that is cheap (see ``Bounds``).

        ``spread`` multiplies the residuals of server points.
        """
        members = assign(self.points, frame.centers, frame.projection)
        rows = (project(self.points, frame.residual_projection) - np.rint(frame.origins)[members]) * spread
        chosen, batch = self._units()
        with_squares = np.column_stack([rows, np.square(rows).sum(axis=1)])[chosen]
        units, _, sums = joint_sums(batch, with_squares, members[chosen], len(frame.centers), 1.0)
        parts = [
            np.bincount(units, column, minlength=batch.n_clients)
            for column in (np.square(sums[:, :-2]).sum(axis=1), *np.square(sums[:, -2:]).T)
        ]
        squares = np.square(rows).sum(axis=1)

        def best(whole: FloatArray, own: FloatArray) -> tuple[float, float]:
            """Return the best length for units whose vectors are so long, and points as long as these; and its bias."""
            if self.unit is PrivacyUnit.CLIENT or release.scale == 0:
                return float(np.median(whole)), 0.0
            shape = frame.origins.shape
            noise = noise_per_length(release, self.n_points, shape[0], shape[1], release.times if frame.in_full else times)

            def bias_of(bound: float) -> float:
                """Cells hold too few server points to show a bias: theirs is guessed."""
                return clipping_bias(rows, self.weights, members, own, bound) if frame.in_full else guessed_bias(whole, bound)

            part = BOUNDS.believed if frame.in_full else 1.0
            length = least_error_length(np.maximum(whole, 1.0), noise, lambda bound: part * bias_of(bound)).length
            return length, bias_of(length)

        # Units on their centers, but for rounding, say nothing of the others, next to which their counts would be lost in noise.
        apart = parts[0] > rows.shape[1] * self.size**2
        square, count = (float(np.sqrt(np.median(part))) for part in parts[1:])
        longest, _ = best(np.sqrt(parts[0]), np.sqrt(squares))
        residual = max(float(np.sqrt(np.median(parts[0][apart]))) if apart.any() else 1.0, BOUNDS.long_part * longest, 1.0)
        weight = lengths[0] * residual / count
        square_weight = min(lengths[1] * residual / max(square, residual**2 / count, 1.0), 1.0) if lengths[1] else None
        whole = np.sqrt(parts[0] + (square_weight or 0.0) ** 2 * parts[1] + weight**2 * parts[2])
        length, bias = best(whole, np.sqrt(squares + np.square((square_weight or 0.0) * squares) + weight**2))
        kept = np.mean(np.minimum(1.0, length / np.maximum(whole, _LEAST_LENGTH)))
        return Bound.at(length, weight, float(kept), release, square_weight, bias)

    def within(self, centers: FloatArray) -> float:
        """Return a rough typical distance of a point from its center: that of server points."""
        squares = np.square(self.points - centers[assign(self.points, centers)]).sum(axis=1)
        return float(np.sqrt(np.average(squares, weights=self.weights if self.weights.sum() > 0 else None)))

    def of_costs(self, sets: FloatArray) -> float:
        """Return the bound for cost differences (see ``Looks.cost_differences``): a high quantile of what units would send."""
        squares = np.column_stack([cdist(self.points, centers, "sqeuclidean").min(axis=1) for centers in sets])
        chosen, batch = self._units()
        rows = (len(sets) * squares - squares.sum(axis=1, keepdims=True))[chosen]
        units = np.add.reduceat(rows, batch.starts[:-1], axis=0)
        return float(np.quantile(np.linalg.norm(units, axis=1), BOUNDS.cost_quantile))

    def _units(self) -> tuple[IntArray, ClientBatch]:
        """Return the rows of server points that the simulated units hold, and the batch they form."""
        count = int(np.clip(REFINED.simulated_points // self.size, REFINED.fewest_simulated, REFINED.most_simulated))
        total = self.weights.sum()
        chosen = self.rng.choice(len(self.points), (count, self.size), p=self.weights / total if total > 0 else None)
        return chosen.ravel(), ClientBatch(np.empty((count * self.size, 0)), np.arange(count + 1) * self.size)


def least_error_length(lengths: FloatArray, noise: float, bias: Callable[[float], float]) -> _Best:
    """Return the bound, from the median of the lengths to beyond the largest of them, that makes squared noise plus squared bias least.

    Where noise dominates this is the median, where it is tiny nothing is scaled down.
    """
    bounds = np.append(np.quantile(lengths, BOUNDS.quantiles), lengths.max() * np.array(BOUNDS.beyond))
    return _least_error(bounds, noise, bias)


def _least_error(bounds: FloatArray, noise: float, bias: Callable[[float], float]) -> _Best:
    """Return the best of these bounds, ordered by length; ``noise`` is that of a bound of 1, ``bias`` returns the squared bias of one.

    There may be longer vectors than those that are known, so from one bound to the next no more than a part of the bias is believed
    to vanish.
    """
    biases = list(accumulate((bias(bound) for bound in bounds), lambda before, now: max(now, BOUNDS.lasting * before)))
    best = int(np.argmin(np.square(noise * bounds) + biases))
    return _Best(float(bounds[best]), float(biases[best]))


def guessed_bias(lengths: FloatArray, bound: float, counts: FloatArray | float = 1.0) -> float:
    """Return a guess of the squared bias where it cannot be computed: a part of the mean length that is cut off.

    ``counts`` is how many vectors of each length there are.
    """
    return (BOUNDS.bias * float(np.average(np.maximum(lengths - bound, 0.0), weights=np.broadcast_to(counts, lengths.shape)))) ** 2


def clipping_bias(rows: FloatArray, weights: FloatArray, members: IntArray, lengths: FloatArray, bound: float) -> float:
    """Return the squared distance of means of points scaled down to a bound from plain means, averaged over points of all clusters.

    Scaling down moves a cluster's mean by the mean of ``(s / mean of s - 1) (x - mean of x)``, s the factors. What the sampling of
    so few points explains is subtracted: points that scatter evenly around their center show no bias.
    """
    factors = np.minimum(1.0, bound / np.maximum(lengths, _LEAST_LENGTH))
    total, explained, sizes = 0.0, 0.0, np.bincount(members, weights)
    for cluster in np.flatnonzero(sizes > 0):
        inside = members == cluster
        part = weights[inside] / sizes[cluster]
        scaled, x = factors[inside], rows[inside]
        moves = (scaled / (part @ scaled) - 1)[:, None] * (x - part @ x)
        move = part @ moves
        total += sizes[cluster] * float(move @ move)
        explained += sizes[cluster] * float(np.square(part) @ np.square(moves - move).sum(axis=1))
    return max(0.0, total - explained) / max(float(sizes.sum()), _LEAST_LENGTH)


@dataclass(frozen=True)
class Typical:
    """The length of a typical unit's vector, and the part of all points that is left when longer ones are scaled down to it."""

    length: float
    kept: float
    bias: float = 0.0
    """Squared length by which this may move means."""


def geometric_edges(top: float, classes: int) -> FloatArray:
    """Return this many edges up to ``top``, half an octave apart."""
    return top * 2.0 ** (np.arange(1 - classes, 1) / 2)


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
    run = standing_out(histogram, noise, most)
    if run is None and least_classes:
        run = slice(int(histogram.argmax()), int(histogram.argmax()) + 1)
    if run is None:
        return Typical(float(edges[-1]) if otherwise is None else otherwise, 1.0)
    counts = np.zeros_like(histogram)
    counts[run] = np.maximum(histogram[run], 0.0)
    total = max(float(counts.sum()), _LEAST_LENGTH)
    step = float(edges[-1] / edges[-2])
    middles = np.append(edges, edges[-1] * step) / np.sqrt(step)
    cumulated = np.cumsum(counts)
    first = min(int(np.searchsorted(cumulated, quantile * total)), len(edges) - 1)
    inside = (quantile * total - (cumulated[first - 1] if first else 0.0)) / max(float(counts[first]), _LEAST_LENGTH)
    length = float(edges[first] * step ** (min(inside, 1.0) - 1))

    def kept(bound: float) -> float:
        return float(counts @ np.minimum(1.0, bound / np.maximum(middles, _LEAST_LENGTH)) / total)

    if per_length is None:
        return Typical(length, kept(length))
    last = min(int(np.flatnonzero(counts)[-1]), len(edges) - 1) if counts.any() else first
    longer = np.array([length, *middles[first + 1 : last + 1], max(float(edges[last]), length)])
    best = _least_error(longer, per_length, lambda bound: guessed_bias(middles, bound, counts))
    return Typical(best.length, kept(best.length), best.bias)


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


def typical_sums(
    looks: Looks, ball: Ball, frame: Frame, count_weight: float, edges: FloatArray, square_weight: float | None = None, **more: Any
) -> Typical:
    """Return the typical length of a unit's vector of residuals and counts; ``more`` as in ``typical_length``."""
    histogram = looks.residual_lengths(ball, frame, count_weight, edges, square_weight=square_weight)
    return typical_length(histogram, looks.made["bounds"].scale, edges, **more)


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

    def of_sums(
        self,
        release: Release,
        frame: Frame,
        lengths: tuple[float, float],
        *,
        times: int,  # noqa: ARG002 all looks in full space are averaged, and others have a bound at the median
        before: float = 0.0,
    ) -> Bound:
        """Return the bound for residual sums: the noisy median of what units would send, or more if that is cheap (see ``Bounds``).

        A point's vector is its residual, count and square, so the residual is measured: where nothing stands out from noise it is
        ``before``. A client's vector is not so simple: there the weights are guesses from the trace and the number of points per client.
        """
        count_length, square_length = lengths
        if self.looks.is_client_level:
            edges = length_edges(self.looks, (SERVERLESS.full_reach if frame.in_full else SERVERLESS.subspace_reach) * self.typical)
            # A client of s points in m cells has counts of about this length per root of s, and squares accordingly.
            longer = np.sqrt(1 + self.n_points / max(self.looks.n_clients, 1) / len(frame.centers))
            length = max(self.within(frame.origins), 1.0)
            weight, square_weight = count_length * length / longer, min(square_length / (length * longer), 1.0) or None
            found = typical_sums(self.looks, self.ball, frame, weight, edges, square_weight=square_weight)
            return Bound.at(found.length, weight, found.kept, release, square_weight)
        noise = noise_per_length(release, self.n_points, self.k, self.ball.dimension, release.times) if frame.in_full else None
        before = before or self.typical
        edges = geometric_edges(SERVERLESS.full_reach * before, SERVERLESS.length_classes)
        found = typical_sums(self.looks, self.ball, frame, 1.0, edges, per_length=noise, otherwise=before, most=self.n_points)
        length = max(found.length, 1.0)
        whole = length * np.sqrt(1 + count_length**2 + square_length**2)
        square_weight = min(square_length / length, 1.0) or None
        return Bound.at(float(whole), count_length * length, found.kept, release, square_weight, found.bias)

    def within(self, centers: FloatArray) -> float:
        """Return a rough typical distance of a point from its center: what the spread of the centers leaves of the trace."""
        d = centers.shape[1]
        trace = self.shape.trace if d == self.ball.dimension else float(self.shape.along[:d].sum())
        between = float(np.square(centers).sum(axis=1).mean())
        return float(np.sqrt(max(trace - between, SERVERLESS.least_within * trace)))
