"""Choosing k: the largest number of clusters that are all apart from each other, seen on the proxies at no further privacy cost.

Two clusters are apart if the distance of their means is at least 1.8 times the sum of their standard deviations. However a single cluster
is cut in two, its parts are closer: halves of a uniform interval have sqrt(3) = 1.73, halves of a Gaussian 1.32. Spread is measured along
the line between the means, but is at least the mean spread over all directions, as k-means sees it. Why, with rates: docs/choosing_k.md.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

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
    """Distance of the closest two clusters, in sums of their standard deviations; 0 for one cluster, or if one may be noise only."""
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
        kind = "apart" if self.is_clear else "nearly apart, so the number is not clear"
        return f"{here}, which is {kind}; those of {self.picked + 1} have {self.separations[self.picked]:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain data."""
        lists = {name: list(getattr(self, name)) for name in ("numbers", "costs", "separations")}
        return lists | {"picked": self.picked, "is_clear": self.is_clear, "why": self.why}


@dataclass(frozen=True)
class _Groups:
    """Groups of proxies with the moments of the points that these stand for."""

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
            members = cdist(points, centers, "sqeuclidean").argmin(axis=1)
            shares = (members == np.unique(members)[:, None]) * weights
            totals = shares.sum(axis=1)
            moved = shares @ points / totals[:, None]
            if moved.shape == centers.shape and np.array_equal(moved, centers):
                break
            centers = moved
        parts = shares / totals[:, None]
        within = parts @ np.broadcast_to(proxies.variance, len(points))
        seconds = np.stack([(points * part[:, None]).T @ points for part in parts])
        covariances = seconds - centers[:, :, None] * centers[:, None, :] + within[:, None, None] * np.eye(points.shape[1])
        return cls(totals, np.count_nonzero(shares, axis=1), centers, covariances)

    def separations(self, place_noise: float) -> FloatArray:
        """Return how far each two groups are apart, in sums of their standard deviations; what noise adds to a distance is subtracted."""
        dimension = self.means.shape[1]
        steps = self.means[:, None] - self.means[None]
        squares = np.square(steps).sum(axis=2)
        along = np.einsum("ijp,ipq,ijq->ij", steps, self.covariances, steps) / np.maximum(squares, SMALLEST)
        spreads = np.sqrt(np.maximum(np.maximum(along, np.trace(self.covariances, axis1=1, axis2=2)[:, None] / dimension), 0.0))
        noise = dimension * place_noise**2 * self.sizes / np.square(self.weights)
        distances = np.sqrt(np.maximum(squares - noise[:, None] - noise[None], 0.0))
        found: FloatArray = distances / np.maximum(spreads + spreads.T, SMALLEST)
        np.fill_diagonal(found, np.inf)
        return found

    @property
    def dimension(self) -> float:
        """Return the effective dimension of all points, if there is one group."""
        whole = self.covariances[0]
        return float(np.trace(whole) ** 2 / max(np.square(whole).sum(), SMALLEST))

    def light(self, proxies: Proxies) -> BoolArray:
        """Return which groups are too light to be called a cluster: they may be noise only, or a few outliers."""
        noise = CHOOSING.credible * proxies.weight_noise * np.sqrt(self.sizes)
        found: BoolArray = self.weights < np.maximum(noise, CHOOSING.least_share * self.weights.sum())
        return found

    def least_separation(self, proxies: Proxies) -> float:
        """Return how far the closest two groups are apart; 0 if one is too light to be called a cluster."""
        if len(self.weights) == 1 or self.light(proxies).any():
            return 0.0
        return float(self.separations(proxies.place_noise).min())

    def merged(self, proxies: Proxies) -> FloatArray:
        """Return the centers with the two merged that raise the cost least (Ward); a light group is merged before any other."""
        increases = np.square(self.means[:, None] - self.means[None]).sum(axis=2)
        increases *= self.weights[:, None] * self.weights / (self.weights[:, None] + self.weights)
        np.fill_diagonal(increases, np.inf)
        if (light := self.light(proxies)).any():
            increases[~light] = np.inf
        i, j = np.unravel_index(increases.argmin(), increases.shape)
        centers = np.delete(self.means, j, axis=0)
        both = self.weights[[i, j]] / self.weights[[i, j]].sum()
        centers[i - (i > j)] = both @ self.means[[i, j]]
        return centers

    def cost(self, proxies: Proxies) -> float:
        """Return the cost of the proxies, per unit of weight."""
        squares = cdist(proxies.points, self.means, "sqeuclidean").min(axis=1)
        return float(squares @ proxies.weights / proxies.weights.sum())


def find_elbow(proxies: Proxies, largest: int, seed: int) -> Elbow:
    """Return the costs and separations of 1 to ``largest`` clusters of the proxies, and the largest number that are all apart.

    Starts are shared: weighted k-means for the largest number, then two clusters are merged and Lloyd steps follow, down to one cluster.
    """
    proxies = _supported(proxies)
    centers = weighted_kmeans(proxies.points, proxies.weights, largest, seed, CHOOSING.restarts)
    costs, separations = np.zeros(largest), np.zeros(largest)
    groups = _Groups.around(proxies, centers)
    for k in range(min(largest, len(groups.means)), 0, -1):
        if len(groups.means) > k:
            groups = _Groups.around(proxies, groups.merged(proxies))
        costs[k - 1] = groups.cost(proxies)
        separations[k - 1] = groups.least_separation(proxies) if len(groups.means) == k else 0.0
    costs = np.minimum.accumulate(costs)  # one more cluster never costs more
    return Elbow(tuple(range(1, largest + 1)), tuple(costs.tolist()), tuple(separations.tolist()), pick(separations, groups.dimension))


def pick(separations: FloatArray, dimension: float) -> int:
    """Return the largest number of clusters that are all apart.

    If none are, the largest number of which all are nearly apart, but of every larger number two are much closer; or else one. Nearly
    apart means nothing in few effective dimensions: there, parts of one cluster that is cut in every direction are as far apart.
    """
    beyond = np.append(np.maximum.accumulate(separations[::-1])[::-1][1:], np.inf)
    nearly = (separations >= CHOOSING.nearly_apart) & (beyond <= CHOOSING.much_closer * separations)
    nearly &= dimension > np.log2(len(separations))
    for numbers in (np.flatnonzero(separations >= CHOOSING.apart), np.flatnonzero(nearly)):
        if len(numbers):
            return int(numbers[-1]) + 1
    return 1


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
    weights = weights[kept]
    points = points[kept] - weights @ points[kept] / weights.sum()
    variance = np.broadcast_to(proxies.variance, len(kept))[kept]
    return Proxies(proxies.projection, points, weights, proxies.server_weights, noise, proxies.place_noise, variance)
