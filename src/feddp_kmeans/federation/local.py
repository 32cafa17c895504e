"""A federation in this process: clients are arrays in memory, or files that are read when they are needed."""

from collections.abc import Callable, Iterator
from typing import Any

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.silos.batches import Clients, KeptClients, exact_sum
from feddp_kmeans.statistics.query import Query


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

    def begin(self, plan: Plan, seed: int | None = None, on_release: Callable[[str], None] | None = None) -> None:
        """Fix the plan of a run; points are looked at afresh."""
        self._forget()
        super().begin(plan, seed, on_release)

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points. Only a federation on this machine can; only comparisons that are not private may."""
        return iter(self._clients)

    def _noisy_sum(self, query: Query, release: Release, cohort: BoolArray | None) -> FloatArray:
        total = exact_sum(self._clients, query, cohort)
        if self.ledger.is_complete:
            self._forget()
        return release.noisy(total, self._streams.stream(release.name))

    def _forget(self) -> None:
        if isinstance(self._clients, KeptClients):
            self._clients.forget()
