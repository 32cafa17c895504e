"""A federation: clients whose points can be asked for noisy sums in a run, and for nothing else. It holds no state of any run."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Self

from feddp_kmeans.federation.adder import Adder
from feddp_kmeans.federation.run import Run, Watcher
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import new_run
from feddp_kmeans.privacy.plan import Plan


class Federation(ABC):
    """Clients that answer runs. ``with federation.open(plan, seed) as run: run.noisy_sum(statistic, release, **public)``."""

    n_clients: int
    dimension: int
    """Number of coordinates of a point: public, as the number of clients is."""
    trust: str
    """Who is trusted with what."""
    books: Books | None = None
    """Where every run is written down before its first release, and the limit that it must keep to; None: nowhere."""
    run_id: str | None = None
    """The id of the next run; None: a random one each time."""

    def with_books(self, books: Books) -> Self:
        """Return the same federation with its runs written down in these books; this one stays as it is."""
        booked = copy(self)
        booked.books = books
        return booked

    def open(
        self, plan: Plan, seed: int | None = None, on_release: Callable[[str], None] | None = None, *, watcher: Watcher | None = None
    ) -> Run:
        """Return a run of this plan, to be used in a ``with`` statement. Without a seed its noise is cryptographic.

        ``on_release`` is called with the name of each release just before it is made: progress, made of public names only.
        """
        id_ = self.run_id or new_run()
        run = Run(plan, seed, self.n_clients, self.dimension, self.trust, id_, self.books, on_release, watcher)
        return run.begin(self._adder(run))

    @abstractmethod
    def _adder(self, run: Run) -> Adder:
        """Return what answers this run."""
