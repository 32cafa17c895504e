"""Choosing k: the largest number of clusters that are all apart from each other, seen on the proxies at no further privacy cost.

Two clusters are apart if the distance of their means is at least 1.8 times the sum of their standard deviations. However a single cluster
is cut in two, its parts are closer: halves of a uniform interval have sqrt(3) = 1.73, halves of a Gaussian 1.32. Spread is measured along
the line between the means, but is at least the mean spread over all directions, as k-means sees it. Points that the tails of other clusters
explain are no cluster. Why, with rates: docs/choosing_k.md.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.algorithm.feddp_init import Proxies
from feddp_kmeans.algorithm.server import SMALLEST, weighted_kmeans
from feddp_kmeans.algorithm.tuning import CHOOSING


@dataclass(frozen=True)
class Elbow:
    """The costs for every number of clusters tried, how far apart the clusters are, and the number picked."""

    numbers: tuple[int, ...]
    costs: tuple[float, ...]
    """Weighted within-cluster sum of squares of the proxies, per unit of weight."""
    separations: tuple[float, ...]
    """Distance of the closest two clusters, in sums of their standard deviations; 0 for one cluster, or if one may be noise or fringe."""
    picked: int

    @property
    def is_clear(self) -> bool:
        """Return whether the clusters are apart, and are not as many as were tried."""
        return self.picked < self.numbers[-1] and self.separations[self.picked - 1] >= CHOOSING.apart

    @property
    def why(self) -> str:
        """Return in a sentence why this number was picked."""
        if self.picked == 1:
            best = f"the largest separation of the closest two is {max(self.separations):.2f}, and {CHOOSING.apart} is apart"
            return f"no clear number of clusters: {best}; give n_clusters if you want more than one"
        here = f"the closest two of {self.picked} clusters have a separation of {self.separations[self.picked - 1]:.2f}"
        if self.picked == self.numbers[-1]:
            return f"{here}; more were not tried, so there may be more: raise max_clusters"
        return f"{here}, which is apart; those of {self.picked + 1} have {self.separations[self.picked]:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain data."""
        lists = {name: list(getattr(self, name)) for name in ("numbers", "costs", "separations")}
        return lists | {"picked": self.picked, "is_clear": self.is_clear, "why": self.why}


@dataclass(frozen=True)
class _Groups:
    """Groups of proxies with the moments of the points that these stand for."""

    members: IntArray
    """The group of each proxy."""
    weights: FloatArray
    sizes: IntArray
    """Proxies in each group."""
    means: FloatArray
    covariances: FloatArray

    @classmethod
    def around(cls, proxies: Proxies, centers: FloatArray) -> Self:
        """Return the groups that weighted Lloyd steps from these centers end in; a group that becomes empty is left out."""
        points, weights = proxies.points, proxies.weights
        for _ in range(CHOOSING.lloyd_steps):
            nearest = cdist(points, centers, "sqeuclidean").argmin(axis=1)
            found, members = np.unique(nearest, return_inverse=True)
            shares = (members == np.arange(len(found))[:, None]) * weights
            totals = shares.sum(axis=1)
            moved = shares @ points / totals[:, None]
            if moved.shape == centers.shape and np.array_equal(moved, centers):
                break
            centers = moved
        parts = shares / totals[:, None]
        within = parts @ np.broadcast_to(proxies.variance, len(points))
        seconds = np.stack([(points * part[:, None]).T @ points for part in parts])
        covariances = seconds - centers[:, :, None] * centers[:, None, :] + within[:, None, None] * np.eye(points.shape[1])
        return cls(members, totals, np.count_nonzero(shares, axis=1), centers, covariances)

    @cached_property
    def squares(self) -> FloatArray:
        """Return the squared distances of the means."""
        found: FloatArray = cdist(self.means, self.means, "sqeuclidean")
        return found

    @cached_property
    def spreads(self) -> FloatArray:
        """Return the standard deviation of each group along the line to each other one, but at least that over all directions."""
        steps = self.means[:, None] - self.means[None]
        along = np.einsum("ijp,ipq,ijq->ij", steps, self.covariances, steps) / np.maximum(self.squares, SMALLEST)
        mean = np.trace(self.covariances, axis1=1, axis2=2) / self.means.shape[1]
        found: FloatArray = np.sqrt(np.maximum(np.maximum(along, mean[:, None]), 0.0))
        return found

    @cached_property
    def tails(self) -> FloatArray:
        """Return the weight of each group that the tails of heavier ones explain: if these were normal, so much would be nearer to it."""
        beyond = self.weights[:, None] * ndtr(-np.sqrt(self.squares) / (2 * np.maximum(self.spreads, SMALLEST)))
        explained: FloatArray = np.where(self.weights[:, None] > self.weights, beyond, 0.0).sum(axis=0)
        return explained

    @property
    def fringe(self) -> BoolArray:
        """Return which groups are fringe: most of their points belong to others."""
        found: BoolArray = self.tails > CHOOSING.fringe * self.weights
        return found

    def separations(self, place_noise: float) -> FloatArray:
        """Return how far each two groups are apart, in sums of their standard deviations; what noise adds to a distance is subtracted."""
        noise = self.means.shape[1] * place_noise**2 * self.sizes / np.square(self.weights)
        distances = np.sqrt(np.maximum(self.squares - noise[:, None] - noise[None], 0.0))
        found: FloatArray = distances / np.maximum(self.spreads + self.spreads.T, SMALLEST)
        np.fill_diagonal(found, np.inf)
        return found

    def light(self, proxies: Proxies) -> BoolArray:
        """Return which groups are too light to be called a cluster: they may be fringe, noise only, or a few outliers."""
        noise = CHOOSING.credible * proxies.weight_noise * np.sqrt(self.sizes)
        few: BoolArray = self.weights - self.tails < np.maximum(noise, CHOOSING.least_share * self.weights.sum())
        return few | self.fringe

    def least_separation(self, proxies: Proxies) -> float:
        """Return how far the closest two groups are apart; 0 if one is too light to be called a cluster."""
        if len(self.weights) == 1 or self.light(proxies).any():
            return 0.0
        return float(self.separations(proxies.place_noise).min())

    def merged(self, proxies: Proxies) -> FloatArray:
        """Return the centers with the two merged that raise the cost least (Ward); a light group is merged before any other."""
        increases = self.squares * (self.weights[:, None] * self.weights / (self.weights[:, None] + self.weights))
        np.fill_diagonal(increases, np.inf)
        if (light := self.light(proxies)).any():
            increases[~light] = np.inf
        i, j = np.unravel_index(increases.argmin(), increases.shape)
        centers = np.delete(self.means, j, axis=0)
        both = self.weights[[i, j]] / self.weights[[i, j]].sum()
        centers[i - (i > j)] = both @ self.means[[i, j]]
        return centers


def find_elbow(proxies: Proxies, largest: int, seed: int) -> Elbow:
    """Return the costs and separations of 1 to ``largest`` clusters of the proxies, and the largest number that are all apart.

    Starts are shared: weighted k-means for the largest number, and fringe is dropped; then two clusters are merged and Lloyd steps follow,
    down to one cluster.
    """
    proxies = _supported(proxies)
    groups = _Groups.around(proxies, weighted_kmeans(proxies.points, proxies.weights, largest, seed, CHOOSING.restarts))
    costs, separations = np.zeros(largest), np.zeros(largest)
    fringe = groups.fringe & (groups.weights @ groups.fringe < groups.weights.sum() / 2)
    means = groups.means[np.argsort(fringe, kind="stable")]
    for k in range(len(means), int(np.sum(~fringe)), -1):
        costs[k - 1] = _cost(proxies, means[:k])
    inner = _part(proxies, ~fringe[groups.members])
    groups = _Groups.around(inner, groups.means[~fringe])
    for k in range(len(groups.means), 0, -1):
        if len(groups.means) > k:
            groups = _Groups.around(inner, groups.merged(inner))
        costs[k - 1] = _cost(proxies, groups.means)
        separations[k - 1] = groups.least_separation(inner) if len(groups.means) == k else 0.0
    costs = np.minimum.accumulate(costs)  # one more cluster never costs more
    apart = np.flatnonzero(separations >= CHOOSING.apart)
    picked = int(apart[-1]) + 1 if len(apart) else 1
    return Elbow(tuple(range(1, largest + 1)), tuple(costs.tolist()), tuple(separations.tolist()), picked)


def _cost(proxies: Proxies, means: FloatArray) -> float:
    """Return the cost of the proxies, per unit of weight."""
    squares = cdist(proxies.points, means, "sqeuclidean").min(axis=1)
    return float(squares @ proxies.weights / proxies.weights.sum())


def _part(proxies: Proxies, kept: BoolArray) -> Proxies:
    """Return some of the proxies."""
    variance = np.broadcast_to(proxies.variance, len(kept))[kept]
    return replace(proxies, points=proxies.points[kept], weights=proxies.weights[kept], variance=variance)


def _supported(proxies: Proxies) -> Proxies:
    """Return the proxies around their mean, without those that may be noise only, by themselves and together with their neighbours.

    If that would leave less than half of the weight, all that have weight stay.
    """
    weights, points, noise = proxies.weights, proxies.points, proxies.weight_noise
    credible = np.sqrt(2 * np.log(max(2, len(weights)))) * noise
    kept, light = weights > 0, np.flatnonzero((weights > 0) & (weights < credible))
    if len(light) and len(weights) <= CHOOSING.most_proxies:
        near = cdist(points[light], points) < 2 * CHOOSING.apart * np.sqrt(np.mean(proxies.variance))
        numbers = near.sum(axis=1)
        kept[light] = near @ weights - CHOOSING.noise_mean * noise * (numbers - 1) >= credible * np.sqrt(numbers)
        if weights[kept].sum() < weights.sum() / 2:
            kept = weights > 0
    points = points - weights[kept] @ points[kept] / weights[kept].sum()
    return _part(replace(proxies, points=points), kept)
