"""The closing look: how many points each released center attracts, and how far from it they lie. It tells how good a result is.

It is made at exactly the centers that are released, so its counts are the sizes of just these clusters, unbiased where a unit is a point.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.looks import Frame, Looks, Spreads, roomy
from feddp_kmeans.algorithm.typical_lengths import length_edges, typical_length
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.statistics.fixed_point import LEAST_RADIUS, Ball, row_norms
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS
from feddp_kmeans.statistics.spreads import POINT_L1


@dataclass(frozen=True)
class ClosingTuning:
    """The numbers of the closing look. The reach was tried on distances of a mixture, blobs, tables, t(3) and log-normal points."""

    shares: Mapping[str, float] = field(default_factory=lambda: {"closing bounds": 0.01, "closing": 0.03})
    """Parts of the budget mu**2; all other releases give up the same share of theirs."""
    classes: int = 61  # classes of distances ...
    per_octave: int = 3
    """... and how many of them there are per octave. With 2, two-dimensional blobs (20,000 points) at epsilon 0.1 have 5 times the noise;
    with 4, 3.5 deviations of log-normal points are cut off, not 1.3."""
    level: float = 4.0  # a class is believed if noise exceeds it with the chance of a normal variable above this many deviations
    cut_price: float = 5.0
    """What is cut off weighs this much more than noise. At epsilon 1 and 20,000 points the total has noise of 0.4 % (mixture), 1.7 %
    (table), 7 % (t(3)) and 13 % (log-normal), and 0.0, 0.3, 0.3 and 0.4 deviations are cut off. With 10, noise is 1.4 times as large."""
    fall: float = 0.5  # part of a class that the next one holds at most where noise hides it, when the reach is chosen ...
    slowest_fall: float = 0.65
    """... and where an error is stated for what is cut off. With 0.5 the cost of log-normal points at 0.25 is within two stated deviations
    in 82 % of 40 runs, with 0.65 in 93 %, and the error is 1.8 times as long; at 1 and 4, and on blobs, it is longer by 3 % at most."""
    client_cut_price: float = 4.0
    """The same for points of large clients. 1,000 clients of log-normal sizes at epsilon 2: exact sizes are within two standard deviations
    in 90 %, their total is 5 % low. With 2: 78 %, 10 %, and 0.7 times the noise. With a bound at the median: 0 %, 42 %."""
    clear: float = 3.0  # deviations above zero from which a cluster's size and squares are taken to give a spread
    client_reach: float = 2.0  # the reach in typical distances, for clients and where the histogram shows nothing
    room: float = 4.0  # radius of the look's ball relative to the centers' span and the reach: far points keep their nearest center
    least_reach: float = 2.0**-20  # shortest reach relative to the radius of the method's ball


CLOSING = ClosingTuning()


@dataclass(frozen=True)
class Closing:
    """What the closing look says about the released centers, in the data's units.

    Where a unit is a point, a count is the number of points nearest to that center, and ``inertia`` is the sum over all points of the
    squared distance from the nearest center, each cut at ``reach**2``: a point farther out counts as if it were at the reach. The reach is
    so long that less is cut off than the noise amounts to, as far as a noisy histogram of distances can tell. ``inertia_stddev`` holds the
    noise, and what is cut off if the histogram falls on as slowly as its last visible classes. Otherwise inertia is that of distances cut
    at the reach, and no more: that happens for a few points far beyond all others, which the noise hides, and for points farther from every
    center than twice the radius of the ball that the method works in, which never lengthen the reach.

    Where a unit is a client, both are of bounded contributions: a client with more points than a bound is scaled down to it, and the reach
    is twice a typical distance. Under client sampling they are of the clients that were drawn.
    """

    counts: FloatArray
    count_stddev: float
    inertia: float
    inertia_stddev: float
    spread: FloatArray
    """Root of the mean squared distance of each cluster's points from its center; NaN where noise hides it."""
    spread_stddev: FloatArray
    reach: float
    cut_stddev: FloatArray | None = None
    """How far in each coordinate a center may be off beside what was stated before, since lengths that noise hid were cut off in the last
    look; None if that is not known."""


def with_closing(parts: Mapping[str, float]) -> dict[str, float]:
    """Return these parts of the budget mu**2, less the same share of each for the closing look."""
    scale = (1 - sum(CLOSING.shares.values())) / sum(parts.values())
    return {name: scale * part for name, part in parts.items()} | dict(CLOSING.shares)


def closing_rows(k: int) -> list[tuple[str, float, int, int]]:
    """Return name, integer steps, values and times of the releases of the closing look, all with Gaussian noise."""
    return [("closing bounds", 1.0, CLOSING.classes + 1, 1), ("closing", float(BOUNDED_STEPS), 2 * k + 1, 1)]


def closing_requests(k: int, law: Mechanism, parts: Mapping[str, float], price: float) -> list[Release]:
    """Return the same releases with noise of this law in proportion to their parts of epsilon, where a unit is a point."""
    steps = float(BOUNDED_STEPS) if law is Mechanism.GAUSSIAN else POINT_L1
    return [
        Release("closing bounds", law, 1.0, 1.0, price / parts["closing bounds"], CLOSING.classes + 1),
        Release("closing", law, steps / BOUNDED_STEPS, steps, price / parts["closing"], 2 * k + 1),
    ]


def close(looks: Looks, ball: Ball, centers: FloatArray, typical: float) -> Closing:
    """Return the closing look at these centers, which lie in the ball.

    ``typical`` is a rough distance of a point from its center, from public facts or released numbers. The look has a ball of its own around
    the centers, which leaves room for the reach: points farther out than that are moved to its edge, and still are beyond the reach.
    """
    if looks.is_client_level:
        found, bound = _Cut(CLOSING.client_reach * typical, 0.0), _typical_client(looks, ball, centers)
    else:
        found, bound = _point_reach(looks, ball, centers, typical), 1.0
    reach = max(found.reach, ball.radius * CLOSING.least_reach)
    middle = centers.mean(axis=0)
    span = float(row_norms(centers - middle).max())
    own = Ball(middle, max(CLOSING.room * (span + reach), LEAST_RADIUS))
    told = looks.spreads(own, (centers - own.center) / own.grid, max(reach / own.grid, 1.0), bound)
    return _told(told, own, reach, found.squares)


@dataclass(frozen=True)
class _Cut:
    """A reach, and how much all squared distances beyond it may add up to, as far as they are cut off; in the data's units."""

    reach: float
    squares: float


def _told(found: Spreads, ball: Ball, reach: float, cut: float) -> Closing:
    unit = ball.grid**2
    # Whether noise hides a spread is judged by the mean of all clusters: to choose those that happen to look large would bias them.
    expected = found.counts * max(float(found.squares.sum()), 0.0) / max(float(found.counts.sum()), 1.0)
    clear = (found.counts > CLOSING.clear * found.count_noise) & (expected >= CLOSING.clear * found.square_noise)
    known = clear & (found.counts > 0) & (found.squares >= found.square_noise)
    counts, squares = np.where(known, found.counts, np.nan), np.where(known, found.squares, np.nan)
    spread = np.sqrt(squares / counts)
    # Rounding points and centers to the ball's steps lengthens squared distances by this: it matters only for clusters of a few steps.
    rounding = max(float(found.counts.sum()), 0.0) * ball.dimension / 6
    return Closing(
        counts=found.counts,
        count_stddev=found.count_noise,
        inertia=max(float(found.squares.sum()), 0.0) * unit,
        inertia_stddev=float(np.hypot(np.hypot(found.total_noise, rounding) * unit, cut)) if found.total_noise else 0.0,
        spread=spread * ball.grid,
        spread_stddev=np.hypot(found.square_noise / (2 * counts), found.count_noise * spread**2 / (2 * counts))
        / np.where(spread > 0, spread, np.nan)
        * ball.grid,
        reach=reach,
    )


def _point_reach(looks: Looks, ball: Ball, centers: FloatArray, typical: float) -> _Cut:
    """Return how far distances of points are believed, from a noisy histogram of them; beyond twice the ball's radius none are."""
    wide = Ball(ball.center, CLOSING.room * ball.radius)
    top = 2 * ball.radius
    edges = top * 2.0 ** (np.arange(1 - CLOSING.classes, 1) / CLOSING.per_octave)
    histogram = looks.residual_lengths(wide, Frame.around((centers - wide.center) / wide.grid), 0.0, edges / wide.grid, "closing bounds")
    release = looks.plan["closing"]
    if release.noise_multiplier == 0:
        return _Cut(top, 0.0)
    counts, hidden, squares = histogram[:-1], _most_noise(looks), np.square(edges)
    found = least_error(counts, hidden, squares, looks.total_price / CLOSING.cut_price)
    believed = continued(counts, hidden, CLOSING.slowest_fall)
    if found is None or believed is None:
        return _Cut(CLOSING.client_reach * typical, 0.0)
    return _Cut(math.sqrt(found), float(np.maximum(squares - found, 0.0) @ believed))


def _most_noise(looks: Looks) -> float:
    """Return what the noise of one class exceeds with a chance of about 1 in 30,000."""
    release, level = looks.made["closing bounds"], CLOSING.level
    return release.scale * (level if release.mechanism is Mechanism.GAUSSIAN else level**2 / 2 + 1)


def least_error(histogram: FloatArray, hidden: float, sizes: FloatArray, price: float) -> float | None:
    """Return the size to cut at for which noise and what is cut off are least together; None if no class stands out, or nothing is noisy.

    The noise is ``price`` times the size.
    """
    counts = continued(histogram, hidden, CLOSING.fall)
    if counts is None:
        return None
    cut = np.maximum(sizes[None] - sizes[:, None], 0.0) @ counts
    return float(sizes[np.argmin(price * sizes + cut)])


def continued(histogram: FloatArray, hidden: float, slowest: float) -> FloatArray | None:
    """Return the counts of a noisy histogram that stand out, and what may follow them; None if none do, or nothing is noisy.

    Beyond the last class that stands out, counts are taken to fall off as they did before, from at most half of what noise hides: from
    class to class to no more than the part ``slowest``.
    """
    counts = np.where(histogram > hidden, histogram, 0.0)
    if hidden == 0 or not counts.any():
        return None
    last, fullest = int(np.flatnonzero(counts)[-1]), int(counts.argmax())
    since = (counts[last] / counts[fullest]) ** (1 / max(last - fullest, 1))
    fall = min(slowest, hidden / counts[last] if last == fullest else min(since, counts[last] / max(counts[last - 1], hidden)))
    counts[last + 1 :] = min(counts[last] * fall, hidden / 2) * fall ** np.arange(len(counts) - last - 1)
    return counts


def _typical_client(looks: Looks, ball: Ball, centers: FloatArray) -> float:
    """Return how many points of a client are counted, from a noisy histogram of the lengths of the clients' counts.

    Sizes are told apart by cluster, so noise counts once for each.
    """
    k, edges = len(centers), length_edges(looks, 1.0)
    places = (ball.clip(centers) - ball.center) / ball.grid
    frame = Frame(places, np.zeros((k, 0)), None, np.zeros((ball.dimension, 0)))  # counts only, no residuals
    histogram = looks.residual_lengths(ball, frame, 1.0, edges, "closing bounds")
    found = least_error(histogram[:-1], _most_noise(looks), edges, k * looks.size_price / CLOSING.client_cut_price)
    if found is None:
        found = typical_length(histogram, looks.made["closing bounds"].scale, edges, least_classes=1).length
    return roomy(found, looks.plan["closing"])
