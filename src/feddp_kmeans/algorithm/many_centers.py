"""K-means of very many clusters: for each point the two nearest centers are kept, so that a change of few centers costs little.

Plain Lloyd steps compare every point with every center. Once most centers stand still, and while some are added and taken away, nearly all
of that is known already: only points next to a center that moved are looked at again. Steps are exact, whatever is skipped.
"""

from copy import copy

import numpy as np
from scipy import sparse, spatial
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray

_AT_ONCE = 1 << 16  # distances computed at once: they stay in a processor's cache
_FEW_COLUMNS, _WORTH_A_TREE = 3, 200  # a tree of centers is as fast as comparing points with all of 100 centers, and 3 times with 1,000
_SLACK = 1 + 1e-6  # more than rounding can change a distance
_MOST_STEPS, _TOLERANCE = 300, 1e-4  # as in scikit-learn: the squared shift of all centers, as a part of the variance of a coordinate
_ROUNDS = 16  # draws of starting centers: more find better ones, and each costs a look at all points
_LEAST_DEPTH, _PART = 5, 0.05  # centers that are added and taken away at first, at least and as a part of all; fewer when nothing is gained
_LEAST_GAIN = 1e-4  # part of the cost


class Partition:
    """Weighted points around centers. A center that has no points stays where it is."""

    def __init__(self, points: FloatArray, weights: FloatArray, centers: FloatArray) -> None:
        self._middle = points.mean(axis=0)  # distances are computed from products, which are most exact around zero
        self.points, self.weights, self._centers = points - self._middle, weights, centers - self._middle
        self._squares = np.square(self.points).sum(axis=1)
        self._stop = _TOLERANCE * float(self.points.var(axis=0).mean())
        self.nearest, self.distances = self._two_nearest(np.arange(len(points)), np.arange(len(centers)))
        self._changed = np.ones(len(centers), dtype=bool)

    @property
    def centers(self) -> FloatArray:
        """Return the centers."""
        centers: FloatArray = self._centers + self._middle
        return centers

    @property
    def cost(self) -> float:
        """Return the weighted sum of squared distances to the nearest centers."""
        return float(self.weights @ self.distances[:, 0])

    def __copy__(self) -> "Partition":
        """Return a partition that changes on its own."""
        copied = Partition.__new__(Partition)
        vars(copied).update(vars(self))
        for name in ("_centers", "nearest", "distances", "_changed"):
            setattr(copied, name, getattr(self, name).copy())
        return copied

    def settle(self) -> None:
        """Make Lloyd steps until no point changes its center, or centers hardly move."""
        for _ in range(_MOST_STEPS):
            chosen = np.flatnonzero(self._changed)
            rows = np.flatnonzero(self._changed[self.nearest[:, 0]])
            self._changed[:] = False
            places = np.searchsorted(chosen, self.nearest[rows, 0])
            shares = sparse.csr_matrix((self.weights[rows], (places, np.arange(len(rows)))), shape=(len(chosen), len(rows)))
            totals = np.bincount(places, self.weights[rows], minlength=len(chosen))
            held = totals > 0
            chosen, means = chosen[held], (shares @ self.points[rows])[held] / totals[held, None]
            shifts = np.square(means - self._centers[chosen]).sum(axis=1)
            self._centers[chosen] = means
            self._refresh(chosen[shifts > 0])
            if float(shifts.sum()) <= self._stop:
                return

    def add(self, places: FloatArray) -> None:
        """Add centers at these rows of the points."""
        first = len(self._centers)
        self._centers = np.vstack([self._centers, places])
        self._changed = np.append(self._changed, np.ones(len(places), dtype=bool))
        self._refresh(np.arange(first, len(self._centers)))

    def remove(self, gone: IntArray) -> None:
        """Take centers away; at least two are left."""
        left = np.ones(len(self._centers), dtype=bool)
        left[gone] = False
        stale = np.flatnonzero(~left[self.nearest].all(axis=1))
        orphans = stale[~left[self.nearest[stale, 0]]]
        self.nearest = (np.cumsum(left) - 1)[self.nearest]
        self._centers, self._changed = self._centers[left], self._changed[left]
        self.nearest[stale], self.distances[stale] = self._two_nearest(stale, np.arange(len(self._centers)))
        self._changed[self.nearest[orphans, 0]] = True

    def _refresh(self, moved: IntArray) -> None:
        """Find the two nearest centers again after some have moved, and note which clusters have other points than before."""
        if not len(moved):
            return
        before = self.nearest[:, 0].copy()
        is_moved = np.zeros(len(self._centers), dtype=bool)
        is_moved[moved] = True
        stale = is_moved[self.nearest].any(axis=1)
        self._compare(np.flatnonzero(~stale & self._in_reach(moved)[self.nearest[:, 0]]), moved)
        rows = np.flatnonzero(stale)
        self.nearest[rows], self.distances[rows] = self._two_nearest(rows, np.arange(len(self._centers)))
        other = before != self.nearest[:, 0]
        self._changed[before[other]] = True
        self._changed[self.nearest[other, 0]] = True

    def _in_reach(self, moved: IntArray) -> BoolArray:
        """Return for each cluster whether a center that moved can be one of the nearest two of a point in it."""
        members, lengths = self.nearest[:, 0], np.sqrt(self.distances)
        reach = np.zeros((2, len(self._centers)))
        for place in range(2):
            np.maximum.at(reach[place], members, lengths[:, place])
        apart = np.sqrt(cdist(self._centers, self._centers[moved], "sqeuclidean").min(axis=1))
        in_reach: BoolArray = apart <= reach.sum(axis=0) * _SLACK
        return in_reach

    def _compare(self, rows: IntArray, moved: IntArray) -> None:
        """Compare points, whose own two centers stand still, with those that moved."""
        found, distances = self._two_nearest(rows, moved)
        nearer = distances[:, 0] < self.distances[rows, 1]
        rows = rows[nearer]
        four, far = np.hstack([self.nearest[rows], found[nearer]]), np.hstack([self.distances[rows], distances[nearer]])
        order = np.argsort(far, axis=1, kind="stable")[:, :2]
        self.nearest[rows], self.distances[rows] = (np.take_along_axis(values, order, axis=1) for values in (four, far))

    def _two_nearest(self, rows: IntArray, among: IntArray) -> tuple[IntArray, FloatArray]:
        """Return for these points the nearest two of some centers, and their squared distances; infinity if there is only one."""
        found, distances = np.zeros((len(rows), 2), dtype=np.int64), np.full((len(rows), 2), np.inf)
        centers = self._centers[among]
        if centers.shape[1] <= _FEW_COLUMNS and len(among) > _WORTH_A_TREE:
            lengths, places = spatial.cKDTree(centers).query(self.points[rows], 2)
            return among[places], np.square(lengths)
        halves, step = np.square(centers).sum(axis=1) / 2, max(1, _AT_ONCE // max(len(among), 1))
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            scores = halves - self.points[rows[some]] @ centers.T
            each = np.arange(len(scores))
            for place in range(min(2, len(among))):
                best = scores.argmin(axis=1)
                found[some, place], distances[some, place] = among[best], 2 * scores[each, best]
                scores[each, best] = np.inf
        return found, np.maximum(distances + self._squares[rows, None], 0.0)


def many_centers(points: FloatArray, weights: FloatArray, k: int, seed: int) -> FloatArray:
    """Return k centers of the weighted points, of which there are more: drawn once, and moved across the space as in ``breathing.py``."""
    rng = np.random.default_rng(seed)
    now = Partition(points, weights, points[_drawn(points, weights, k, rng)])
    now.settle()
    depth = min(max(_LEAST_DEPTH, int(_PART * k)), k - 2, len(points) - k)
    while depth > 0:
        new = copy(now)
        new.add(new.points[_where_cost_is(new, depth, rng)])
        new.settle()
        new.remove(_least_useful(new, depth))
        new.settle()
        if new.cost < now.cost * (1 - _LEAST_GAIN):
            now = new
        else:
            depth -= max(1, depth // 3)
    return now.centers


def _drawn(points: FloatArray, weights: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """Return k rows, drawn by their cost, some at a time (k-means++ in rounds)."""
    chosen = rng.choice(len(points), 1, p=weights / weights.sum())
    start = Partition(points, weights, points[chosen])
    while len(chosen) < k:
        number = min(k - len(chosen), len(chosen), max(1, k // _ROUNDS))
        costs = weights * start.distances[:, 0]
        costs[chosen] = 0.0
        if np.count_nonzero(costs) < number:  # all other points are where one was drawn already
            costs = np.ones(len(points))
            costs[chosen] = 0.0
        new = rng.choice(len(points), number, replace=False, p=costs / costs.sum())
        start.add(start.points[new])
        chosen = np.append(chosen, new)
    return chosen


def _where_cost_is(now: Partition, number: int, rng: np.random.Generator) -> IntArray:
    """Return a point of each of the costliest clusters, drawn by its own cost."""
    members, costs = now.nearest[:, 0], now.weights * now.distances[:, 0]
    totals = np.bincount(members, costs)
    rows = [np.flatnonzero(members == cluster) for cluster in np.argsort(totals)[-number:]]
    return np.array([int(rng.choice(own, p=costs[own] / costs[own].sum() if costs[own].sum() > 0 else None)) for own in rows])


def _least_useful(now: Partition, number: int) -> IntArray:
    """Return the centers without which the cost rises least; of two that are next to each other only one."""
    centers = now.centers
    use = np.bincount(now.nearest[:, 0], now.weights * (now.distances[:, 1] - now.distances[:, 0]), minlength=len(centers))
    order = np.argsort(use)
    is_free, gone = np.ones(len(centers), dtype=bool), np.zeros(len(centers), dtype=bool)
    for center in order:
        if is_free[center]:
            gone[center] = True
            squares = np.square(centers - centers[center]).sum(axis=1)
            squares[center] = np.inf
            is_free[squares.argmin()] = False
        if np.count_nonzero(gone) == number:
            break
    more = order[~gone[order]][: number - np.count_nonzero(gone)]
    return np.append(np.flatnonzero(gone), more)
