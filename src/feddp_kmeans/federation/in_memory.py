"""Clients as arrays of this process: one array a client, or one table of all clients' rows."""

from collections.abc import Sequence
from typing import Any

from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.batches import Clients, SourceClients
from feddp_kmeans.silos.memory import ArraySource, TableClients, as_points

_KEPT_NUMBERS = 1 << 25
"""Numbers that are kept in batches during a run: 256 MiB, and as much again encoded."""


class InMemoryFederation(LocalFederation):
    """Clients that are arrays in this process: for simulation, and where one place may hold all points."""

    def __init__(self, clients: Sequence[Any] | TableClients) -> None:
        if isinstance(clients, TableClients):
            held: Clients = clients
            numbers = clients.numbers
        else:
            arrays = [as_points(c, f"client {i}") for i, c in enumerate(clients)]
            held = SourceClients([ArraySource(array) for array in arrays])
            numbers = sum(array.size + array.shape[0] for array in arrays)
        super().__init__(held, keep_batches=numbers <= _KEPT_NUMBERS)

    @classmethod
    def from_groups(cls, points: Any, groups: Any) -> "InMemoryFederation":
        """Return a federation of one table's rows, a client for each distinct value of ``groups``. The table is not copied.

        The number of distinct values is the number of clients, and so is taken as public.
        """
        return cls(TableClients.from_groups(points, groups))

    @classmethod
    def from_offsets(cls, points: Any, offsets: Any) -> "InMemoryFederation":
        """Return a federation of one table, in memory or memory-mapped: client j holds rows ``offsets[j]:offsets[j + 1]``.

        Millions of clients cost no more than their rows: no object is made for any of them.
        """
        return cls(TableClients.from_offsets(points, offsets))
