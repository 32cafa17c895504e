"""Starting centers of k-means, drawn as scikit-learn draws them (k-means++), for many restarts on the same few points."""

import numpy as np
from numpy.random import RandomState

from feddp_kmeans._typing import FloatArray

_MOST_POINTS = 2048
"""Most points whose pairs are kept: 32 MB."""


def seeding_of(weights: FloatArray) -> "Seeding | str":
    """Return what ``KMeans`` takes as ``init`` for points of these weights: the same draws in either case."""
    return Seeding(weights) if len(weights) <= _MOST_POINTS else "k-means++"


class Seeding:
    """What scikit-learn's ``KMeans`` takes as ``init``: its own k-means++, draw for draw, with all distances computed once.

    scikit-learn computes them again for every center of every restart, and checks its arguments each time: on 600 points in 100 dimensions
    that takes three quarters of the time of a restart.
    """

    def __init__(self, weights: FloatArray) -> None:
        self._weights = weights
        self._squares: FloatArray | None = None

    def __call__(self, points: FloatArray, k: int, random_state: RandomState) -> FloatArray:
        """Return k of the points, always the same points: the next is the best of a few drawn by their weighted squared distances."""
        if self._squares is None:
            from sklearn.metrics.pairwise import euclidean_distances

            self._squares = euclidean_distances(points, squared=True)
        weights, trials = self._weights, 2 + int(np.log(k))
        chosen = [int(random_state.choice(len(points), p=weights / weights.sum()))]
        nearest = self._squares[chosen[0]]
        cost = nearest @ weights
        while len(chosen) < k:
            drawn = np.searchsorted(np.cumsum(weights * nearest), random_state.uniform(size=trials) * cost)
            drawn = np.minimum(drawn, len(points) - 1)
            squares = np.minimum(nearest, self._squares[drawn])
            costs = squares @ weights
            best = int(costs.argmin())
            nearest, cost = squares[best], costs[best]
            chosen.append(int(drawn[best]))
        return points[chosen]
