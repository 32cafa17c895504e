"""Twelve months of data from the same source, which may change in one of them."""

import numpy as np

from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.accounting import shares_of_total

CENTERS = np.array([[0.2, 0.2, 0.5, 0.5], [0.8, 0.3, 0.5, 0.4], [0.5, 0.8, 0.4, 0.6]])
COLUMNS = ("a", "b", "c", "d")


def month(seed, *, centers=CENTERS, shares=(0.5, 0.3, 0.2), size=8000):
    rng = np.random.default_rng(seed)
    return centers[rng.choice(len(centers), size, p=shares)] + 0.08 * rng.standard_normal((size, centers.shape[1]))


def year(tables, *, epsilon=2.0, unit="point", n_clients=8, seed=0, first=3.0):
    """Return the clusterings of the tables, one run after the other, in one total budget."""
    made = []
    for run, (table, share) in enumerate(zip(tables, shares_of_total(epsilon, 1e-6, [first, *[1.0] * (len(tables) - 1)]), strict=True)):
        federation = InMemoryFederation(np.array_split(table, n_clients))
        last = made[-1].last_run() if made else None
        settings = Settings(len(CENTERS), share, 1e-6, privacy_unit=unit, box=(0, 1))
        made.append(clustering.cluster(federation, settings, None, last=last, seed=seed + run))
    return made


def cost(table, centers):
    return np.square(table[:, None] - centers[None]).sum(axis=2).min(axis=1).sum()
