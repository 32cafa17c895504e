"""Where the points are if the server has none: a center and a radius from noisy looks, within a public region if one is given."""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.looks import TINY, Bound, Frame, Looks
from feddp_kmeans.algorithm.settings import Region
from feddp_kmeans.algorithm.tuning import DOMAIN
from feddp_kmeans.algorithm.typical_lengths import Typical, geometric_edges, length_edges, typical_length, typical_sums
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.norms import SHARE_STEPS
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS

_ANY_SCALE: FloatArray = np.exp2(np.arange(-40.0, 41.0))
"""Edges of distances if no scale is known: 1e-12 to 1e12. What is beyond falls into the last class."""

MOST_CLASSES = len(_ANY_SCALE) + 1
"""Values of the largest histogram of lengths."""

_LEAST_PART = 2.0**-36
"""Least radius of a ball that is found, as a part of its center: in a smaller one, many points would be the same float64 numbers."""


@dataclass(frozen=True)
class Domain:
    """A ball around the noisy mean of the points, their typical distance from it, and their noisy number."""

    ball: Ball
    typical: float
    n_points: float
    center_variance: float
    """Variance of the noise in one coordinate of the ball's center."""


def domain_rows(region: Region | None, dimension: int, sharpened: int = 0) -> list[tuple[str, float, int, int]]:
    """Return name, integer steps, values and times of the releases that find the domain, and sharpen it this many times.

    Each round releases distances and a mean. Without a public region there are several rounds, and distances from the last center.
    """
    rounds, last = (DOMAIN.rounds, 1) if region is None else (1, 0)
    return [("distances", SHARE_STEPS, MOST_CLASSES, rounds + last + sharpened), ("mean", BOUNDED_STEPS, dimension + 1, rounds)]


def find_domain(looks: Looks, region: Region | None) -> Domain:
    """Return where the points are.

    Each round reads the typical distance from the present center off a noisy histogram, then moves the center to the noisy mean of
    the points, each scaled down to that distance: so no outlier, however far, weighs more than a typical point.
    """
    center = looks.origin if region is None else region.ball.center
    edges = _ANY_SCALE if region is None else geometric_edges(region.ball.radius, DOMAIN.point_classes)
    for _ in range(DOMAIN.rounds if region is None else 1):
        ball, typical = _around(looks, center, edges, region)
        found = _moved(looks, ball, typical, region)
        center = found.ball.center
        edges = geometric_edges(DOMAIN.room * typical.length, DOMAIN.round_classes)
    if region is not None:
        return replace(found, ball=region.ball_around(center))
    ball, typical = _around(looks, center, edges, None)
    return replace(found, ball=ball, typical=typical.length)


def sharpened(looks: Looks, domain: Domain, region: Region | None, name: str, times: int) -> Domain:
    """Return the domain around a sharper mean, from this many releases of this name, and the typical distance from it."""
    found = _moved(looks, domain.ball, Typical(domain.typical, 1.0), region, name, times)
    edges = geometric_edges(DOMAIN.nearer * domain.typical, DOMAIN.nearer_classes)
    histogram, noise = looks.distances(found.ball.center, edges), looks.made["distances"].scale
    ball = found.ball if region is None else region.ball_around(found.ball.center)
    return replace(found, ball=ball, typical=typical_length(histogram, noise, edges, otherwise=domain.typical).length)


def _around(looks: Looks, center: FloatArray, edges: FloatArray, region: Region | None) -> tuple[Ball, Typical]:
    """Return a ball around the center that holds the points, and their typical distance from it."""
    histogram, noise = looks.distances(center, edges), looks.made["distances"].scale
    if region is not None:
        return region.ball, typical_length(histogram, noise, edges)
    typical, reach = (typical_length(histogram, noise, edges, part, least_classes=1) for part in (0.5, DOMAIN.reach))
    return Ball(center, max(DOMAIN.margin * reach.length, _LEAST_PART * float(np.abs(center).max()))), typical


def _moved(looks: Looks, ball: Ball, typical: Typical, region: Region | None, name: str = "mean", times: int = 1) -> Domain:
    """Return the domain with its center at the noisy mean, drawn back as far as noise explains the move."""
    length = min(typical.length / ball.grid, RESOLUTION)
    weight = DOMAIN.count_weight * length
    frame = Frame.around(np.zeros((1, ball.dimension)))
    vector = Typical(float(np.hypot(length, weight)), typical.kept)
    if looks.is_client_level:
        vector = typical_sums(looks, ball, frame, weight, length_edges(looks, vector.length))
    sums = looks.sums(name, ball, frame, Bound.at(vector.length, weight, vector.kept, looks.plan[name]), times)
    divisor = max(float(sums.counts[0]), sums.count_noise, TINY)
    move, variance = sums.residuals[0] / divisor, (sums.noise / divisor) ** 2
    believed = max(0.0, 1 - variance / max(float(np.square(move).mean()), 1e-300))
    center = ball.decode(believed * move)
    if region is not None:
        center = region.clip(center)
    uncertain = min(1.0, np.sqrt(2 / ball.dimension))  # how well so few coordinates show what part of the move is noise
    return Domain(Ball(center, ball.radius), typical.length, divisor / sums.kept, max(believed, uncertain) * variance * ball.grid**2)
