"""Bounds from public data: what units made up of server points would send."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.looks import Bound, Frame, affordable_length
from feddp_kmeans.algorithm.tuning import BOUNDS, REFINED
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import assign, joint_sums, project
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.residual_sums import second_moment_norms

_LEAST_LENGTH = 1e-300


@dataclass(frozen=True)
class SimulatedBounds:
    """A source of bounds: units of ``size`` server points each, drawn by their weights."""

    points: FloatArray
    """Server points in integer coordinates."""
    weights: FloatArray
    unit: PrivacyUnit
    size: int
    rng: np.random.Generator
    n_points: float = 0.0
    """Noisy number of all client points, once it is known."""

    def moment_length(self) -> float:
        """Return the median length of a unit's second moment."""
        chosen, batch = self._units()
        return float(np.median(second_moment_norms(self.points[chosen], batch)[0]))

    def of_sums(self, release: Release, frame: Frame, count_length: float, spread: FloatArray | float = 1.0) -> Bound:
        """Return the bound for residual sums: the median of what units would send, or more if that is cheap.

        Counts weigh ``count_length`` times as much as residuals in a typical unit's vector. ``spread`` multiplies the residuals of server
        points.
        """
        members = assign(self.points, frame.targets, frame.projection)
        rows = (project(self.points, frame.residual_projection) - np.rint(frame.origins)[members]) * spread
        chosen, batch = self._units()
        units, _, sums = joint_sums(batch, rows[chosen], members[chosen], len(frame.targets), 1.0)
        residual_square = np.bincount(units, np.square(sums[:, :-1]).sum(axis=1), minlength=batch.n_clients)
        count_square = np.bincount(units, np.square(sums[:, -1]), minlength=batch.n_clients)
        residual_length = max(float(np.sqrt(np.median(residual_square))), 1.0)
        weight = count_length * residual_length / float(np.sqrt(np.median(count_square)))
        lengths = np.sqrt(residual_square + weight**2 * count_square)
        bound = Bound.at(self._typical(lengths, release, frame), weight, 1.0, release)
        kept = np.mean(np.minimum(1.0, bound.length / np.maximum(lengths, _LEAST_LENGTH)))
        return Bound(bound.length, weight, float(kept))

    def _typical(self, lengths: FloatArray, release: Release, frame: Frame) -> float:
        """Return the median length; in full space more, for heavy tails of points, as far as the noise of it is cheap."""
        median, tail = float(np.median(lengths)), float(np.quantile(lengths, BOUNDS.tail))
        if not frame.in_full or self.unit is PrivacyUnit.CLIENT or tail < BOUNDS.long_tail * median or release.scale == 0:
            return median
        affordable = affordable_length(release, max(self.n_points, 1.0), len(frame.targets), self.points.shape[1])
        return float(np.clip(affordable * np.sqrt(np.square(lengths).mean()), median, tail))

    def _units(self) -> tuple[IntArray, ClientBatch]:
        """Return the rows of server points that the made-up units hold, and the batch they form."""
        count = int(np.clip(REFINED.simulated_points // self.size, REFINED.fewest_simulated, REFINED.most_simulated))
        total = self.weights.sum()
        chances = self.weights / total if total > 0 else None
        chosen = self.rng.choice(len(self.points), (count, self.size), p=chances)
        return chosen.ravel(), ClientBatch(np.empty((count * self.size, 0)), np.arange(count + 1) * self.size)
