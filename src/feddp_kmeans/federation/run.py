"""One run: a plan, and all that belongs to carrying it out once. Its one verb is a noisy sum; no verb returns an exact one."""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from feddp_kmeans._typing import Array, BoolArray, FloatArray
from feddp_kmeans.errors import BudgetError
from feddp_kmeans.federation.adder import Adder, Asked, NoisySum
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.ledger import Ledger, PrivacyReport
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.statistics.query import Query, Statistic, check_query


class Watcher(Protocol):
    """Looks at a run from inside: for audits and tests."""

    def streams(self, streams: StreamFactory) -> StreamFactory:
        """Return the streams that the run draws its random bits from: these, or others in their place."""

    def adder(self, adder: Adder) -> Adder:
        """Return what answers the run: this adder, or another around it."""


@dataclass(eq=False)
class Run(AbstractContextManager["Run"]):
    """A plan under way on a federation: each of its releases is answered as often as planned, and nothing else is.

    Ledger, random bits, server seed and the line on the odometer are the run's own. ``Federation.open`` makes one.
    """

    plan: Plan
    seed: int | None
    n_clients: int
    dimension: int
    trust: str
    id: str
    books: Books | None
    on_release: Callable[[str], None] | None
    watcher: Watcher | None

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.plan)
        self.streams = StreamFactory(self.seed) if self.watcher is None else self.watcher.streams(StreamFactory(self.seed))
        self.server_seed = self.streams.integer_seed("server k-means")
        """Seed of the server's own computations: it decides restarts, never noise."""
        self.made: dict[str, Release] = {}
        """By name, each release as it was made last, with the noise that it really had: less than planned if it stands for several, more if
        more clients than needed added their shares. For stated errors; the budget counts what was planned."""
        self.units: FloatArray | None = None
        self.fill: FloatArray | None = None
        """How clients read their rows for all further sums (see ``statistics.gate.ROWS``): public, or read off earlier releases."""
        self.remarks: list[str] = []
        """What is doubtful about the result, as far as releases have shown it."""
        self._booked = False
        self._adder: Adder | None = None
        self._asked: Counter[str] = Counter()

    def __exit__(self, *_: object) -> None:
        """Close the run."""
        self.close()

    @property
    def secure(self) -> bool:
        """Return whether the noise is cryptographic."""
        return self.streams.secure

    def begin(self, adder: Adder) -> Self:
        """Return this run, which the adder answers from now on."""
        self._adder = adder if self.watcher is None else self.watcher.adder(adder)
        return self

    def close(self) -> None:
        """End the run: it makes no further release, and what was held for it is let go."""
        self._adder = None

    def go_on(self, run: str, server_seed: int) -> None:
        """Take the place of a run that was stopped: its id and server seed."""
        self.id, self.server_seed = run, server_seed

    def book(self, state: str | None = None) -> None:
        """Write the run on the odometer of its data, if there is one: once, and before its first release (see ``Books.book``)."""
        if self.books is not None and not self._booked:
            self.books.book(self.plan, self.id, secure=self.secure, state=state)
        self._booked = True

    def noisy_sum(self, statistic: Statistic, release: Release, *, times: int = 1, **public: Any) -> FloatArray:
        """Return the sum of the statistic over all clients, with the noise of the mean of ``times`` releases; it counts as that many.

        They are made as one, with a single exact sum and a single draw of noise, wherever that costs the same. With sampled clients or
        Laplace noise it does not (``Plan.adds_up``): then they are made one by one, each with a cohort and noise of its own.
        """
        if self._adder is None:
            raise BudgetError(f"a run must be open to release anything, got {release.name!r} for one that is closed.")
        rows = {name: value for name, value in (("units", self.units), ("fill", self.fill)) if value is not None}
        query = Query(statistic, public | rows, self.dimension)
        parts = [times] if self.plan.adds_up(release) else [1] * times
        self.ledger.book(release, times, len(parts))
        check_query(query, release, self.plan.unit)
        self.book()
        found = [self._made_as_one(self._adder, query, release, part) for part in parts]
        one, factor = release.as_one(times), float(np.sqrt(np.mean([np.square(answer.noise_factor) for answer in found])))
        self.made[release.name] = replace(one, noise_multiplier=factor * one.noise_multiplier)
        values: FloatArray = np.mean([answer.values for answer in found], axis=0)
        return values

    def _made_as_one(self, adder: Adder, query: Query, release: Release, times: int) -> NoisySum:
        name = release.name
        if self.on_release is not None:
            self.on_release(name)
        number = self._asked[name]
        self._asked[name] += times
        return adder.noisy_sum(Asked(query, release.as_one(times), number, self._cohort(name), self.streams.stream(name), times))

    def report(self) -> PrivacyReport:
        """Return the guarantee of the run, what was released under it, and what was planned and not made."""
        return PrivacyReport(
            unit=self.plan.unit,
            epsilon=self.plan.epsilon,
            delta=self.plan.delta,
            epsilon_spent=self.plan.epsilon_spent,
            secure=self.secure,
            trust=self.trust,
            ledger=tuple(self.ledger.rows()),
            not_made=self.ledger.not_made(),
        )

    def _cohort(self, label: str) -> BoolArray | None:
        """Return which clients take part: each by itself and afresh each time, with the plan's rate (rounded down); None for all."""
        rate = self.plan.sampling_rate
        if rate == 1:
            return None
        bits: Array = self.streams.stream(f"cohort/{label}").uint64(self.n_clients)
        return bits < np.uint64(int(rate * 2.0**64))
