"""The one verb of a federation: a noisy sum over its clients. There is no verb that returns an exact sum."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array, BoolArray, FloatArray
from feddp_kmeans.errors import BudgetError
from feddp_kmeans.privacy.ledger import Ledger
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_kmeans.privacy.odometer import Entry, Limit, Odometer, new_run
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.statistics.query import Query, Statistic, check_query


class Federation(ABC):
    """Clients whose points can be asked for noisy sums, and for nothing else."""

    trust: str
    """Who is trusted with what."""

    _ledger: Ledger | None = None
    _streams: StreamFactory
    _on_release: Callable[[str], None] | None = None
    _odometer: Odometer | None = None
    _limit: Limit | None = None
    _what = "a run in Python"
    _booked = False

    @property
    @abstractmethod
    def n_clients(self) -> int:
        """Return the number of clients: public."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Return the number of coordinates of a point: public."""

    @property
    def secure(self) -> bool:
        """Return whether the noise is cryptographic."""
        return self._streams.secure

    @property
    def server_seed(self) -> int:
        """Return the seed of the server's own computations in this run: it decides restarts, never noise."""
        return self._streams.integer_seed("server k-means")

    @property
    def ledger(self) -> Ledger:
        """Return the ledger of the plan that is under way."""
        if self._ledger is None:
            raise BudgetError("a plan must be begun before anything is released.")
        return self._ledger

    def begin(self, plan: Plan, seed: int | None = None, on_release: Callable[[str], None] | None = None) -> None:
        """Fix the plan of a run. From here on its releases are answered, each as often as planned, and nothing else is.

        ``on_release`` is told the name of each release as its turn comes: progress, made of public names alone.
        """
        self._ledger = Ledger(plan)
        self._streams = StreamFactory(seed)
        self._on_release = on_release
        self._booked = False

    def book_runs(self, odometer: Odometer, limit: Limit | None = None, what: str = "a run in Python") -> None:
        """Write every run on this odometer from now on, before its first release; refuse one that would take the total beyond the limit."""
        self._odometer, self._limit, self._what = odometer, limit, what

    def _book(self) -> None:
        """Write the run on the odometer, if there is one."""
        if self._odometer is not None:
            self._odometer.book(Entry.of(self.ledger.plan, self._what, secure=self.secure, run=new_run()), limit=self._limit)

    def noisy_sum(self, statistic: Statistic, release: Release, **public: Any) -> FloatArray:
        """Return the sum of the statistic over all clients, with the release's noise."""
        query = Query(statistic, public, self.dimension)
        self.ledger.book(release)
        check_query(query, release, self.ledger.plan.unit)
        rate = self.ledger.plan.sampling_rate
        if not self._booked:
            self._book()
            self._booked = True
        if self._on_release is not None:
            self._on_release(release.name)
        cohort = None if rate == 1 else self._cohort(release.name, rate)
        return self._noisy_sum(query, release, cohort)

    def replay(self, release: Release) -> None:
        """Book a release whose result is on record: nothing is asked of the clients, and later noise is what it would have been."""
        self.ledger.book(release)
        self._streams.stream(release.name)
        if self.ledger.plan.sampling_rate < 1:
            self._streams.stream(f"cohort/{release.name}")

    def kept(self) -> None:  # noqa: B027 - most federations have nothing to forget
        """Be told that the latest release is on record: nothing that could make it again is needed any more."""

    @abstractmethod
    def _noisy_sum(self, query: Query, release: Release, cohort: BoolArray | None) -> FloatArray:
        """Return the noisy sum over the cohort's clients; all of them where it is None."""

    def _cohort(self, label: str, rate: float) -> BoolArray:
        """Return which clients take part: each with probability ``rate`` (rounded down), by itself and afresh each time."""
        bits: Array = self._streams.stream(f"cohort/{label}").uint64(self.n_clients)
        cohort: BoolArray = bits < np.uint64(int(rate * 2.0**64))
        return cohort
