"""Noisy looks at units whose size nobody knows beforehand: each bound is read off an earlier noisy histogram of lengths."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import norms, residual_sums
from feddp_kmeans.statistics.fixed_point import Ball

_UNBOUNDED = 1024.0
"""How far beyond a typical unit the bound is where there is no noise to keep small."""


_TAIL = 0.99
"""Quantile of lengths beyond which vectors are scaled down even where noise leaves room."""


@dataclass(frozen=True)
class Frame:
    """Where points are assigned and what is subtracted from them: targets and origins, each in the space of its own projection."""

    targets: FloatArray
    origins: FloatArray
    projection: FloatArray | None = None
    residual_projection: FloatArray | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the public arguments of a statistic of residuals."""
        return {
            "centers": self.targets,
            "origins": self.origins,
            "projection": self.projection,
            "residual_projection": self.residual_projection,
        }


@dataclass(frozen=True)
class Typical:
    """The length of a typical unit's vector, and the part of all points that is left when longer ones are scaled down to it."""

    length: float
    kept: float


@dataclass(frozen=True)
class Sums:
    """Noisy residual sums and counts of clusters; each number of a sum has noise ``noise``, each count ``count_noise``."""

    residuals: FloatArray
    counts: FloatArray
    noise: float
    count_noise: float
    kept: float


def geometric_edges(top: float, classes: int) -> FloatArray:
    """Return this many edges up to ``top``, half an octave apart."""
    edges: FloatArray = top * 2.0 ** (np.arange(1 - classes, 1) / 2)
    return edges


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
    length = max(length, min(length_at(_TAIL), stretch * length))
    middles = np.append(edges, edges[-1]) * half_class
    return Typical(length, float(credible @ np.minimum(1.0, length / middles) / total))


class Looks:
    """The private verbs of the methods without server data; every release is in the plan."""

    def __init__(self, run: Run, unit: PrivacyUnit) -> None:
        self.plan = run.plan
        self.is_client_level = unit is PrivacyUnit.CLIENT
        self._run = run

    def distances(self, center: FloatArray, edges: FloatArray) -> tuple[FloatArray, float]:
        """Return noisy classes of the points' distances from the center, and their noise."""
        statistic = norms.CLIENT_DISTANCES if self.is_client_level else norms.POINT_DISTANCES
        release = self.plan["distances"]
        return self._run.noisy_sum(statistic, release, center=center, edges=edges), release.scale

    def sums(self, name: str, ball: Ball, frame: Frame, count_weight: float, typical: Typical) -> Sums:
        """Return noisy residual sums and counts, each unit's vector bounded by the typical length."""
        statistic = residual_sums.CLIENT_RESIDUALS if self.is_client_level else residual_sums.POINT_RESIDUALS
        release = self.plan[name]
        bound = residual_sums.whole_bound(self._bound(name, typical.length))
        public = frame.arguments() | {"bound": bound, "count_weight": count_weight}
        values = bound * self._run.noisy_sum(statistic, release, center=ball.center, radius=ball.radius, **public)
        table = values.reshape(len(frame.targets), -1)
        noise = bound * release.scale
        kept = typical.kept if release.noise_multiplier > 0 else 1.0
        return Sums(table[:, :-1], table[:, -1] / count_weight, noise, noise / count_weight, kept)

    def typical_sums(self, ball: Ball, frame: Frame, count_weight: float, edges: FloatArray, stretch: float = 1.0) -> Typical:
        """Return the typical length of a unit's vector of residuals and counts."""
        statistic = norms.CLIENT_RESIDUAL_NORMS if self.is_client_level else norms.POINT_RESIDUAL_NORMS
        public = frame.arguments() | {"count_weight": count_weight, "edges": edges}
        return self._typical(statistic, ball, edges, public, stretch)

    def second_moment(self, ball: Ball, edges: FloatArray) -> tuple[FloatArray, float, float, Typical]:
        """Return the noisy traceless moment of all points, its trace, the noise of an entry and the typical length of a unit's."""
        sizes = norms.CLIENT_MOMENT_NORMS if self.is_client_level else norms.POINT_MOMENT_NORMS
        typical = self._typical(sizes, ball, edges, {"edges": edges})
        bound = self._bound("second moment", typical.length)
        statistic = residual_sums.CLIENT_SECOND_MOMENT if self.is_client_level else residual_sums.POINT_SECOND_MOMENT
        release = self.plan["second moment"]
        values = bound * self._run.noisy_sum(statistic, release, center=ball.center, radius=ball.radius, bound=bound)
        matrix, trace = residual_sums.traceless(values, ball.dimension)
        return matrix, trace, bound * release.scale, typical

    def _typical(self, statistic: Any, ball: Ball, edges: FloatArray, public: dict[str, Any], stretch: float = 1.0) -> Typical:
        release = self.plan["bounds"]
        histogram = self._run.noisy_sum(statistic, release, center=ball.center, radius=ball.radius, **public)
        return typical_length(histogram, release.scale, edges, stretch=stretch)

    def _bound(self, name: str, typical: float) -> float:
        typical = max(typical, 1.0)
        return typical if self.plan[name].noise_multiplier > 0 else _UNBOUNDED * typical
