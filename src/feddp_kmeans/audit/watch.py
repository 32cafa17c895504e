"""Federations for the auditor: one that notes what is asked and answered, one that gives old answers, and exact sums of known points."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array, BoolArray, FloatArray
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.wrapped import WrappedFederation
from feddp_kmeans.privacy.ledger import Ledger
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.noise import RandomStream, StreamFactory
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.query import Query, Statistic

MakeFederation = Callable[[Sequence[Any]], Federation]
"""A federation of these clients, an array of points each."""

_DELTA = 1e-6
"""Of a plan without noise: it means nothing there."""

_WORDS = 4
"""Random words by which a stream is known again."""


@dataclass(frozen=True)
class Watched:
    """What the clients were asked, and under which release."""

    statistic: Statistic
    release: Release
    public: dict[str, Any] = field(repr=False)
    dimension: int

    @property
    def asked(self) -> Query:
        """Return the question."""
        return Query(self.statistic, self.public, self.dimension)

    @property
    def digest(self) -> str:
        """Return a digest of the question."""
        return self.asked.digest


@dataclass(frozen=True)
class Answered:
    """One release as the server saw it."""

    query: Watched
    values: FloatArray


class Watch(WrappedFederation):
    """Asks a federation, and notes every release and which random bits were drawn for it. It has no other verb than ``noisy_sum``."""

    def __init__(self, inner: Federation) -> None:
        super().__init__(inner)
        self.seen: list[Answered] = []
        self.drawn: list[tuple[str, bytes]] = []
        """Label and first random words of every stream that was drawn from."""
        self.restarts: int | None = None

    @property
    def secure(self) -> bool:
        """Return whether the noise is cryptographic."""
        return self._inner.secure

    @property
    def ledger(self) -> Ledger:
        """Return the ledger of the federation that is asked."""
        return self._inner.ledger

    @property
    def server_seed(self) -> int:
        """Return the seed of the server's own computations, and note it."""
        self.restarts = self._inner.server_seed
        return self.restarts

    def begin(self, plan: Plan, seed: int | None = None, on_release: Callable[[str], None] | None = None) -> None:
        """Fix the plan of a run."""
        self._inner.begin(plan, seed, on_release)
        self._inner._streams = _WatchedStreams(self._inner._streams, self.drawn)  # noqa: SLF001 - noise is watched where it is drawn
        self.seen.clear()
        self.drawn.clear()

    def noisy_sum(self, statistic: Statistic, release: Release, **public: Any) -> FloatArray:
        """Return what the federation answers, and note it."""
        values = self._inner.noisy_sum(statistic, release, **public)
        self.seen.append(Answered(Watched(statistic, release, public, self.dimension), values.copy()))
        return values

    def _noisy_sum(self, query: Query, release: Release, cohort: BoolArray | None) -> FloatArray:
        del query, cohort
        raise FedDPError(f"release {release.name!r} must be asked for by noisy_sum: it was asked for beside the ledger.")


class Replay(Federation):
    """Answers a run with the releases of another, without any clients: what comes out depends on nothing else."""

    trust = "nobody"

    def __init__(self, watch: Watch) -> None:
        self._answers = list(watch.seen)
        self._watch = watch

    @property
    def n_clients(self) -> int:
        """Return the number of clients: public."""
        return self._watch.n_clients

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point: public."""
        return self._watch.dimension

    @property
    def server_seed(self) -> int:
        """Return the seed of the server's computations in the run that is replayed."""
        assert self._watch.restarts is not None
        return self._watch.restarts

    def _noisy_sum(self, query: Query, release: Release, cohort: BoolArray | None) -> FloatArray:
        del cohort
        if not self._answers:
            raise FedDPError(f"release {release.name!r} must have been asked for in the run that is replayed; it was not.")
        answer = self._answers.pop(0)
        if answer.query.release != release or answer.query.digest != query.digest:
            raise FedDPError(f"release {release.name!r} must be asked for with public numbers that follow from earlier releases.")
        return answer.values.copy()


class Known:
    """Points that the auditor knows: their exact sums, made by the same code as noisy ones, with all noise at zero."""

    def __init__(self, federation: Federation, unit: PrivacyUnit) -> None:
        self._federation = federation
        self._unit = unit

    def total(self, query: Watched) -> FloatArray:
        """Return the exact sum, in the data's own units."""
        silent = replace(query.release, noise_multiplier=0.0, times=1)
        self._federation.begin(Plan(self._unit, math.inf, _DELTA, (silent,)), seed=0)
        return self._federation.noisy_sum(query.statistic, silent, **query.public)


class _WatchedStreams(StreamFactory):
    """Streams of another factory, whose first words are noted."""

    def __init__(self, inner: StreamFactory, drawn: list[tuple[str, bytes]]) -> None:
        self._inner, self._drawn = inner, drawn

    @property
    def secure(self) -> bool:
        return self._inner.secure

    def stream(self, label: str) -> RandomStream:
        return _WatchedStream(self._inner.stream(label), label, self._drawn)


class _WatchedStream:
    def __init__(self, inner: RandomStream, label: str, drawn: list[tuple[str, bytes]]) -> None:
        self.secure = inner.secure
        self._inner, self._label, self._drawn = inner, label, drawn
        self._fresh = True

    def uint64(self, size: int) -> Array:
        words = self._inner.uint64(size)
        if self._fresh and size:
            self._drawn.append((self._label, np.asarray(words[:_WORDS]).tobytes()))
            self._fresh = False
        return words
