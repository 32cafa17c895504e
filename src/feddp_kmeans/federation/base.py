"""The one verb of a federation: a noisy sum over its clients. There is no verb that returns an exact sum."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from feddp_kmeans._errors import BudgetError, FedDPError
from feddp_kmeans._typing import Array, BoolArray, FloatArray, IntArray, Points
from feddp_kmeans.federation.gate import Argument, Rule, parse
from feddp_kmeans.privacy.ledger import Ledger
from feddp_kmeans.privacy.mechanism import Release, Sensitivity
from feddp_kmeans.privacy.noise import MAX_SCALE, StreamFactory
from feddp_kmeans.privacy.odometer import Entry, Limit, Odometer, new_run
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

MOST_VALUES = 1 << 28
"""Numbers of a release: so many squares add up to within 2**-25 of their sum in any order, for which scaling leaves room."""

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
    asked for the statistic can tell whether the noise it is asked under is enough. ``arguments`` and ``rules`` say which public arguments
    it takes: those for which the bound is proved. ``values`` is how many numbers it gives, from the arguments and their sizes.
    """

    name: str
    compute: Callable[..., IntArray] = field(repr=False)
    unit: PrivacyUnit
    sensitivity: Callable[..., Sensitivity] = field(repr=False)
    arguments: Mapping[str, Argument] = field(repr=False)
    values: Callable[..., int] = field(repr=False)
    rules: tuple[Rule, ...] = field(default=(), repr=False)

    @property
    def whole_clients(self) -> bool:
        """Return whether the function must see all points of a client at once; else they may come in pieces."""
        return self.unit is PrivacyUnit.CLIENT

    def __call__(self, batch: ClientBatch, **public: Any) -> IntArray:
        """Return the sum of the bounded contributions of this batch."""
        return Query(self, public, int(batch.points.shape[1]))(batch)


@dataclass(frozen=True)
class Query:
    """A statistic of points of some dimension with public arguments that it accepts: whoever makes one has passed the gate.

    Only a query computes, so nothing is computed with arguments that were not parsed.
    """

    statistic: Statistic
    public: Mapping[str, Any] = field(repr=False)
    dimension: int
    size: int = field(init=False)
    """How many numbers come out."""

    def __post_init__(self) -> None:
        statistic = self.statistic
        parsed, sizes = parse(statistic.arguments, statistic.rules, self.public, self.dimension)
        size = statistic.values(**parsed, **sizes)
        if size > MOST_VALUES:
            raise FedDPError(f"statistic {statistic.name!r} must have at most {MOST_VALUES} values, got {size}.")
        object.__setattr__(self, "public", MappingProxyType(parsed))
        object.__setattr__(self, "size", size)
        stated = self.sensitivity
        if not 1 <= stated.l2 <= max(stated.l2, stated.l1 or 0.0) <= MAX_SCALE:
            raise FedDPError(f"bound must give {statistic.name!r} a sensitivity from 1 to {MAX_SCALE:g} integer steps, got {stated}.")

    def __call__(self, batch: ClientBatch) -> IntArray:
        """Return the sum of the bounded contributions of this batch, without noise."""
        if batch.points.shape[1] != self.dimension:
            raise FedDPError(f"points must have {self.dimension} coordinates, got {batch.points.shape[1]}.")
        return self.statistic.compute(batch, **self.public)

    @property
    def sensitivity(self) -> Sensitivity:
        """Return how far one unit can move the sum."""
        return self.statistic.sensitivity(**self.public)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made elsewhere: by passing the gate there."""
        return Query, (self.statistic, dict(self.public), self.dimension)

    @property
    def digest(self) -> str:
        """Return a digest of what clients are asked."""
        return query_digest(self.statistic, self.public)


def query_digest(statistic: Statistic, public: Mapping[str, Any]) -> str:
    """Return a digest of what clients are asked: the statistic's name and the public arguments, their types included, bit by bit."""
    parts = [statistic.name.encode()]
    for name in sorted(public):
        value = public[name]
        kind = "float" if isinstance(value, float) else type(value).__name__
        array = np.empty(0) if value is None else np.asarray(value)
        parts += [name.encode(), repr((kind, array.dtype.str, array.shape)).encode(), array.tobytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def constant(sensitivity: Sensitivity) -> Callable[..., Sensitivity]:
    """Return a sensitivity that is the same whatever the public arguments are."""

    def same(**_: Any) -> Sensitivity:
        return sensitivity

    return same


def check_query(query: Query, release: Release, unit: PrivacyUnit) -> None:
    """Refuse a statistic of another unit than the plan protects, or one that is more sensitive than the release's noise is made for."""
    statistic = query.statistic
    if statistic.unit is not unit:
        raise BudgetError(f"privacy unit must be {statistic.unit.value!r} for statistic {statistic.name!r}, got {unit.value!r}.")
    stated = query.sensitivity.under(release.mechanism)
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
    release.check_size(query.size)


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
        if rate < 1 and not statistic.whole_clients:
            raise FedDPError(f"sampling_rate must be 1 for the statistic {statistic.name!r} of points, got {rate}.")
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
