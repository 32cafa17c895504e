"""A federation in this process: a silo adds up its clients' points, and the noise is added here."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.statistics.query import Query


class LocalFederation(Federation):
    """The clients of one silo; this process is trusted with their sums and adds the noise."""

    trust = "aggregator"

    def __init__(self, silo: Silo) -> None:
        self._silo = self._open = silo
        self._closing = ExitStack()

    @property
    def n_clients(self) -> int:
        """Return the number of clients."""
        return self._silo.n_clients

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return self._silo.dimension

    def begin(self, plan: Plan, seed: int | None = None, on_release: Callable[[str], None] | None = None) -> None:
        """Fix the plan of a run; points are looked at afresh."""
        self._closing.close()
        self._open = self._closing.enter_context(self._silo.opened())
        super().begin(plan, seed, on_release)

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points. Only a federation on this machine can; only comparisons that are not private may."""
        return self._silo.nonprivate_clients()

    def _noisy_sum(self, query: Query, release: Release, cohort: BoolArray | None) -> FloatArray:
        total = self._open.exact_sum(query, cohort)
        if self.ledger.is_complete:
            self._closing.close()
        return release.noisy(total, self._streams.stream(release.name))
