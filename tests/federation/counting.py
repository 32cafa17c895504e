"""A federation that counts what it is asked for, and its clients."""

import numpy as np

from feddp_kmeans.federation.adder import Adder
from feddp_kmeans.federation.in_memory import InMemoryFederation

RNG = np.random.default_rng(2)
CLIENTS = [RNG.standard_normal((60, 3)) + 4 * (i % 2) for i in range(6)]
SERVER = RNG.standard_normal((30, 3)) + 2


class Counting(InMemoryFederation):
    """Counts what its clients are asked for, and stops at a given number."""

    asked = 0
    stop_at = 10**9

    def _adder(self, run):
        return _CountingAdder(super()._adder(run), self)


class _CountingAdder(Adder):
    def __init__(self, inner, counts):
        self.inner, self.counts = inner, counts

    def noisy_sum(self, asked):
        if self.counts.asked >= self.counts.stop_at:
            raise KeyboardInterrupt
        self.counts.asked += 1
        return self.inner.noisy_sum(asked)
