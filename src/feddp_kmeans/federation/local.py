"""A federation in this process: clients are arrays in memory, or files that are read when they are needed."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from feddp_kmeans.federation.adder import Adder, ExactAdder
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.silos.batches import Clients, KeptClients, exact_sum


class LocalFederation(Federation):
    """Clients that live on this machine; this process adds their sums and the noise."""

    trust = "aggregator"

    def __init__(self, clients: Clients, *, keep_batches: bool = False) -> None:
        self._clients = clients
        self._keep_batches = keep_batches

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

    def _adder(self, run: Run) -> Adder:
        """Return what adds up in this process; batches that are kept are the run's, so that the next one looks at the points afresh."""
        del run
        return ExactAdder(partial(exact_sum, KeptClients(self._clients) if self._keep_batches else self._clients))
