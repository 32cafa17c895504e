"""A federation: clients whose points can be asked for noisy sums in a run, and for nothing else. It holds no state of any run."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from feddp_kmeans.federation.adder import Adder
from feddp_kmeans.federation.run import Run, Watcher
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.plan import Plan


class Federation(ABC):
    """Clients that answer runs. ``with federation.open(plan, seed) as run: run.noisy_sum(statistic, release, **public)``."""

    trust: str
    """Who is trusted with what."""

    books: Books | None = None
    """Where every run is written down before its first release, and the limit that it must keep to; None: nowhere."""
    run_id: str | None = None
    """The id of a run that begins here; None: a random one each time."""

    @property
    @abstractmethod
    def n_clients(self) -> int:
        """Return the number of clients: public."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Return the number of coordinates of a point: public."""

    def open(
        self,
        plan: Plan,
        seed: int | None = None,
        on_release: Callable[[str], None] | None = None,
        *,
        watcher: Watcher | None = None,
    ) -> Run:
        """Return a run of this plan, to be used in a ``with`` statement. Without a seed its noise is cryptographic.

        ``on_release`` is told the name of each release as its turn comes: progress, made of public names only.
        """
        run = Run(
            plan,
            seed,
            n_clients=self.n_clients,
            dimension=self.dimension,
            trust=self.trust,
            run=self.run_id,
            books=self.books,
            on_release=on_release,
            watcher=watcher,
        )
        return run.begin(self._adder(run))

    @abstractmethod
    def _adder(self, run: Run) -> Adder:
        """Return what answers this run."""
