"""Looks in full space: they move k centers, split what holds two clusters, and average each look with those before it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.closing import Closing, close
from feddp_kmeans.algorithm.error_bars import center_variances, cut_stddev
from feddp_kmeans.algorithm.feddp_init import NoisyCenters
from feddp_kmeans.algorithm.grown_cells import Cells, moved, repaired
from feddp_kmeans.algorithm.looks import TINY, Bound, Frame, Looks, Sums
from feddp_kmeans.algorithm.server import SMALLEST
from feddp_kmeans.algorithm.tuning import CELLS, TRACKING
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.statistics.fixed_point import Ball

POOL = "looks"
"""The pool of small equal releases: how many of them make one look is decided by what was released before."""

_HIDDEN = "the noise hides every direction of the data: all centers are the noisy mean; more points or more epsilon would help"


class Bounds(Protocol):
    """Says how long the vector of one unit may be."""

    @property
    def n_points(self) -> float:
        """Return the noisy number of all points."""

    def within(self, centers: FloatArray) -> float:
        """Return a rough typical distance of a point from its center; in the ball's integer coordinates."""

    def of_sums(self, release: Release, frame: Frame, lengths: tuple[float, float], *, times: int, before: float) -> Bound:
        """Return the bound for residual sums of which this many releases make one look.

        ``lengths`` are those of counts and squared residuals relative to a typical residual, and ``before`` is what is known of this one.
        """


@dataclass(frozen=True)
class Track:
    """What the next look goes on from: cells in the basis, not rounded or clipped, and what is left of the pool."""

    k: int
    cells: Cells
    mean_variance: float
    """Variance of the error that one coordinate of the mean of all points is known to have."""
    left: int
    steps: int
    """Looks that are still to come."""
    length: float
    """Typical residual of the last look ..."""
    times: int
    """... and how many releases it was made of."""
    square: float | None = None
    """Mean square of the residuals that noise let see in it, as they were scaled down; None if it is not known."""


@dataclass(frozen=True)
class TrackedCenters(NoisyCenters):
    """Centers, and how to go on from them."""

    track: Track
    tracker: "Tracker"


@dataclass(frozen=True)
class Tracker:
    """Looks around k centers in full space, one after the other."""

    looks: Looks
    ball: Ball
    bounds: Bounds
    basis: FloatArray
    """All directions, as columns, largest variance first."""
    variances: FloatArray
    """Variance of the points along each of them."""
    block: int
    """How many of the first directions hold most of the signal."""
    rng: np.random.Generator
    """Draws directions along which cells are split."""
    clip: Callable[[FloatArray], FloatArray]
    """Moves centers into the region that holds all points."""
    growth: float
    """How much more of the pool each look takes than the one before."""
    reach: float = CELLS.largest_signal
    """Largest squared error of a center that is believed, as a part of the variance of its direction."""
    doubt: float = 1.0
    """Standard deviations from which a move of many centers is believed beyond what is known of them."""
    proxies: Cells | None = None
    """Cells of the subspace, which show where a center may be split."""

    def step(self, track: Track) -> TrackedCenters:
        """Return the cells after one look, and the centers that they are."""
        origins = np.rint(track.cells.places @ self.basis.T)
        frame = Frame.around(origins)
        times = _first_part(track.left, track.steps, self.growth)
        mends = track.steps > TRACKING.unrepaired
        lengths = TRACKING.lengths if mends else (self._count_length(times, len(origins)), 0.0)
        bound = self.bounds.of_sums(self.looks.plan[POOL], frame, lengths, times=times, before=track.length)
        sums = self.looks.sums(POOL, self.ball, frame, bound, times)
        shift, variance = _common_move(sums, self.bounds.n_points * sums.kept, track.mean_variance)
        apart = sums.residuals - sums.counts[:, None] * shift
        alone = len(apart) == 1 and track.mean_variance > 0  # the common move is that of the only cell
        around = replace(sums, residuals=0 * apart if alone else apart)
        here = replace(track.cells, places=(origins + shift) @ self.basis)
        sharper = times / max(track.times, 1)
        after = moved(here, around, self.variances, self.block, self.basis, reach=self.reach, sharper=sharper, doubt=self.doubt)
        cells = after.cells
        axes = variance + center_variances(
            after.means, after.errors, cells.known, track.cells.known, self.basis, first=self.block, bias=sums.bias
        )
        now = self._centers(track, cells, sums, axes)
        if mends:
            cells = repaired(self.rng, cells, track.k, sums, after.divisor, self.variances)
        length = bound.count_weight / lengths[0]
        left, steps = track.left - times, track.steps - 1
        later = replace(track, cells=cells, mean_variance=variance, left=left, steps=steps, length=length, times=times, square=bound.square)
        return replace(now, track=later)

    def _count_length(self, times: int, n_cells: int) -> float:
        """Return how long the count is next to a residual, in a look that only moves centers: as short as shows it sharply enough."""
        n_points, scale = max(self.bounds.n_points, 1.0), self.looks.plan[POOL].as_one(times).scale
        noise = self.looks.per_unit(n_points) * scale * n_cells / n_points
        return float(np.clip(noise / TRACKING.count_noise, *TRACKING.count_lengths))

    def _centers(self, track: Track, cells: Cells, sums: Sums, variances: FloatArray) -> TrackedCenters:
        """Return k centers: the cells; if these are fewer, the heaviest takes the places of the others."""
        missing, ball = track.k - len(cells), self.ball
        rows = np.concatenate([np.arange(len(cells)), np.full(missing, cells.counts.argmax())])
        counts = np.concatenate([cells.counts, np.zeros(missing)])
        count_noise = sums.count_noise / np.sqrt(1 + CELLS.averaged)
        weak = ", ".join(str(row) for row in np.flatnonzero(counts < CELLS.credible * count_noise))
        hidden = _HIDDEN if len(cells) == 1 else f"clusters {weak} cannot be distinguished from noise"
        return TrackedCenters(
            centers=self.clip(ball.decode(cells.places @ self.basis.T)[rows]),
            counts=counts / sums.kept,
            center_stddev=np.sqrt(variances.mean(axis=1))[rows] * ball.grid,
            axis_stddev=np.sqrt(variances)[rows] * ball.grid,
            place_stddev=np.sqrt(cells.known @ np.square(self.basis).T)[rows] * ball.grid,
            count_stddev=float(count_noise / sums.kept),
            remarks=(hidden,) if weak else (),
            useless=_HIDDEN if weak and len(cells) == 1 else None,
            track=track,
            tracker=self,
        )

    def closing(self, centers: FloatArray, track: Track) -> Closing:
        """Return the sizes and spreads of the clusters around the released centers, and what the last look may have cut off unseen."""
        typical = self.bounds.within((centers - self.ball.center) / self.ball.grid)
        grid, found = self.ball.grid, close(self.looks, self.ball, centers, self.ball.grid * typical)
        if track.square is None:
            return found
        return replace(found, cut_stddev=cut_stddev(found, self.ball.dimension, grid * track.length, grid**2 * track.square))


def _first_part(left: int, steps: int, growth: float) -> int:
    """Return how much of what is left the next look takes, if each of them takes more than the one before by the same factor."""
    if steps <= 1:
        return max(1, left)
    part = left * (growth - 1) / (growth**steps - 1)
    return int(np.clip(round(part), 1, max(1, left - steps + 1)))


def _common_move(sums: Sums, n_points: float, known: float) -> tuple[FloatArray, float]:
    """Return by how much all centers move together, filtered, and the variance of its error: far less noise than in single moves.

    ``known`` is the variance of the error that the mean of all points has so far: it is believed, unless the move is clearly beyond it.
    If it is zero, nothing is known of the mean, and each center moves by itself.
    """
    if known == 0:
        return np.zeros(sums.residuals.shape[1]), 0.0
    m = len(sums.counts)
    total = max(n_points, TINY)
    move, noise = sums.residuals.sum(axis=0) / total, m * (sums.noise / total) ** 2
    own = float(np.square(move).mean()) - noise
    signal = own if own > known + TRACKING.clear_move * (known + noise) * np.sqrt(2 / sums.residuals.shape[1]) else known
    gain = signal / max(signal + noise, SMALLEST) if noise > 0 else 1.0
    return gain * move, gain * noise
