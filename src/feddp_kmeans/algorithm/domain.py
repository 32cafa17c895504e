"""Where the points are: a public box or ball where one is given, else a center and a radius from noisy looks."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.histogram_bounds import Typical, geometric_edges, length_edges, typical_length, typical_sums
from feddp_kmeans.algorithm.looks import TINY, Bound, Frame, Looks
from feddp_kmeans.algorithm.tuning import DOMAIN
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball

_ANY_SCALE: FloatArray = np.exp2(np.arange(-40.0, 41.0))
"""Edges of distances where no scale is known: 1e-12 to 1e12. What is beyond falls into the last class."""

MOST_CLASSES = len(_ANY_SCALE) + 1
"""Values of the largest histogram of lengths."""


@dataclass(frozen=True)
class Region:
    """A public region: all points lie in the box, and the ball holds it; or the other way round."""

    ball: Ball
    low: FloatArray
    high: FloatArray

    @classmethod
    def of_box(cls, low: FloatArray, high: FloatArray) -> "Region":
        """Return the box and the ball around it."""
        center = low + (high - low) / 2
        return cls(Ball(center, float(np.linalg.norm(high - center))), low, high)

    @classmethod
    def of_ball(cls, ball: Ball) -> "Region":
        """Return the ball and the cube around it."""
        return cls(ball, ball.center - ball.radius, ball.center + ball.radius)

    def clip(self, points: FloatArray) -> FloatArray:
        """Return the points moved into the box."""
        clipped: FloatArray = np.clip(points, self.low, self.high)
        return clipped


@dataclass(frozen=True)
class Domain:
    """What is known of the points' place: a ball around their noisy mean, a typical distance from it, and how many they are."""

    ball: Ball
    typical: float
    n_points: float
    center_variance: float
    """Variance of the noise in one coordinate of the ball's center."""


def domain_rounds(region: Region | None) -> int:
    """Return how often center and distances are looked at."""
    return DOMAIN.rounds if region is None else 1


def distance_looks(region: Region | None) -> int:
    """Return how many histograms of distances are released: without a public region one more, around the last center."""
    return DOMAIN.rounds + 1 if region is None else 1


def find_domain(looks: Looks, region: Region | None, dimension: int) -> Domain:
    """Return where the points are.

    Each round reads the typical distance from the present center off a noisy histogram, then moves the center to the noisy mean of
    the points, each scaled down to that distance: so no outlier, however far, weighs more than a typical point.
    """
    center = np.zeros(dimension) if region is None else region.ball.center
    edges = _ANY_SCALE if region is None else geometric_edges(region.ball.radius, DOMAIN.point_classes)
    found: Domain | None = None
    for _ in range(domain_rounds(region)):
        ball, typical = _around(looks, center, edges, region)
        edges = geometric_edges(DOMAIN.room * typical.length, DOMAIN.round_classes)
        found = _moved(looks, ball, typical, region)
        center = found.ball.center
    assert found is not None
    if region is not None:
        radius = region.ball.radius + float(np.linalg.norm(center - region.ball.center))
        return Domain(Ball(center, radius), found.typical, found.n_points, found.center_variance)
    ball, typical = _around(looks, center, edges, None)
    return Domain(ball, typical.length, found.n_points, found.center_variance)


def _around(looks: Looks, center: FloatArray, edges: FloatArray, region: Region | None) -> tuple[Ball, Typical]:
    """Return a ball around the center that holds the points, and their typical distance from it."""
    histogram, noise = looks.distances(center, edges), looks.plan["distances"].scale
    if region is not None:
        return region.ball, typical_length(histogram, noise, edges)
    typical, reach = (typical_length(histogram, noise, edges, part, least_classes=1) for part in (0.5, DOMAIN.reach))
    return Ball(center, DOMAIN.margin * reach.length), typical


def _moved(looks: Looks, ball: Ball, typical: Typical, region: Region | None) -> Domain:
    """Return the domain with its center at the noisy mean, drawn back as far as noise explains the move."""
    length = min(typical.length / ball.grid, RESOLUTION)
    weight = DOMAIN.count_weight * length
    frame = Frame.around(np.zeros((1, ball.dimension)))
    vector = Typical(float(np.hypot(length, weight)), typical.kept)
    if looks.is_client_level:
        vector = typical_sums(looks, ball, frame, weight, length_edges(looks, vector.length))
    sums = looks.sums("mean", ball, frame, Bound.at(vector.length, weight, vector.kept, looks.plan["mean"]))
    divisor = max(float(sums.counts[0]), sums.count_noise, TINY)
    move, variance = sums.residuals[0] / divisor, (sums.noise / divisor) ** 2
    believed = max(0.0, 1 - variance / max(float(np.square(move).mean()), 1e-300))
    center = ball.decode(believed * move)
    if region is not None:
        center = region.clip(center)
    return Domain(Ball(center, ball.radius), typical.length, divisor / sums.kept, believed * variance * ball.grid**2)
