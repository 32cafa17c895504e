"""Where the points are: a public box or ball where one is given, else a center and a radius from noisy looks."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.looks import Frame, Looks, Typical, geometric_edges, typical_length
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball

PRIVATE_ROUNDS = 3
"""Looks for the center where nothing is public; each is as much sharper as noise is smaller than the points' spread."""

COUNT_WEIGHT = 0.5
"""Length of the count beside that of a typical point."""

POINT_CLASSES, CLIENT_CLASSES = 20, 44
"""Classes of lengths, half an octave each; a client's may be as much longer as it has points."""

_LARGEST_CLIENT = 2.0**12
"""Points of a client beyond which its contribution is scaled down whatever the others send."""

_ANY_SCALE: FloatArray = np.exp2(np.arange(-40.0, 41.0))
"""Edges of distances where no scale is known: 1e-12 to 1e12. What is beyond falls into the last class."""

_REACH = 0.98
"""Quantile of the distances that the ball must hold, doubled, where no ball is public."""


_ROOM, _ROUND_CLASSES = 16.0, 56
"""After the first look: how far beyond the last typical distance classes reach, and how many half octaves they go down from there."""


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
    return PRIVATE_ROUNDS if region is None else 1


def distance_looks(region: Region | None) -> int:
    """Return how many histograms of distances are released: without a public region one more, around the last center."""
    return PRIVATE_ROUNDS + 1 if region is None else 1


def lengths(looks: Looks, top: float) -> FloatArray:
    """Return edges for the lengths of units' vectors, in integer steps, where a point's is at most about ``top``."""
    return geometric_edges(top * _LARGEST_CLIENT, CLIENT_CLASSES) if looks.is_client_level else geometric_edges(top, POINT_CLASSES)


def find_domain(looks: Looks, region: Region | None, dimension: int) -> Domain:
    """Return where the points are.

    Each round reads the typical distance from the present center off a noisy histogram, then moves the center to the noisy mean of
    the points, each scaled down to that distance: so no outlier, however far, weighs more than a typical point.
    """
    center = np.zeros(dimension) if region is None else region.ball.center
    edges = _ANY_SCALE if region is None else geometric_edges(region.ball.radius, POINT_CLASSES)
    found: Domain | None = None
    for _ in range(domain_rounds(region)):
        ball, typical = _around(looks, center, edges, region)
        edges = geometric_edges(_ROOM * typical.length, _ROUND_CLASSES)
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
    histogram, noise = looks.distances(center, edges)
    if region is not None:
        return region.ball, typical_length(histogram, noise, edges)
    typical, reach = (typical_length(histogram, noise, edges, part, least_classes=1) for part in (0.5, _REACH))
    return Ball(center, 2 * reach.length), typical


def _moved(looks: Looks, ball: Ball, typical: Typical, region: Region | None) -> Domain:
    """Return the domain with its center at the noisy mean, drawn back as far as noise explains the move."""
    length = min(typical.length / ball.grid, RESOLUTION)
    weight = COUNT_WEIGHT * length
    origin = np.zeros((1, ball.dimension))
    frame = Frame(origin, origin)
    bound = Typical(float(np.hypot(length, weight)), typical.kept)
    if looks.is_client_level:
        bound = looks.typical_sums(ball, frame, weight, lengths(looks, bound.length))
    sums = looks.sums("mean", ball, frame, weight, bound)
    divisor = max(float(sums.counts[0]), sums.count_noise, 1e-6)
    move, variance = sums.residuals[0] / divisor, (sums.noise / divisor) ** 2
    believed = max(0.0, 1 - variance / max(float(np.square(move).mean()), 1e-300))
    center = ball.decode(believed * move)
    if region is not None:
        center = region.clip(center)
    return Domain(Ball(center, ball.radius), typical.length, divisor / sums.kept, believed * variance * ball.grid**2)
