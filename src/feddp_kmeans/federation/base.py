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
    """Clients that answer runs. ``with federation.open(plan, seed) as run: run.noisy_sum(statistic, release, **public)``.

    Examples
    --------
    >>> from feddp_kmeans import Federation, InMemoryFederation
    >>> federation = InMemoryFederation([[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]])
    >>> isinstance(federation, Federation), federation.n_clients, federation.dimension
    (True, 2, 2)

    """

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
        """Return the same federation with its runs written down in these books; this one stays as it is.

        Examples
        --------
        >>> from pathlib import Path
        >>> from feddp_kmeans import InMemoryFederation
        >>> from feddp_kmeans.privacy.booking import Books
        >>> from feddp_kmeans.privacy.odometer import Limit, Odometer
        >>> books = Books(Odometer(Path("budget.jsonl")), Limit(epsilon=2.0, delta=1e-6))
        >>> InMemoryFederation([[[0.0, 1.0]]]).with_books(books).books.limit.epsilon
        2.0

        """
        booked = copy(self)
        booked.books = books
        return booked

    def open(
        self, plan: Plan, seed: int | None = None, on_release: Callable[[str], None] | None = None, *, watcher: Watcher | None = None
    ) -> Run:
        """Return a run of this plan, to be used in a ``with`` statement. Without a seed its noise is cryptographic.

        ``on_release`` is called with the name of each release just before it is made: progress, made of public names only.

        Examples
        --------
        A run of an empty plan releases nothing, and reports that.

        >>> from feddp_kmeans import InMemoryFederation, Plan
        >>> from feddp_kmeans.privacy.unit import PrivacyUnit
        >>> plan = Plan(PrivacyUnit.POINT, epsilon=1.0, delta=1e-6, releases=())
        >>> with InMemoryFederation([[[0.0, 1.0]]]).open(plan) as run:
        ...     run.report().ledger
        ()

        """
        id_ = self.run_id or new_run()
        run = Run(plan, seed, self.n_clients, self.dimension, self.trust, id_, self.books, on_release, watcher)
        return run.begin(self._adder(run))

    @abstractmethod
    def _adder(self, run: Run) -> Adder:
        """Return what answers this run."""
