"""Ward's method: a start of k-means from few points."""

from functools import lru_cache

import numpy as np
from scipy.spatial.distance import cdist

from feddp_kmeans._typing import FloatArray


def merged_centers(points: FloatArray, weights: FloatArray, k: int) -> FloatArray:
    """Return k centers: the pair of points whose union costs least becomes one, until k are left (Ward's method)."""
    points, weights = np.asarray(points, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    return _merged(points.shape, points.tobytes(), weights.tobytes(), k).copy()


def forget() -> None:
    """Forget what was found, so that the next run takes as long as a first one."""
    _merged.cache_clear()


@lru_cache(maxsize=2)
def _merged(shape: tuple[int, int], points_read: bytes, weights_read: bytes, k: int) -> FloatArray:
    """Return them for float64 points; a run asks for those of its server points twice.

    What a union costs with each other point follows from what both of its parts cost with it (Lance and Williams). Each row of prices keeps
    its least one and the first place of that, so that a step looks only at rows whose least price has changed. Points that are merged are
    taken out whenever they are half of all.
    """
    points, weights = np.frombuffer(points_read).reshape(shape).copy(), np.frombuffer(weights_read).copy()
    prices = cdist(points, points, "sqeuclidean") * (weights[:, None] * weights / (weights[:, None] + weights))
    np.fill_diagonal(prices, np.inf)
    while True:
        left, places = np.ones(len(points), dtype=bool), prices.argmin(axis=1)
        least = prices[np.arange(len(points)), places]
        for _ in range(len(points) - max(k, len(points) // 2)):
            one = int(least.argmin())
            other = int(places[one])
            both = weights[one] + weights[other]
            shares = (weights[one] + weights) * prices[one] + (weights[other] + weights) * prices[other]
            fresh = (shares - least[one] * weights) / (both + weights)
            points[one] = (points[one] * weights[one] + points[other] * weights[other]) / both
            weights[one] = both
            left[other] = False
            fresh[one] = fresh[other] = np.inf
            prices[other] = prices[:, other] = np.inf
            prices[one] = prices[:, one] = fresh
            least[other], places[other] = np.inf, 0
            stale = left & ((places == one) | (places == other))
            stale[one] = True
            nearer = (fresh < least) | ((fresh == least) & (one < places))
            least[nearer], places[nearer] = fresh[nearer], one
            rows = np.flatnonzero(stale)
            places[rows] = prices[rows].argmin(axis=1)
            least[rows] = prices[rows, places[rows]]
        points, weights, prices = points[left], weights[left], prices[np.ix_(left, left)]
        if len(points) <= k:
            return points
