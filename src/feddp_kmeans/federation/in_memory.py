"""Clients as arrays of this process: one array per client, or one table of all clients' rows."""

from collections.abc import Sequence
from typing import Any

from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.memory import ArraySilo, TableSilo


class InMemoryFederation(LocalFederation):
    """Clients that are arrays in this process: for simulation, and where one place may hold all points."""

    def __init__(self, clients: Sequence[Any] | TableSilo) -> None:
        super().__init__(clients if isinstance(clients, TableSilo) else ArraySilo(clients))

    @classmethod
    def from_groups(cls, points: Any, groups: Any) -> "InMemoryFederation":
        """Return a federation of one table's rows, a client for each distinct value of ``groups``. The table is not copied.

        The number of distinct values is the number of clients, and so is taken as public.
        """
        return cls(TableSilo.from_groups(points, groups))

    @classmethod
    def from_offsets(cls, points: Any, offsets: Any) -> "InMemoryFederation":
        """Return a federation of one table, in memory or memory-mapped: client j holds rows ``offsets[j]:offsets[j + 1]``.

        Millions of clients cost no more than their rows: no object is made for any of them.
        """
        return cls(TableSilo.from_offsets(points, offsets))
