"""A federation in this process: clients are arrays in memory, or files that are read when they are needed."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.federation.base import ClientBatch, Federation, Statistic
from feddp_kmeans.federation.batches import Clients
from feddp_kmeans.federation.threads import add_batches
from feddp_kmeans.privacy.mechanism import Release


class LocalFederation(Federation):
    """Clients that live on this machine; this process adds their sums and the noise."""

    trust = "aggregator"

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    @property
    def n_clients(self) -> int:
        """Return the number of clients."""
        return len(self._clients)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return self._clients.dimension

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points. Only a federation on this machine can; only comparisons that are not private may."""
        return iter(self._clients)

    def _noisy_sum(self, statistic: Statistic, release: Release, cohort: BoolArray | None, public: dict[str, Any]) -> FloatArray:
        return release.noisy(exact_sum(self._clients, statistic, public, cohort), self._streams.stream(release.name))


def exact_sum(clients: Clients, statistic: Statistic, public: dict[str, Any], cohort: BoolArray | None = None) -> IntArray:
    """Return the sum of a statistic over these clients without noise: for whoever holds their points, and never for release."""
    nobody = ClientBatch(np.empty((0, clients.dimension)), np.zeros(1, dtype=np.int64))
    total: IntArray = statistic(nobody, **public)
    batches = clients.whole(cohort) if statistic.whole_clients else clients.points()
    add_batches(total, batches, lambda batch: statistic(batch, **public))
    return total
