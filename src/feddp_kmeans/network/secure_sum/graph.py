"""Who masks and shares with whom: everybody with everybody up to 30 parties, above that neighbours on a ring.

Privacy on the ring is not left to chance. A party's seeds need more than half of holders plus colluders to rebuild, whoever colludes, and
parties refuse a list of survivors whose graph the colluders could split. Chance only decides whether a round succeeds, and sets the degree.
"""

import hashlib
import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields

COMPLETE_UP_TO = 30
"""Most parties for which the graph is always complete."""

RISK = 1e-6
"""Accepted chance that a round is lost although enough parties answer, when those that drop out are a random choice."""


@dataclass(frozen=True)
class Graph:
    """Parties in a ring, each a neighbour of the ``degree / 2`` on either side; or all neighbours of all.

    A party's seeds are shared among its *holders*, its neighbours and itself, and ``shares_needed`` of them rebuild a seed.
    """

    ring: tuple[str, ...]
    degree: int
    shares_needed: int
    colluders: int

    @property
    def is_sparse(self) -> bool:
        """Return whether some parties are no neighbours."""
        return self.degree < len(self.ring) - 1

    @cached_property
    def _sorted(self) -> tuple[str, ...]:
        return tuple(sorted(self.ring))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.ring)}

    def neighbours(self, name: str) -> tuple[str, ...]:
        """Return a party's neighbours."""
        return tuple(holder for holder in self.holders(name) if holder != name)

    def holders(self, name: str) -> tuple[str, ...]:
        """Return who holds shares of a party's seeds: its neighbours and itself, in an order that all parties agree on."""
        if not self.is_sparse:
            return self._sorted
        place, half = self._places[name], self.degree // 2
        return tuple(self.ring[(place + step) % len(self.ring)] for step in range(-half, half + 1))

    def check_joined(self, survivors: Collection[str]) -> None:
        """Refuse survivors whose graph the colluders could split."""
        if not self.stays_joined(survivors):
            raise InputError(f"survivors must stay joined without any {self.colluders} of them, got {len(survivors)} that do not.")

    def stays_joined(self, survivors: Collection[str]) -> bool:
        """Return whether the survivors' graph holds together without any ``colluders`` of them.

        If it did not, the colluders' masks, which the server knows, would be all that ties two groups, and each group's sum would show. Two
        groups on the ring are parted by two gaps of at least ``degree / 2`` places, so the cheapest cut is found by trying all pairs.
        """
        if not self.is_sparse:
            return True
        n, half = len(self.ring), self.degree // 2
        kept = set(survivors)
        alive = np.array([name in kept for name in self.ring], dtype=np.int64)
        before = np.concatenate([[0], np.cumsum(np.tile(alive, 3))])
        first, second = np.triu_indices(n, half)
        second, first = second[second + half <= first + n], first[second + half <= first + n]
        inside = before[second] - before[first + half]
        outside = before[first + n] - before[second + half]
        cost = before[first + half] - before[first] + before[second + half] - before[second]
        cuts = cost[(inside > 0) & (outside > 0)]
        return bool((cuts > self.colluders).all())


@lru_cache(maxsize=16)
def graph_of(names: tuple[str, ...], session: bytes, threshold: int, colluders: int, *, sparse: bool = True) -> Graph:
    """Return the graph of these parties; all of them compute the same one, from public things only."""
    n = len(names)
    ring = tuple(sorted(names, key=lambda name: hashlib.sha256(fields.statement("ring", session, name)).digest()))
    k = degree(n, threshold, colluders) if sparse else n - 1
    return Graph(ring, k, threshold if k == n - 1 else local_threshold(k, colluders), colluders)


def local_threshold(neighbours: int, colluders: int) -> int:
    """Return how many shares of a sparse graph's holders rebuild a seed: more than half of holders plus colluders.

    Holders h = neighbours + 1 give at most h + c shares of both kinds together, fewer than two rebuildings need, whoever colludes.
    """
    return (neighbours + 1 + colluders) // 2 + 1


@cache
def degree(n: int, threshold: int, colluders: int) -> int:
    """Return the smallest even degree at which a round is lost with a chance of at most ``RISK``, or n - 1: the complete graph."""
    if n > COMPLETE_UP_TO:
        for k in range(2, n - 1, 2):
            if loss_chance(n, threshold, colluders, k) <= RISK:
                return k
    return n - 1


def loss_chance(n: int, threshold: int, colluders: int, k: int) -> float:
    """Return a bound on the chance that a round of n parties and degree k is lost when n - threshold random ones drop out.

    Either some party's seeds cannot be rebuilt: the dropouts among its k neighbours are hypergeometric, and it may be one itself. Or the
    survivors' graph can be split: one of the two gaps then has at most half the colluders left alive in k / 2 places. Union bounds over n.
    """
    dropouts, half = n - threshold, k // 2
    spare = k + 1 - local_threshold(k, colluders)
    unheld = _chance_of_dropouts(n - 1, dropouts, k, spare)
    split = _chance_of_dropouts(n, dropouts, half, half - colluders // 2)
    return min(1.0, n * (unheld + split))


def _chance_of_dropouts(parties: int, dropouts: int, chosen: int, at_least: int) -> float:
    """Return the chance that a random choice of parties holds this many dropouts or more: in integers, so that all machines agree."""
    counts = range(max(0, at_least), min(chosen, dropouts) + 1)
    ways = sum(math.comb(dropouts, count) * math.comb(parties - dropouts, chosen - count) for count in counts)
    return ways / math.comb(parties, chosen)
