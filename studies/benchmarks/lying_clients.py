"""What one lying client does to a result: how far the centers move, what the clustering then costs, and whether it is noticed.

    python studies/benchmarks/lying_clients.py

Ten clusters in twenty dimensions. The liar is a site of a secure sum, which nobody can look into. At unit client it sends, in every
release, a vector as long as one client's may be, along one of a few directions; the worst of them counts. At unit point it makes up rows,
or sends a vector that no rows could give. A run is noticed if the sizes do not add up to the number of points that was agreed in public.
Prints a table; all runs of a row have the same noise, with and without the liar. Clusters have a spread of 0.3 in each coordinate.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.algorithm.usefulness import total_doubt
from feddp_kmeans.federation.adder import Adder
from feddp_kmeans.federation.in_memory import InMemoryFederation

K, DIMENSION, SPREAD = 10, 20, 0.3
DIRECTIONS = ("up", "down", "first", "one cluster", "at random")


class LyingAdder(Adder):
    """Adds a client's lie to what another adder finds: ``lengths`` times what one unit may add, along a direction."""

    def __init__(self, inner, direction, lengths):
        self._inner, self._direction, self._lengths = inner, direction, lengths

    def noisy_sum(self, asked):
        found = self._inner.noisy_sum(asked)
        vector = along(self._direction, found.values.size)
        return replace(found, values=found.values + self._lengths * asked.release.sensitivity * vector.reshape(found.values.shape))


def along(direction, size):
    """A vector of length 1; in the sums of a look the residuals of one cluster stand one after the other."""
    vector = np.zeros(size)
    if direction in {"up", "down"}:
        vector[:] = 1.0 if direction == "up" else -1.0
    elif direction == "first":
        vector[0] = 1.0
    elif direction == "one cluster":
        vector[: min(size, DIMENSION)] = 1.0
    else:
        vector = np.random.default_rng(0).standard_normal(size)
    return vector / np.linalg.norm(vector)


@dataclass(frozen=True)
class Liar:
    """Watches a run as a lying client does."""

    direction: str
    lengths: float

    def streams(self, streams):
        return streams

    def adder(self, adder):
        return LyingAdder(adder, self.direction, self.lengths)


def mixture(rng, means, n):
    return means[rng.integers(K, size=n)] + SPREAD * rng.standard_normal((n, DIMENSION))


def clustering(clients, settings, public, liar=None):
    federation = InMemoryFederation(clients)
    federation.open = partial(federation.open, watcher=liar)
    return run(federation, prepare(settings, public, len(clients)), seed=1)


def cost(centers, points):
    return float(np.square(points[:, None] - centers[None]).sum(axis=2).min(axis=1).mean())


def moved(before, after):
    """The largest and the mean distance of a center from where it was without the lie, the centers paired at least total distance."""
    apart = np.linalg.norm(before[:, None] - after[None], axis=2)
    pairs = apart[linear_sum_assignment(apart)]
    return float(pairs.max()), float(pairs.mean())


def measure(unit, n_clients, size, epsilon, lies, jobs=3):
    """Rows of a table: for each lie, the worst of its kinds, the mean over some data sets."""
    rows = {name: [] for name, _ in lies}
    for seed in range(jobs):
        rng = np.random.default_rng(seed)
        means = rng.random((K, DIMENSION)) * 4
        public = mixture(rng, means, 300)
        clients = [mixture(rng, means, size) for _ in range(n_clients)]
        honest = np.concatenate(clients[1:])
        settings = Settings(K, epsilon, privacy_unit=unit, box=(-2.0, 6.0), client_size=size if unit == "client" else None)
        # The liar's own data are its own business: without the lie it sends nothing.
        quiet = clustering([np.empty((0, DIMENSION)), *clients[1:]], settings, public)
        least, without = cost(means, honest), cost(quiet.centers, honest)
        for name, kinds in lies:
            found = []
            for rows_made, direction, lengths in kinds:
                own = np.tile(np.full(DIMENSION, 6.0), (rows_made(honest), 1))
                told = clustering([own, *clients[1:]], settings, public, Liar(direction, lengths))
                doubt = total_doubt(told.counts, told.count_stddev, len(honest) + size, bounded=unit == "client")
                with_it = cost(told.centers, honest)
                found.append((with_it / least - 1, without / least - 1, *moved(quiet.centers, told.centers), doubt is not None))
            rows[name].append(max(found))
    for name, found in rows.items():
        lied, quietly, most, mean, noticed = np.mean(found, axis=0)
        costs = " | ".join(f"{max(100 * part, 0.0):.1f} %" for part in (quietly, lied))
        print(f"| {unit} | {n_clients:,} | {epsilon:g} | {name} | {most:.2f} | {mean:.2f} | {costs} | {noticed:.0%} |", flush=True)


def none(_honest):
    return 0


def vectors(lengths):
    return [(none, direction, lengths) for direction in DIRECTIONS]


def invented(share):
    return [(lambda honest: math.ceil(share * len(honest)), "up", 0.0)]


def main():
    heads = (
        "unit",
        "clients",
        "epsilon",
        "one client sends",
        "a center moves, at most",
        "mean",
        "cost above the true means'",
        "with the lie",
    )
    print(f"| {' | '.join(heads)} | noticed |\n{'|---' * 9}|")
    one = ("the worst vector that its bound allows", vectors(1.0))
    measure("client", 10, 2000, 200.0, [one])
    measure("client", 100, 200, 20.0, [one])
    measure("client", 1000, 50, 2.0, [one, ("ten times that (ten liars)", vectors(10.0))])
    made_up = [
        (f"{name} rows at one corner", invented(share))
        for name, share in (("1/9 as many", 1 / 9), ("as many", 1.0), ("10 times as many", 10.0))
    ]
    measure("point", 10, 2000, 1.0, [*made_up, ("a vector of 20,000 points' length", vectors(20000.0))])


if __name__ == "__main__":
    main()
