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
        self.n_clients, self.dimension = silo.n_clients, silo.dimension

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points: for comparisons that are not private, and for nothing else.

        Examples
        --------
        >>> from feddp_kmeans import InMemoryFederation
        >>> federation = InMemoryFederation([[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]])
        >>> [len(points) for points in federation.nonprivate_clients()]
        [1, 2]

        """
        return self._silo.nonprivate_clients()

    def _adder(self, run: Run) -> Adder:
        del run
        return ExactAdder(self._silo.for_run().exact_sum)
