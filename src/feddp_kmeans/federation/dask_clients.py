"""Points on a Dask cluster: data that fit no one machine are summed up where they lie. Needs the extra "dask".

Statistics are sums, so every partition computes its own, and the sums are added in a tree: sums travel, and points never do.
"""

import numpy as np

from feddp_kmeans._typing import BoolArray, IntArray
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.adder import Adder, ExactAdder
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.silos.dask_silo import ClusterData, cluster_sum
from feddp_kmeans.statistics.query import Query


class ClusterFederation(Federation):
    """Clients on a Dask cluster that is trusted with their points: one partition a client."""

    trust = "aggregator"

    def __init__(self, data: ClusterData) -> None:
        if not data.partitions:
            raise FedDPError("clients must be at least one, got none.")
        self._data = data

    @property
    def n_clients(self) -> int:
        """Return the number of clients."""
        return len(self._data.partitions)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return len(self._data.columns)

    def _adder(self, run: Run) -> Adder:
        del run
        return ExactAdder(self._total)

    def _total(self, query: Query, cohort: BoolArray | None) -> IntArray:
        taken = np.ones(self.n_clients, dtype=bool) if cohort is None else cohort
        parts = [part for part, chosen in zip(self._data.partitions, taken, strict=True) if chosen]
        return cluster_sum(parts, query)
