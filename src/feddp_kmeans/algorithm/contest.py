"""A contest of local optima: where noise is low, a few looks at each cost little, and one release tells which of them costs least.

k-means of a few hundred proxies does not know which of several optima is best for the points they stand for.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.bounds import SimulatedBounds
from feddp_kmeans.algorithm.grown_cells import Cells
from feddp_kmeans.algorithm.looks import Frame
from feddp_kmeans.algorithm.pool import Pool
from feddp_kmeans.algorithm.seeding import seeding_of
from feddp_kmeans.algorithm.server import LEAST_WEIGHT
from feddp_kmeans.algorithm.tracking import POOL, Track, Tracker
from feddp_kmeans.algorithm.tuning import CELLS, TRACKING


@dataclass(frozen=True)
class ContestTuning:
    """The numbers of the contest of several local optima, where noise is so low that a few looks at each cost little."""

    starts: int = 60  # random starts of the k-means that looks for them
    near: float = 0.15  # how much more than the best, as a part of its cost, one may cost
    apart: float = 1e-3  # least difference of their costs, as a part of these
    most: int = 16  # rivals at the start ...
    lead: float = 0.01  # ... of which those that cost this much more than the best, as a part of its cost, have no looks ...
    finalists: int = 3  # ... and of the others at most so many
    steps: int = 10  # looks around each of them
    noise: float = 0.2  # noise of the centers of each, in typical residuals, in one of these looks
    most_each: float = 0.003  # part of the pool beyond which such a look is too dear, and there is no contest
    most_all: float = 0.02  # part of the pool for all of them together; fewer take part if it is not enough
    share: float = 0.006  # part of the pool for their comparison
    settling: int = 16  # looks at the best of them, at most; 10: the mixture in 20 dimensions at 0.5 has 0.31 % excess, not 0.16 % ...
    settling_part: float = 0.01  # ... each with this part of the pool (0.006: 0.21 % there, not 0.15 %; 12 runs), until the centers ...
    still: float = 1.1  # ... move by less than this many times the noise, squared ...
    momentum: float = 0.8  # ... and with this momentum: that mixture has 0.08 % excess at 1, not 0.39 % (6 runs)


CONTEST = ContestTuning()


def local_optima(points: FloatArray, weights: FloatArray, within: float, starts: list[FloatArray], seed: int) -> list[FloatArray]:
    """Return different local optima of weighted k-means, the best first, as many as cost little more than it.

    They are looked for from these starts, the first of which is one of them already, and from random ones. ``within`` is the mean
    squared distance of what a point stands for, which all of them cost.
    """
    from sklearn.cluster import KMeans

    k = len(starts[0])
    heavy = weights > 0
    points, weights = points[heavy], weights[heavy]
    if len(np.unique(points, axis=0)) <= k:
        return starts[:1]
    relative = np.maximum(weights / weights.max(), LEAST_WEIGHT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seeding = seeding_of(relative)
        models = [KMeans(k, init=start, n_init=1).fit(points, sample_weight=relative) for start in starts]
        models += [
            KMeans(k, init=seeding, n_init=1, random_state=seed + turn).fit(points, sample_weight=relative)
            for turn in range(CONTEST.starts)
        ]
    models.sort(key=lambda model: float(model.inertia_))
    least = float(models[0].inertia_)
    whole = least + within * float(relative.sum())
    found: list[Any] = []
    for model in models:
        if model.inertia_ - least <= CONTEST.near * whole and (not found or model.inertia_ > found[-1].inertia_ + CONTEST.apart * whole):
            found.append(model)
    return [model.cluster_centers_ for model in found[: CONTEST.most]]


def costs(tracker: Tracker, bounds: SimulatedBounds, rivals: list[Cells], times: int) -> tuple[FloatArray, float]:
    """Return how much more than their mean each rival costs, and the noise of that. It is one look, made of this many releases."""
    sets = np.stack([np.rint(cells.places @ tracker.basis.T) for cells in rivals])
    return tracker.looks.cost_differences(POOL, tracker.ball, sets, bounds.of_costs(sets), times)


def winner(tracker: Tracker, bounds: SimulatedBounds, track: Track, rivals: list[Cells], times: int, pool: Pool) -> Track:
    """Return the track with that rival in place of its cells that costs least after a few looks, each made of this many releases.

    All rivals are compared as they are; those that cost little more than the best, as many as a small part of the pool allows, have looks
    and are compared again. If there is one only, no look is made.
    """
    most = min(CONTEST.finalists, int(CONTEST.most_all * pool.size / (CONTEST.steps * times)))
    if min(len(rivals), most) < 2:
        return track
    compared = pool.times(CONTEST.share)
    first = costs(tracker, bounds, rivals, compared)[0]
    order = np.argsort(first, kind="stable")[:most]
    best = rivals[order[0]]
    clear = CONTEST.lead * bounds.n_points * bounds.within(best.places @ tracker.basis.T) ** 2
    finalists = [rivals[place] for place in order if first[place] - first[order[0]] <= clear]
    track = replace(track, cells=best, left=track.left - compared)
    if len(finalists) < 2:
        return track
    starts = [replace(track, cells=replace(cells, known=0 * cells.known)) for cells in finalists]
    ends = [_looked(tracker, start, CONTEST.steps, times) for start in starts]
    end = ends[int(costs(tracker, bounds, [end.cells for end in ends], compared)[0].argmin())]
    return replace(end, left=track.left - compared - len(ends) * CONTEST.steps * times)


def settled(tracker: Tracker, track: Track, pool: Pool) -> Track:
    """Return the track after plain Lloyd steps with Nesterov's momentum, as many as are needed for the centers to stand still.

    Centers of overlapping clusters settle slowly, and looks that are averaged with those before hold them back. Beyond the first
    directions, which hold most of the signal, a center moves by as much of its step as is not noise: all of it would lose a small cluster.
    """
    cells, basis, block, places = track.cells, tracker.basis, tracker.block, track.cells.places
    times = pool.times(CONTEST.settling_part)
    for turn in range(CONTEST.settling):
        origins = np.rint(places @ basis.T)
        frame = Frame.around(origins)
        lengths = TRACKING.count_lengths[1], 0.0
        bound = tracker.bounds.of_sums(tracker.looks.plan[POOL], frame, lengths, times=times, before=track.length)
        sums = tracker.looks.sums(POOL, tracker.ball, frame, bound, times)
        means, errors = sums.means(CELLS.least_count)
        steps = means @ basis
        steps[:, block:] *= _signal(steps[:, block:], errors)[:, None]
        inside = tracker.clip(tracker.ball.decode(origins + steps @ basis.T))  # one wrong sum must not send centers anywhere
        reached = ((inside - tracker.ball.center) / tracker.ball.grid) @ basis
        move, noise = reached - cells.places, float(errors.mean() + cells.known.mean())
        known = np.repeat(errors[:, None], reached.shape[1], axis=1)
        cells = replace(cells, places=reached, counts=sums.counts, known=known, looks=np.ones(len(reached)))
        track = replace(track, cells=cells, times=times, left=track.left - times)
        if turn > 0 and float(np.square(move[:, :block]).mean()) < CONTEST.still * noise:
            break
        places = reached + CONTEST.momentum * move
    return track


def _signal(means: FloatArray, errors: FloatArray) -> FloatArray:
    """Return for each center which part of its squared step is not noise."""
    noise = errors * means.shape[1]
    squared = np.square(means).sum(axis=1)
    part: FloatArray = np.clip(1 - noise / np.where(squared > 0, squared, np.inf), 0, 1)
    return part


def _looked(tracker: Tracker, track: Track, looks: int, times: int) -> Track:
    """Return the track after this many looks, of this many releases each; those that are planned for it are still to come."""
    now = track
    for _ in range(looks):
        now = tracker.step(replace(now, left=times, steps=1)).track
    return replace(now, left=track.left - looks * times, steps=track.steps)
