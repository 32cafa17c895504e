"""The one verb of a federation: a noisy sum over its clients. There is no verb that returns an exact sum."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from feddp_kmeans._errors import BudgetError, FedDPError
from feddp_kmeans._typing import Array, BoolArray, FloatArray, IntArray, Points
from feddp_kmeans.privacy.ledger import Ledger
from feddp_kmeans.privacy.mechanism import Release, Sensitivity
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_kmeans.privacy.odometer import Entry, Odometer
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

_TOLERANCE = 1e-12
"""Part by which two ways to compute the same sensitivity may differ in floating point."""

_REMEMBERED = 2
"""Numbers that are remembered at most for each that is stored, and for each point."""


@dataclass(frozen=True)
class ClientBatch:
    """The points of some clients, one client after the other: client j holds rows ``starts[j]:starts[j + 1]``.

    Points are an array or a CSR matrix; ``dense`` is for statistics that have no use for zeros.
    """

    points: Points
    starts: IntArray
    _held: dict[str, tuple[Hashable, Any]] = field(default_factory=dict, repr=False, compare=False)

    def remembered(self, what: str, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return what ``compute`` makes of the points, remembered until it is asked for under another key.

        Most queries of a run encode points alike. What is remembered must depend on points and key alone, and nobody may change it. What
        is much larger than the points is made again: encoded, a sparse row may differ from zero everywhere.
        """
        held = self._held.get(what)
        if held is None or held[0] != key:
            held = (key, compute())
            if held[1].size <= _REMEMBERED * (self.points.size + self.n_points):
                self._held[what] = held
        return held[1]

    @property
    def remembers(self) -> bool:
        """Return whether something was remembered."""
        return bool(self._held)

    @property
    def single_points(self) -> "ClientBatch":
        """Return the same points, each a client of its own."""
        return replace(self, starts=np.arange(self.n_points + 1))

    @property
    def n_points(self) -> int:
        """Return the number of points."""
        return int(self.points.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Return whether the points are a sparse matrix."""
        return hasattr(self.points, "tocsr")

    @property
    def dense(self) -> FloatArray:
        """Return the points as an array."""
        points: FloatArray = self.points.toarray() if self.is_sparse else self.points
        return points

    @property
    def n_clients(self) -> int:
        """Return the number of clients, empty ones included."""
        return len(self.starts) - 1

    @property
    def is_single_points(self) -> bool:
        """Return whether every client holds exactly one point: a shortcut for statistics of points."""
        return self.n_clients == self.n_points and bool((self.sizes == 1).all())

    @property
    def sizes(self) -> IntArray:
        """Return each client's number of points."""
        return np.diff(self.starts)

    @property
    def owners(self) -> IntArray:
        """Return, for each row, the index of its client in this batch."""
        return np.repeat(np.arange(self.n_clients), self.sizes)


@dataclass(frozen=True)
class Statistic:
    """What clients compute of their own points: a named function to integers that add up over clients.

    ``unit`` is whose contribution the function bounds, and ``sensitivity`` that bound as a function of the public arguments: whoever is
    asked for the statistic can tell whether the noise it is asked under is enough.
    """

    name: str
    compute: Callable[..., IntArray]
    unit: PrivacyUnit
    sensitivity: Callable[..., Sensitivity]

    @property
    def whole_clients(self) -> bool:
        """Return whether the function must see all points of a client at once; else they may come in pieces."""
        return self.unit is PrivacyUnit.CLIENT

    def __call__(self, batch: ClientBatch, **public: Any) -> IntArray:
        """Return the sum of the bounded contributions of this batch."""
        return self.compute(batch, **public)


def query_digest(statistic: Statistic, public: Mapping[str, Any]) -> str:
    """Return a digest of what clients are asked: the statistic's name and the public arguments, bit by bit."""
    parts = [statistic.name.encode()]
    for name in sorted(public):
        value = public[name]
        array = np.empty(0) if value is None else np.asarray(value, dtype=np.float64)
        parts += [name.encode(), repr((value is None, array.shape)).encode(), np.ascontiguousarray(array).tobytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def constant(sensitivity: Sensitivity) -> Callable[..., Sensitivity]:
    """Return a sensitivity that is the same whatever the public arguments are."""

    def same(**_: Any) -> Sensitivity:
        return sensitivity

    return same


def check_query(statistic: Statistic, release: Release, unit: PrivacyUnit, public: Mapping[str, Any]) -> None:
    """Refuse a statistic of another unit than the plan protects, or one that is more sensitive than the release's noise is made for."""
    if statistic.unit is not unit:
        raise BudgetError(f"privacy unit must be {statistic.unit.value!r} for statistic {statistic.name!r}, got {unit.value!r}.")
    stated = statistic.sensitivity(**public).under(release.mechanism)
    if stated is None:
        raise BudgetError(
            f"noise of release {release.name!r} must be Gaussian for statistic {statistic.name!r}, which states no L1 sensitivity, "
            f"got {release.mechanism.value!r}."
        )
    if not stated <= release.integer_sensitivity * (1 + _TOLERANCE):
        raise BudgetError(
            f"integer_sensitivity of release {release.name!r} must be at least {stated:.17g} for statistic {statistic.name!r}, "
            f"got {release.integer_sensitivity:.17g}."
        )


class Federation(ABC):
    """Clients whose points can be asked for noisy sums, and for nothing else."""

    trust: str
    """Who is trusted with what."""

    _ledger: Ledger | None = None
    _streams: StreamFactory
    _on_release: Callable[[str], None] | None = None
    _odometer: Odometer | None = None
    _limit: float | None = None

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

    def book_runs(self, odometer: Odometer, limit: float | None = None) -> None:
        """Write every run on this odometer from now on, before its first release; refuse one that would take the total beyond the limit."""
        self._odometer, self._limit = odometer, limit

    def noisy_sum(self, statistic: Statistic, release: Release, **public: Any) -> FloatArray:
        """Return the sum of the statistic over all clients, with the release's noise."""
        if self._odometer is not None and not self.ledger.rows():
            self._odometer.book(Entry.of(self.ledger.plan, "a run in Python", secure=self.secure), limit=self._limit)
        self.ledger.book(release)
        if self._on_release is not None:
            self._on_release(release.name)
        check_query(statistic, release, self.ledger.plan.unit, public)
        rate = self.ledger.plan.sampling_rate
        if rate < 1 and not statistic.whole_clients:
            raise FedDPError(f"sampling_rate must be 1 for the statistic {statistic.name!r} of points, got {rate}.")
        cohort = None if rate == 1 else self._cohort(release.name, rate)
        return self._noisy_sum(statistic, release, cohort, public)

    def replay(self, release: Release) -> None:
        """Book a release whose result is on record: nothing is asked of the clients, and later noise is what it would have been."""
        self.ledger.book(release)
        self._streams.stream(release.name)
        if self.ledger.plan.sampling_rate < 1:
            self._streams.stream(f"cohort/{release.name}")

    @abstractmethod
    def _noisy_sum(self, statistic: Statistic, release: Release, cohort: BoolArray | None, public: dict[str, Any]) -> FloatArray:
        """Return the noisy sum over the cohort's clients; all of them where it is None."""

    def _cohort(self, label: str, rate: float) -> BoolArray:
        """Return which clients take part: each with probability ``rate`` (rounded down), by itself and afresh each time."""
        bits: Array = self._streams.stream(f"cohort/{label}").uint64(self.n_clients)
        cohort: BoolArray = bits < np.uint64(int(rate * 2.0**64))
        return cohort
