"""How long the vector of one unit may be: from units simulated with server points, or from noisy histograms of lengths."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.looks import Bound, Frame, Looks, noise_per_length
from feddp_kmeans.algorithm.proxies import Shape
from feddp_kmeans.algorithm.tuning import BOUNDS, REFINED, SERVERLESS
from feddp_kmeans.algorithm.typical_lengths import (
    LEAST_LENGTH,
    geometric_edges,
    guessed_bias,
    least_error_length,
    length_edges,
    typical_sums,
)
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import assign, pairs_of, project
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.residual_sums import second_moment_norms


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
        pairs = pairs_of(batch, members[chosen], len(frame.centers))
        sums = pairs.sums(with_squares)
        parts = [
            np.bincount(pairs.units, column, minlength=batch.n_clients)
            for column in (np.square(sums[:, :-1]).sum(axis=1), np.square(sums[:, -1]), np.square(pairs.counts))
        ]
        squares = np.square(rows).sum(axis=1)
        is_plain = self.unit is PrivacyUnit.CLIENT or release.scale == 0
        clipping_bias = ClippingBias(rows, self.weights, members) if frame.in_full and not is_plain else None

        def best(whole: FloatArray, own: FloatArray) -> tuple[float, float]:
            """Return the best length for units whose vectors are so long, and points as long as these; and its bias."""
            if is_plain:
                return float(np.median(whole)), 0.0
            shape = frame.origins.shape
            noise = noise_per_length(release, self.n_points, shape[0], shape[1], release.times if frame.in_full else times)

            def biases(bounds: FloatArray) -> FloatArray:
                """Cells hold too few server points to show a bias: theirs is guessed."""
                return clipping_bias(own, bounds) if clipping_bias else guessed_bias(whole, bounds)

            part = BOUNDS.believed if frame.in_full else 1.0
            length = least_error_length(np.maximum(whole, 1.0), noise, lambda bounds: part * biases(bounds)).length
            return length, float(biases(np.array([length]))[0])

        # Units on their centers, but for rounding, say nothing of the others, next to which their counts would be lost in noise.
        apart = parts[0] > rows.shape[1] * self.size**2
        square, count = (float(np.sqrt(np.median(part))) for part in parts[1:])
        longest, _ = best(np.sqrt(parts[0]), np.sqrt(squares))
        residual = max(float(np.sqrt(np.median(parts[0][apart]))) if apart.any() else 1.0, BOUNDS.long_part * longest, 1.0)
        weight = lengths[0] * residual / count
        square_weight = min(lengths[1] * residual / max(square, residual**2 / count, 1.0), 1.0) if lengths[1] else None
        whole = np.sqrt(parts[0] + (square_weight or 0.0) ** 2 * parts[1] + weight**2 * parts[2])
        length, bias = best(whole, np.sqrt(squares + np.square((square_weight or 0.0) * squares) + weight**2))
        kept = np.mean(np.minimum(1.0, length / np.maximum(whole, LEAST_LENGTH)))
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


@dataclass(frozen=True)
class _Part:
    """The points of one cluster: which they are, their part of its weight, how far each is from their mean, and the square of that."""

    size: float
    rows: IntArray
    weights: FloatArray
    offsets: FloatArray
    squares: FloatArray


class ClippingBias:
    """How far the means of clusters move when their points are scaled down to a bound: a squared distance, averaged over points.

    Scaling down moves a cluster's mean by the mean of ``(s / mean of s - 1) (x - mean of x)``, s the factors. What the sampling of
    so few points explains is subtracted: points that scatter evenly around their center show no bias.
    """

    def __init__(self, rows: FloatArray, weights: FloatArray, members: IntArray) -> None:
        sizes = np.bincount(members, weights)
        self._parts, self._size = [], max(float(sizes.sum()), LEAST_LENGTH)
        for cluster in np.flatnonzero(sizes > 0):
            inside = np.flatnonzero(members == cluster)
            part, x = weights[inside] / sizes[cluster], rows[inside]
            offsets = x - part @ x
            self._parts.append(_Part(sizes[cluster], inside, part, offsets, np.square(offsets).sum(axis=1)))

    def __call__(self, lengths: FloatArray, bounds: FloatArray) -> FloatArray:
        """Return it for vectors of these lengths and each of the bounds."""
        factors = np.minimum(1.0, bounds[:, None] / np.maximum(lengths, LEAST_LENGTH))
        total = np.zeros(len(bounds))
        for part in self._parts:
            scaled = factors[:, part.rows]
            shares = part.weights * (scaled / (scaled @ part.weights)[:, None] - 1)
            moves = shares @ part.offsets
            squares = np.square(moves).sum(axis=1)
            crossed = 2 * ((shares * part.weights) @ part.offsets * moves).sum(axis=1)
            explained = np.square(shares) @ part.squares - crossed + squares * (part.weights @ part.weights)
            total += part.size * (squares - explained)
        found: FloatArray = np.maximum(0.0, total) / self._size
        return found


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
    finer: int = 1
    """How many classes of lengths take the place of one in full space."""

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
        edges = geometric_edges(SERVERLESS.full_reach * before, SERVERLESS.length_classes, self.finer if frame.in_full else 1)
        found = typical_sums(self.looks, self.ball, frame, 1.0, edges, per_length=noise, otherwise=before, most=self.n_points)
        length = max(found.length, 1.0)
        whole = length * np.sqrt(1 + count_length**2 + square_length**2)
        square_weight = min(square_length / length, 1.0) or None
        return Bound.at(float(whole), count_length * length, found.kept, release, square_weight, found.bias, found.square)

    def within(self, centers: FloatArray) -> float:
        """Return a rough typical distance of a point from its center: what the spread of the centers leaves of the trace."""
        d = centers.shape[1]
        trace = self.shape.trace if d == self.ball.dimension else float(self.shape.along[:d].sum())
        between = float(np.square(centers).sum(axis=1).mean())
        return float(np.sqrt(max(trace - between, SERVERLESS.least_within * trace)))
