"""The audited case: settings on a small made-up problem, run many times with the worst unit and without it, while the auditor watches.

The attacker sees every release in order, and knows both data sets. Queries depend on earlier releases, so at each release he works out
what both would sum to for just this query, and adds up the log-likelihood ratios: no other attack on the transcript can beat it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clusterer, Clustering, run
from feddp_kmeans.algorithm.prepare import Prepared, prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.attack import AttackVerdict, claim_of, likelihood_score, sampled_score, verdict_on
from feddp_kmeans.audit.finding import AuditFinding
from feddp_kmeans.audit.noise_law import Noise, independence_finding, noise_findings
from feddp_kmeans.audit.statistic_checks import single_points
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.adder import Adder, Asked, NoisySum
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.statistics.query import Query

_COMPANY, _POINTS = 4, 6
"""Number of clients besides the attacked one, and points of each."""

_CROWD = 500, 20
"""The same for runs that show what is asked: with fewer clients the refined method sees only noise and skips releases."""

_SERVER, _SPREAD = 20, 3.0
"""Public points per cluster, and the distance of the clusters."""

Clients = list[FloatArray]

WHOLE = "whole runs"
_KEPT = 48
"""Numbers of a release whose noise is kept."""

_COLUMNS = 3
"""Numbers of each release whose noise is compared with that of every other release."""


@dataclass(frozen=True)
class Seen:
    """One release as the server saw it."""

    query: Query
    release: Release
    """As it was made; it may stand for several of the plan's."""
    values: FloatArray
    times: int = 1
    """How many of the plan's releases it stands for."""
    noise_factor: float = 1.0


class Watch:
    """Watches a run from inside and notes every release. With ``answers`` the run gets only these."""

    def __init__(self, answers: Sequence[Seen] | None = None) -> None:
        self._answers = None if answers is None else list(answers)
        self.before: Callable[[], None] = lambda: None
        """Called before clients are asked."""
        self.seen: list[Seen] = []

    def streams(self, streams: StreamFactory) -> StreamFactory:
        """Return the streams as they are."""
        return streams

    def adder(self, adder: Adder) -> Adder:
        """Return the adder with its answers noted."""
        return _WatchedAdder(adder, self)

    def answer(self, asked: Asked) -> NoisySum | None:
        """Return the earlier answer; None if the clients are to be asked."""
        self.before()
        if self._answers is None:
            return None
        before = self._answers.pop(0) if self._answers else None
        if before is None or before.release != asked.release or before.query.digest != asked.query.digest:
            raise InputError(f"release {asked.release.name!r} must be asked for with public numbers that follow from earlier releases.")
        return NoisySum(before.values.copy(), before.noise_factor)


class _WatchedAdder(Adder):
    def __init__(self, inner: Adder, watch: Watch) -> None:
        self._inner, self._watch = inner, watch
        self.kept = inner.kept  # type: ignore[method-assign]

    def noisy_sum(self, asked: Asked) -> NoisySum:
        before = self._watch.answer(asked)
        found = self._inner.noisy_sum(asked) if before is None else before
        self._watch.seen.append(Seen(asked.query, asked.release, found.values.copy(), asked.times, found.noise_factor))
        return found


@dataclass(frozen=True)
class AuditCase:
    """Settings on a small made-up problem: the guarantee must hold for any."""

    settings: Settings
    dimension: int = 3
    with_server: bool = True
    seed: int | None = None
    """Seed of the runs' noise; None for cryptographic noise."""
    federation: Callable[[Sequence[Any]], Federation] = field(default=InMemoryFederation, repr=False)
    clusterer: Clusterer | None = field(default=None, repr=False)
    """What makes the runs if it is not the method of the settings: a rival, or the algorithm of the appendix."""

    def __post_init__(self) -> None:
        if not np.isfinite(self.settings.epsilon):
            raise InputError(f"epsilon must be finite to be audited, got {self.settings.epsilon}.")
        if self.dimension < 1:
            raise InputError(f"dimension must be at least 1, got {self.dimension}.")

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: the fields, without what was computed from them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def server_points(self) -> FloatArray | None:
        """Return public points around one place per cluster; None without server data."""
        if not self.with_server:
            return None
        rng = np.random.default_rng(0)
        middles = _SPREAD * rng.standard_normal((self.settings.largest_k, self.dimension))
        points: FloatArray = (middles + 0.1 * rng.standard_normal((_SERVER, *middles.shape))).reshape(-1, self.dimension)
        return points

    @cached_property
    def prepared(self) -> Prepared:
        """Return the plan, made as for any run."""
        return prepare(self.settings, self.server_points, _COMPANY + 1, self.dimension)

    @cached_property
    def plan(self) -> Plan:
        """Return the plan of every run: it is made from public facts only."""
        return self.prepared.plan if self.clusterer is None else replace(self, seed=0).run(self.clients(self.company, None))[1].plan

    @property
    def is_point_level(self) -> bool:
        """Return whether a unit is a point."""
        return self.settings.unit is PrivacyUnit.POINT

    @property
    def company(self) -> Clients:
        """Return ordinary clients, near the server points where there are any."""
        return self._ordinary(_COMPANY, _POINTS)

    @property
    def crowd(self) -> Clients:
        """Return so many ordinary clients that all planned releases are made; in memory only, where clients are cheap."""
        return self.clients(self._ordinary(*_CROWD) if self.federation is InMemoryFederation else self.company, None)

    def _ordinary(self, clients: int, points: int) -> Clients:
        rng = np.random.default_rng(1)
        middles = np.zeros((1, self.dimension)) if self.server_points is None else self.server_points
        return [middles[rng.integers(len(middles), size=points)] + rng.standard_normal((points, self.dimension)) for _ in range(clients)]

    @property
    def nobody(self) -> Clients:
        """Return the same number of clients without points."""
        return [np.empty((0, self.dimension)) for _ in range(_COMPANY)]

    def clients(self, others: Sequence[FloatArray], unit: FloatArray | None) -> Clients:
        """Return all clients, the last of them with the unit or without it.

        The last client also holds the first one's points if the unit is a point, and nothing else if it is a client.
        """
        own = np.empty((0, self.dimension)) if unit is None else np.asarray(unit)
        if self.is_point_level:
            return [np.empty((0, self.dimension)), *others[1:], np.concatenate([others[0], own])]
        return [*others, own]

    def run(self, clients: Sequence[FloatArray], number: int = 0, answers: Sequence[Seen] | None = None) -> tuple[Watch, Clustering]:
        """Return one real run on these clients, and what was seen of it; each run number has its own noise."""
        watch, federation, seed = Watch(answers), self.federation(clients), self.seed_of(number)
        federation.open = partial(federation.open, watcher=watch)  # type: ignore[method-assign]
        if self.clusterer is None:
            return watch, run(federation, self.prepared, seed=seed)
        assert self.server_points is not None
        return watch, self.clusterer(federation, self.settings, self.server_points, seed=seed)

    def seed_of(self, number: int) -> int | None:
        """Return the seed of a run; None where noise is cryptographic."""
        return None if self.seed is None else self.seed + number

    @cached_property
    def asked(self) -> list[Seen]:
        """Return what a real run in a crowd asks, in order."""
        return self.run(self.crowd)[0].seen


@dataclass
class Trials:
    """What the auditor keeps of runs with the unit and without it."""

    scores: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    """By release, and of whole runs: with the unit and without it."""
    noise: list[list[tuple[Release, FloatArray, FloatArray]]] = field(default_factory=list)
    """For every run, each release with its released and its exact numbers."""

    def add(self, other: "Trials") -> None:
        """Take in what other runs found."""
        for name, sides in other.scores.items():
            mine = self.scores.setdefault(name, ([], []))
            mine[0].extend(sides[0])
            mine[1].extend(sides[1])
        self.noise += other.noise


def worst_unit(case: AuditCase) -> FloatArray:
    """Return the unit about which an attacker learns most from a whole run: all releases count, weighted by their noise."""
    edge = single_points(case.asked[0].query)[-1:]

    def told(unit: FloatArray) -> float:
        moved = [float(np.linalg.norm(_total(ArraySilo([unit]), seen)) / seen.release.scale) for seen in case.asked]
        return sum(one**2 for one in moved)

    return max((np.repeat(edge, times, axis=0) for times in ((1,) if case.is_point_level else (1, 30))), key=told)


def trials(case: AuditCase, unit: FloatArray, numbers: Iterable[int]) -> Trials:
    """Return the results of runs with these numbers, each once with the unit and once without it."""
    rate = case.plan.sampling_rate
    others = case.company if rate == 1 else case.nobody
    pair = [case.clients(others, unit), case.clients(others, None)]
    known, found = [ArraySilo(clients).for_run() for clients in pair], Trials()
    for number, side in product(numbers, (0, 1)):
        scores, kept = dict.fromkeys((*(release.name for release in case.plan.releases), WHOLE), 0.0), []
        for seen in case.run(pair[side], 2 * number + side)[0].seen:
            totals = [_total(silo, seen) for silo in known]
            score = sampled_score(rate, likelihood_score(seen.release, seen.values, *totals))
            scores[seen.release.name] += score
            scores[WHOLE] += score
            kept.append((seen.release, seen.values.ravel()[:_KEPT], totals[side].ravel()[:_KEPT]))
        for name, score in scores.items():
            found.scores.setdefault(name, ([], []))[side].append(score)
        found.noise += [kept] if rate == 1 else []
    return found


def _total(silo: Silo, seen: Seen) -> FloatArray:
    return np.asarray(silo.exact_sum(seen.query) * seen.release.grid, dtype=np.float64)


def judge(case: AuditCase, found: Trials, names: Sequence[str]) -> tuple[dict[str, AttackVerdict], list[AuditFinding]]:
    """Return the verdicts on these releases, or on whole runs, and what the noise shows."""
    made = Counter(seen.release for seen in case.asked)
    verdicts = {}
    for name in names:
        rows = [(release, times) for release, times in made.items() if name in {release.name, WHOLE}]
        claim = claim_of(rows, case.settings.delta, case.plan.sampling_rate, case.settings.epsilon if name == WHOLE else None)
        verdicts[name] = verdict_on(claim, *(np.array(scores) for scores in found.scores[name]))
    findings = [verdict.finding(name) for name, verdict in verdicts.items()]
    return verdicts, findings + (_noise(found) if found.noise else [])


def _noise(found: Trials) -> list[AuditFinding]:
    """Return the findings on the noise of each release, checked separately by repetition and by what it was made with."""
    by_name: dict[tuple[str, Release], list[tuple[Release, FloatArray, FloatArray]]] = defaultdict(list)
    for rows in found.noise:
        times: Counter[str] = Counter()
        for row in rows:
            times[row[0].name] += 1
            by_name[f"{row[0].name} {times[row[0].name]}", row[0]].append(row)
    findings, columns = [], []
    for (name, release), rows in by_name.items():
        width = min(len(released) for _, released, _ in rows)
        noise = Noise(release, np.array([row[1][:width] for row in rows]), np.array([row[2][:width] for row in rows]))
        findings += noise_findings(noise, name)
        columns += [(name, noise.normal[:, :_COLUMNS])] if len(rows) == len(found.noise) else []
    return [*findings, independence_finding(columns, WHOLE)]
