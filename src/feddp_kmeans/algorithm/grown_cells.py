"""Cells: centers that noisy looks move, split and join, with what is known about each. Post-processing, at no privacy cost."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.algorithm.looks import TINY, Sums
from feddp_kmeans.algorithm.server import SMALLEST, filtered, weighted_kmeans
from feddp_kmeans.algorithm.tuning import CELLS, CHOOSING
from feddp_kmeans.statistics.gate import FARTHEST

_FARTHEST_CELL = FARTHEST / 4
"""Norm of a cell's place, in steps, that no look moves it beyond: 64 radii. Where all is noise, one wrong sum makes the next one larger."""


@dataclass(frozen=True)
class Cells:
    """Centers in a basis sorted by variance, and what the looks so far have shown of each; one row per cell."""

    places: FloatArray
    known: FloatArray
    """Variance of the error that each coordinate is known to have."""
    counts: FloatArray
    """Noisy number of points, averaged over ``looks``."""
    looks: FloatArray
    """How many looks there were, each as sharp as the last one."""
    spreads: FloatArray
    """Noisy mean squared distance of a cell's points from its center."""
    fresh: BoolArray
    """Whether the cell comes from a split that no look has seen: where it will move is not known."""

    @classmethod
    def unseen(cls, places: FloatArray, counts: FloatArray | IntArray, spread: float) -> "Cells":
        """Return cells that no look has seen."""
        zeros = np.zeros(len(places))
        return cls(places, np.zeros_like(places), counts.astype(np.float64), zeros, zeros + spread, zeros > 0)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.places)

    @property
    def place_noise(self) -> float:
        """Return the standard deviation of the noise in a coordinate of a typical cell, times its count."""
        return float(np.median(np.sqrt(self.known.mean(axis=1)) * self.counts))

    @property
    def variance(self) -> FloatArray:
        """Return the variance of the points around each cell along one direction, less the noise that the cells' own scatter holds."""
        found: FloatArray = np.maximum(self.spreads / self.places.shape[1] - self.known.mean(axis=1), 0.0)
        return found

    def of(self, rows: BoolArray | IntArray) -> "Cells":
        """Return some of the cells."""
        return Cells(**{name: values[rows] for name, values in vars(self).items()})

    def with_all(self, other: "Cells") -> "Cells":
        """Return these cells and the others after them."""
        return Cells(**{name: np.concatenate([values, vars(other)[name]]) for name, values in vars(self).items()})

    def widened(self, dimension: int) -> "Cells":
        """Return the cells in all directions of the basis: beyond those they have, their places are zero and nothing is known."""
        missing = ((0, 0), (0, dimension - self.places.shape[1]))
        return replace(self, places=np.pad(self.places, missing), known=np.pad(self.known, missing))


def first_cells(rng: np.random.Generator, variances: FloatArray, n_points: float, most: float) -> Cells:
    """Return at most ``most`` cells: one for every pattern of signs along some directions, which cut the points into halves each."""
    p = len(variances)
    cuts = int(np.clip(np.floor(np.log2(max(most, 1.0))), 0, p))
    directions = np.linalg.qr(rng.standard_normal((p, cuts)) * variances[:, None])[0]
    signs = 2.0 * ((np.arange(2**cuts)[:, None] >> np.arange(cuts)) & 1) - 1
    halves = CELLS.half * np.sqrt(np.square(directions).T @ variances)
    count, zeros = 2**cuts, np.zeros((2**cuts, p))
    counts, looks, spreads = (np.full(count, float(value)) for value in (n_points / count, 0.0, variances.sum()))
    return Cells((signs * halves) @ directions.T, zeros, counts, looks, spreads, np.full(count, cuts > 0))


def split(rng: np.random.Generator, cells: Cells, chosen: IntArray, variances: FloatArray) -> Cells:
    """Return the cells with each chosen one replaced by two, on either side of it along a random direction of the points."""
    if not len(chosen):
        return cells
    kept = np.setdiff1d(np.arange(len(cells)), chosen)
    return cells.of(kept).with_all(_in_two(cells.of(chosen), halves_at_random(rng, cells.spreads[chosen], variances)))


def halves_at_random(rng: np.random.Generator, spreads: FloatArray, variances: FloatArray) -> FloatArray:
    """Return how far the halves of cells of these spreads are put from them, each along a random direction of the points."""
    directions = rng.standard_normal((len(spreads), len(variances))) * np.sqrt(variances)
    directions /= np.maximum(np.linalg.norm(directions, axis=1), SMALLEST)[:, None]
    part = np.square(directions) @ variances / max(float(variances.sum()), SMALLEST)
    halves: FloatArray = CELLS.half * np.sqrt(np.maximum(spreads, 0.0) * part)[:, None] * directions
    return halves


def _in_two(cells: Cells, halves: FloatArray) -> Cells:
    """Return two cells for each, on either side of it."""
    m = len(cells)
    both = replace(cells, counts=cells.counts / 2, looks=np.zeros(m), known=np.zeros_like(cells.known), fresh=np.ones(m, dtype=bool))
    return replace(both, places=cells.places + halves).with_all(replace(both, places=cells.places - halves))


def for_choosing(rng: np.random.Generator, cells: Cells, turn: int, k: int, sums: Sums, variances: FloatArray) -> Cells:
    """Return the cells for this look of those that k is chosen by; k is the largest number that is tried, ``sums`` is the last look.

    First the cells are gathered into k: of these hardly any lies between clusters. Then those that hold two clusters are mended. At last
    each is cut in two across the line to the one that it is least apart from: the means of its halves show its spread along this line.
    """
    if turn == 0:
        return gathered(cells, k, int(rng.integers(1 << 31)))
    if turn < CHOOSING.gathered:
        return repaired(rng, cells, k, sums, np.maximum(cells.counts, TINY), variances)
    return _halved(cells) if turn == CHOOSING.gathered else cells


def gathered(cells: Cells, k: int, seed: int) -> Cells:
    """Return at most k cells, into which weighted k-means gathers these."""
    if len(cells) <= k:
        return cells
    centers = weighted_kmeans(cells.places, np.maximum(cells.counts, SMALLEST), k, seed)
    return joined(cells, cdist(cells.places, centers, "sqeuclidean").argmin(axis=1), k)


def _halved(cells: Cells) -> Cells:
    """Return two cells for each, on either side of it along the line to the one that it is least apart from."""
    if len(cells) == 1:
        return cells
    spreads = np.sqrt(cells.variance)
    distances = np.maximum(cdist(cells.places, cells.places), TINY)
    np.fill_diagonal(distances, np.inf)
    nearest = (distances / np.maximum(spreads[:, None] + spreads, TINY)).argmin(axis=1)
    lines = (cells.places[nearest] - cells.places) / distances[np.arange(len(cells)), nearest, None]
    return _in_two(cells, CELLS.half * spreads[:, None] * lines)


@dataclass(frozen=True)
class Moved:
    """Cells after a look, the mean residuals that it showed, the variance of their noise, and the counts they were divided by."""

    cells: Cells
    means: FloatArray
    errors: FloatArray
    divisor: FloatArray


def moved(
    cells: Cells,
    sums: Sums,
    variances: FloatArray,
    block: int,
    basis: FloatArray | None = None,
    *,
    reach: float = CELLS.largest_signal,
    sharper: float = 1.0,
    doubt: float = 1.0,
) -> Moved:
    """Return the cells after a look, moved to where it shows their points as far as noise does not explain it.

    ``basis`` turns the look's coordinates into those of the cells. Fresh cells may move anywhere; others are known to some error, no larger
    than ``reach`` times the variance of the points, and a look is averaged with those before (see ``filtered``). Counts are averaged
    over a few looks, unless they change by more than noise; this one may be ``sharper`` than those before, by this factor of the squared
    noise. ``doubt`` is that of ``filtered``.
    """
    seen = np.minimum(cells.looks / sharper, CELLS.averaged)
    change = np.abs(sums.counts - cells.counts)
    seen = np.where(change > CELLS.count_change * sums.count_noise * np.sqrt(1 + 1 / np.maximum(seen, 1.0)), 0.0, seen)
    counts = (cells.counts * seen + sums.counts) / (seen + 1)
    averaged = replace(sums, counts=counts)
    means, errors = averaged.means(CELLS.least_count / np.sqrt(seen + 1))
    if basis is not None:
        means = means @ basis
    moves, known = np.zeros_like(means), np.zeros_like(means)
    for rows, part in ((cells.fresh, 1.0), (~cells.fresh, reach)):
        if rows.any():
            moves[rows], known[rows] = filtered(means[rows], errors[rows], block, part * variances, cells.known[rows], doubt=doubt)
    divisor = sums.noise / np.sqrt(np.maximum(errors, SMALLEST)) if sums.noise > 0 else np.maximum(counts, TINY)
    spreads = cells.spreads
    if sums.squares is not None:
        spreads = np.maximum(sums.squares / divisor - np.square(moves).sum(axis=1), CELLS.least_spread * variances.sum())
    looks = np.minimum(seen + 1, CELLS.averaged)
    places = _in_reach(cells.places + moves)
    return Moved(Cells(places, known, counts, looks, spreads, np.zeros(len(cells), dtype=bool)), means, errors, divisor)


def _in_reach(places: FloatArray) -> FloatArray:
    norms = np.linalg.norm(places, axis=1, keepdims=True)
    reached: FloatArray = places * np.minimum(1.0, _FARTHEST_CELL / np.maximum(norms, 1.0))
    return reached


def grown(rng: np.random.Generator, cells: Cells, need: float, most: int, turns: int, variances: FloatArray) -> Cells:
    """Return the cells with those split that hold enough points: once, or more often if ``most`` would not be reached in so many turns."""
    for _ in range(max(1, math.ceil(math.log2(most / len(cells)) / turns))):
        cells = split(rng, cells, largest(cells, need, most - len(cells)), variances)
    return cells


def largest(cells: Cells, need: float, room: int) -> IntArray:
    """Return the cells to split: those with enough points for their halves to stand above noise, the costliest first."""
    costs = cells.counts * cells.spreads
    able = np.flatnonzero((cells.counts > need) & (costs > CELLS.least_cost * costs.mean()))
    chosen: IntArray = able[np.argsort(-costs[able], kind="stable")][: max(0, room)]
    return chosen


def credible(cells: Cells, sums: Sums, level: float = CELLS.credible) -> Cells:
    """Return the cells of this look whose counts are hardly noise only, above this many standard deviations; at least the heaviest.

    Points far from their center are scaled down, so that they hardly count; but their residuals add up to more than noise.
    """
    squares, p = np.square(sums.residuals).sum(axis=1), sums.residuals.shape[1]
    clear = cells.counts > level * sums.count_noise / np.sqrt(np.maximum(cells.looks, 1.0))
    clear |= squares > sums.noise**2 * (p + CELLS.far * np.sqrt(2 * p))
    clear[cells.counts.argmax()] = True
    return cells.of(clear)


def joined(cells: Cells, members: IntArray, k: int) -> Cells:
    """Return the cells that their members are joined to: weighted means, with the error that this leaves."""
    weights = np.maximum(cells.counts, SMALLEST)
    shares = np.zeros((k, len(cells)))
    shares[members, np.arange(len(cells))] = weights
    shares /= np.maximum(shares.sum(axis=1), SMALLEST)[:, None]
    places = shares @ cells.places
    spreads = shares @ (cells.spreads + np.square(cells.places - places[members]).sum(axis=1))
    counts = np.bincount(members, weights, minlength=k).astype(np.float64)
    looks = np.full(k, float(cells.looks.min()))
    return Cells(places, np.square(shares) @ cells.known, counts, looks, spreads, np.zeros(k, dtype=bool))


def repaired(rng: np.random.Generator, cells: Cells, k: int, sums: Sums, divisor: FloatArray, variances: FloatArray) -> Cells:
    """Return the cells with those that hold far more spread than usual split, each time at the cost of the closest pair becoming one.

    A cell that holds two clusters has a much larger spread than the others. How much a split gains is taken to be what its spread is above
    the median, less the noise of squares and counts. While there are fewer than k cells no pair is joined.
    """
    if len(cells) < 2 or sums.squares is None:
        return cells
    usual = np.median(cells.spreads)
    errors = np.hypot(sums.square_noise, cells.spreads * sums.count_noise / np.sqrt(np.maximum(cells.looks, 1.0)))
    gains = (cells.spreads - usual) * divisor - (CELLS.clear if len(cells) >= k else CELLS.clear_with_room) * errors
    held = np.maximum(cells.counts, TINY)
    pairs = np.square(cells.places[:, None] - cells.places[None]).sum(axis=2) * (held[:, None] * held / (held[:, None] + held))
    np.fill_diagonal(pairs, np.inf)
    room, chosen, members = k - len(cells), [], np.arange(len(cells))
    for row in np.argsort(-gains, kind="stable"):
        if gains[row] <= 0:
            break
        if not np.isfinite(pairs[row]).any():  # it was joined to another
            continue
        if room <= 0:
            others = np.delete(np.arange(len(cells)), row)
            one, other = np.unravel_index(pairs[np.ix_(others, others)].argmin(), (len(others), len(others)))
            one, other = others[one], others[other]
            if not pairs[one, other] < CELLS.join_price * gains[row]:
                continue
            members[other] = one
            pairs[[one, other]] = pairs[:, [one, other]] = np.inf
            room += 1
        room -= 1
        chosen.append(row)
        pairs[row] = pairs[:, row] = np.inf
    if not chosen:
        return cells
    left, places = np.unique(members, return_inverse=True)
    alone = np.bincount(places, minlength=len(left)) == 1
    merged = joined(cells, places, len(left))
    unchanged = cells.of(left)
    merged = Cells(
        **{name: np.where(alone if v.ndim == 1 else alone[:, None], v, vars(merged)[name]) for name, v in vars(unchanged).items()}
    )
    return split(rng, merged, np.searchsorted(left, chosen), variances)
