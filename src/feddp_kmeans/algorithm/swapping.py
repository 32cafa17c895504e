"""Swaps: a center that its points can spare moves to where two centers serve better than one.

Looks move each center to the mean of its points, so they end in a local optimum: two centers share one cluster, and elsewhere one center
has two clusters. Before some of the looks in full space one release of 2k numbers shows what each center's points would cost without it,
and what they would save with two in its place; swaps whose gain exceeds their loss by more than noise are made.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.grown_cells import Cells, halves_at_random
from feddp_kmeans.algorithm.looks import noise_per_length
from feddp_kmeans.algorithm.server import SMALLEST
from feddp_kmeans.algorithm.tracking import POOL, Track, Tracker
from feddp_kmeans.algorithm.tuning import TRACKING
from feddp_kmeans.statistics.gate import FARTHEST


@dataclass(frozen=True)
class SwapTuning:
    """The numbers of swaps."""

    rounds: int = 5
    """How often they are looked for: before the last looks that still mend and the first that does not. With two rounds 64 blobs in 16
    dimensions at 0.5 cost 1.108 times the optimum, not 1.058 (48 runs); with none 1.187."""
    share: float = 1 / 32  # largest part of the pool for each of these
    sharp: float = 0.08  # noise in one difference, in mean costs of a cluster, that is sharp enough: that of 64 blobs at 1
    too_noisy: float = 0.4
    """Squared noise of the centers in such a look, in mean costs of a point, above which none is made. 64 blobs in 64 dimensions at 0.5
    have 0.85, and cost 1.16 times the optimum with swaps, 1.13 without (6 runs)."""
    reach: float = 1.0  # difference of squared distances at which it is cut, in mean costs of a point; 1.4 is the same
    clear: float = 1.0  # standard deviations of noise by which a swap must pay; 0.5 and 2 are the same in 16 dimensions


SWAPS = SwapTuning()


def planned_swaps(k: int, dimension: int) -> int:
    """Return how often swaps are looked for: only with more clusters than dimensions, where local optima are many."""
    return SWAPS.rounds if k > dimension else 0


def swapped(tracker: Tracker, track: Track) -> Track:
    """Return the track after a release and the swaps that it shows to pay; the same track if none is looked for now."""
    cells, times = track.cells, _times(tracker, track)
    if times == 0:
        return track
    distances = cdist(cells.places, cells.places, "sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    others, halves = distances.argmin(axis=1), _halves(tracker, cells)
    tables = {"centers": cells.places, "others": cells.places[others], "ones": halves[0], "twos": halves[1]}
    spread = float(np.average(cells.spreads, weights=np.maximum(cells.counts, SMALLEST)))
    losses, gains, noise = tracker.looks.swap_prices(
        POOL,
        tracker.ball,
        {name: places @ tracker.basis.T for name, places in tables.items()},
        float(np.clip(np.sqrt(SWAPS.reach * spread), 1.0, 2 * FARTHEST)),
        float(np.sqrt(tracker.looks.per_unit(tracker.bounds.n_points))),
        times,
    )
    swaps = chosen_swaps(losses, gains, others, SWAPS.clear * float(np.sqrt(2)) * noise)
    return replace(track, cells=_after(cells, swaps, others, halves), left=track.left - times)


def chosen_swaps(losses: FloatArray, gains: FloatArray, others: IntArray, price: float) -> list[tuple[int, int]]:
    """Return pairs of a center to remove and one to split, each of which gains more than it loses by this price.

    No center takes part twice, nor does the one next to a removed center, which gets its points: then gains and losses add up.
    """
    cheapest, taken = np.argsort(losses, kind="stable"), set[int]()
    swaps: list[tuple[int, int]] = []
    for split in np.argsort(-gains, kind="stable"):
        if split in taken:
            continue
        free = (one for one in cheapest if split not in {one, others[one]} and not {one, others[one]} & taken)
        removed = next(free, None)
        if removed is not None and gains[split] - losses[removed] > price:
            swaps.append((int(removed), int(split)))
            taken |= {split, removed, others[removed]}
    return swaps


def _times(tracker: Tracker, track: Track) -> int:
    """Return how many releases show the swaps sharply enough; 0 if none is due, or noise is too high."""
    k, d, n = track.k, tracker.ball.dimension, max(tracker.bounds.n_points, 1.0)
    turn = track.steps - TRACKING.unrepaired
    if not 0 <= turn < planned_swaps(k, d) or len(track.cells) < k or tracker.proxies is None:
        return 0
    release, units = tracker.looks.plan[POOL], tracker.looks.per_unit(n)
    wanted = units * (release.scale * k / n / SWAPS.sharp) ** 2
    times = int(np.clip(np.ceil(wanted), 1, max(1, round(SWAPS.share * release.times))))
    noise = units * noise_per_length(release.as_one(times), n, k, d) ** 2
    return times if noise <= SWAPS.too_noisy and track.left - times >= track.steps else 0


def _halves(tracker: Tracker, cells: Cells) -> FloatArray:
    """Return for each center two places that may take its place: means of the proxies on either side of it.

    They are divided by a plane through their mean, across the direction in which they spread most. Where there are no two proxies the
    places are on either side of the center in a random direction.
    """
    proxies = tracker.proxies
    assert proxies is not None
    p, weights = proxies.places.shape[1], np.maximum(proxies.counts, SMALLEST)
    offsets = halves_at_random(tracker.rng, cells.spreads, tracker.variances)
    halves = np.stack([offsets, -offsets])
    nearest = cdist(proxies.places, cells.places[:, :p], "sqeuclidean").argmin(axis=1)
    for center in np.flatnonzero(np.bincount(nearest, minlength=len(cells)) > 1):
        own = nearest == center
        around = proxies.places[own] - np.average(proxies.places[own], axis=0, weights=weights[own])
        axis = linalg.svd(np.sqrt(weights[own])[:, None] * around, full_matrices=False)[2][0]
        above = around @ axis > 0
        if above.any() and not above.all():
            sides = [np.average(around[side], axis=0, weights=weights[own][side]) for side in (above, ~above)]
            halves[:, center] = np.pad(sides, ((0, 0), (0, halves.shape[2] - p)))
    places: FloatArray = cells.places + halves
    return places


def _after(cells: Cells, swaps: list[tuple[int, int]], others: IntArray, halves: FloatArray) -> Cells:
    """Return the cells with these swaps made: the center next to a removed one gets its points. Of the new places nothing is known."""
    if not swaps:
        return cells
    removed, split = np.array(swaps).T
    after = {name: values.copy() for name, values in vars(cells).items()}
    after["places"][removed], after["places"][split] = halves[0, split], halves[1, split]
    after["counts"][others[removed]] += cells.counts[removed]
    after["counts"][split] /= 2
    for name in ("counts", "spreads"):
        after[name][removed] = after[name][split]
    moved = np.concatenate([removed, split])
    changed = np.concatenate([moved, others[removed]])
    after["known"][moved], after["looks"][changed], after["fresh"][changed] = 0.0, 0.0, True
    return Cells(**after)
