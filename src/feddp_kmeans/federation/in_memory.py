"""Clients as arrays of this process: one array per client, or one table of all clients' rows."""

from collections.abc import Sequence
from typing import Any

from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.memory import ArraySilo, TableSilo


class InMemoryFederation(LocalFederation):
    """Clients that are arrays in this process: for simulation, or if one place may hold all points.

    Examples
    --------
    >>> import numpy as np
    >>> from feddp_kmeans import FedDPKMeans, InMemoryFederation
    >>> federation = InMemoryFederation([np.zeros((3000, 2)), np.ones((2000, 2))])
    >>> FedDPKMeans(2).fit(federation).cluster_centers_.shape
    (2, 2)

    """

    def __init__(self, clients: Sequence[Any] | TableSilo) -> None:
        super().__init__(clients if isinstance(clients, TableSilo) else ArraySilo(clients))

    @classmethod
    def from_groups(cls, points: Any, groups: Any) -> "InMemoryFederation":
        """Return one client for each distinct value of ``groups``; their number is taken as public. The table is not copied.

        Examples
        --------
        >>> from feddp_kmeans import InMemoryFederation
        >>> InMemoryFederation.from_groups([[0.0], [1.0], [2.0]], ["ward 1", "ward 2", "ward 1"]).n_clients
        2

        """
        return cls(TableSilo.from_groups(points, groups))

    @classmethod
    def from_offsets(cls, points: Any, offsets: Any) -> "InMemoryFederation":
        """Return clients that hold rows ``offsets[j]:offsets[j + 1]`` of one table, in memory or memory-mapped.

        Millions of clients cost no more than their rows: no object is made for any of them.

        Examples
        --------
        >>> from feddp_kmeans import InMemoryFederation
        >>> InMemoryFederation.from_offsets([[0.0], [1.0], [2.0]], [0, 2, 3]).n_clients
        2

        """
        return cls(TableSilo.from_offsets(points, offsets))
