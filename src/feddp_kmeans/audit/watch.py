"""Federations for the auditor: one that notes what is asked and answered, one that gives old answers, and exact sums of known points."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array, FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.adder import Adder, Asked
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run, Watcher
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


class Watch(Federation):
    """Another federation whose runs are looked at: every release, and which random bits were drawn. ``run`` is the latest of them."""

    run: Run

    def __init__(self, inner: Federation) -> None:
        self._inner = inner
        self.n_clients, self.dimension, self.trust = inner.n_clients, inner.dimension, inner.trust
        self.seen: list[Answered] = []
        self.drawn: list[tuple[str, bytes]] = []
        """Label and first random words of every stream that was drawn from."""

    def open(
        self,
        plan: Plan,
        seed: int | None = None,
        on_release: Callable[[str], None] | None = None,
        *,
        watcher: Watcher | None = None,
    ) -> Run:
        """Return a run of the other federation, which is looked at from here."""
        del watcher
        self.seen.clear()
        self.drawn.clear()
        self.run = self._inner.open(plan, seed, on_release, watcher=self)
        return self.run

    def streams(self, streams: StreamFactory) -> StreamFactory:
        """Return the streams; their first words are noted."""
        return _WatchedStreams(streams, self.drawn)

    def adder(self, adder: Adder) -> Adder:
        """Return the adder; its answers are noted, whether they were asked for by the run or not."""
        return _WatchedAdder(adder, self.seen)

    def _adder(self, run: Run) -> Adder:
        return self._inner._adder(run)  # noqa: SLF001 - a federation's hook, asked by another federation


class Replay(Federation):
    """Answers a run with the releases of another of the same seed, without any clients: what comes out depends on nothing else."""

    trust = "nobody"

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.n_clients, self.dimension = watch.n_clients, watch.dimension

    def _adder(self, run: Run) -> Adder:
        del run
        return _ReplayingAdder(list(self._watch.seen))


class _WatchedAdder(Adder):
    """Another adder, whose answers are noted."""

    def __init__(self, inner: Adder, seen: list[Answered]) -> None:
        self._inner, self._seen = inner, seen

    def noisy_sum(self, asked: Asked) -> FloatArray:
        values = self._inner.noisy_sum(asked)
        query = Watched(asked.query.statistic, asked.release, dict(asked.query.public), asked.query.dimension)
        self._seen.append(Answered(query, values.copy()))
        return values

    def kept(self, label: str) -> None:
        self._inner.kept(label)


class _ReplayingAdder(Adder):
    """Answers with earlier releases, in their order."""

    def __init__(self, answers: list[Answered]) -> None:
        self._answers = answers

    def noisy_sum(self, asked: Asked) -> FloatArray:
        if not self._answers:
            raise InputError(f"release {asked.release.name!r} must have been asked for in the run that is replayed; it was not.")
        answer = self._answers.pop(0)
        if answer.query.release != asked.release or answer.query.digest != asked.query.digest:
            raise InputError(f"release {asked.release.name!r} must be asked for with public numbers that follow from earlier releases.")
        return answer.values.copy()


class Known:
    """Points that the auditor knows: their exact sums, made by the same code as noisy ones, with all noise at zero."""

    def __init__(self, federation: Federation, unit: PrivacyUnit) -> None:
        self._federation = federation
        self._unit = unit

    def total(self, query: Watched) -> FloatArray:
        """Return the exact sum, in the data's own units."""
        silent = replace(query.release, noise_multiplier=0.0, times=1)
        with self._federation.open(Plan(self._unit, math.inf, _DELTA, (silent,)), seed=0) as run:
            return run.noisy_sum(query.statistic, silent, **query.public)


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
