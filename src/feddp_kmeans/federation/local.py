"""A federation in this process: a silo adds up its clients' points, and the noise is added here."""

from collections.abc import Iterator
from typing import Any

from feddp_kmeans.federation.adder import Adder, ExactAdder
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.silos.silo import Silo


class LocalFederation(Federation):
    """The clients of one silo; this process is trusted with their sums and adds the noise."""

    trust = "aggregator"

    def __init__(self, silo: Silo) -> None:
        self._silo = silo

    @property
    def n_clients(self) -> int:
        """Return the number of clients."""
        return self._silo.n_clients

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return self._silo.dimension

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points. Only a federation on this machine can; only comparisons that are not private may."""
        return self._silo.nonprivate_clients()

    def _adder(self, run: Run) -> Adder:
        del run
        return ExactAdder(self._silo.for_run().exact_sum)
