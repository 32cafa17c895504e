"""Checks of every federation, independent of the audited settings: the law of its noise, who takes part, and what is booked.

Histograms of very many classes serve as queries: one release shows the noise of thousands of numbers, or which of the clients took part.
"""

import math
import tempfile
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.audit.case import Watch
from feddp_kmeans.audit.finding import AuditFinding, all_right, by_chance
from feddp_kmeans.audit.noise_law import Noise, no_repeats, noise_findings, tails
from feddp_kmeans.audit.places import Asked, LoopbackFederation, Place, answers, silent
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.wire import unpack
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Entry, Odometer
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.engine import using
from feddp_kmeans.statistics.query import Query

_SITES, _SHARES = 5, 3
"""Number of sites, and of honest sites whose noise every secure sum must hold: threshold 4, of which 1 may collude (docs/secure_sum.md)."""

_SIDE = 200
"""Cells of a side of the grid: more numbers than the samplers draw at once."""

_SCALES = ((1.7, 1.0, 4), (40.0, 1.0, 1), (0.05, 1.0, 1), (20.0, 2.0**30, 1), (1e5, 2.0**16, 1))
"""Noise multipliers, integer sensitivities and times of the releases that are made."""

_CLIENTS, _TIMES, _RATE = 12, 30, 0.3


def federation_findings(place: Place) -> list[AuditFinding]:
    """Return all findings on the federation of one place."""
    clients, federation = _scattered(), place.make(_scattered(), PrivacyUnit.POINT)
    with using(place.engine):
        found = _noise_of(federation, place.name, clients, secure_sum=place.secure_sum)
        found += _cohorts(place) if place.samples else []
        found += _bookings(place)
        if isinstance(federation, LoopbackFederation) and place.secure_sum:
            found.append(_masked(federation, place.name))
            federation = LoopbackFederation(clients)
            federation.loopback.absent = {_SITES - 1}
            found += _noise_of(federation, f"{place.name}, one absent", [*clients[:-2], clients[-1]], secure_sum=True)
    return found


def record_findings(seed: int = 3) -> list[AuditFinding]:
    """Return whether a recorded run goes on without asking again, and with the noise that it would have had without the stop."""
    plan, asked = _plan(secure_sum=False)
    with tempfile.TemporaryDirectory(prefix="feddp-audit-") as folder:

        def recorded(name: str, clients: list[FloatArray], some: Asked, seed: int | None) -> tuple[list[FloatArray], bool]:
            federation = RecordedFederation(InMemoryFederation(clients), Path(folder) / name)
            values, rows = answers(federation, plan, some, seed)
            return values, len(some) < len(asked) or rows == plan.ledger_rows()

        clients = _scattered()
        nobody = [points[:0] for points in clients]
        whole, _ = answers(InMemoryFederation(clients), plan, asked, seed)
        (begun, _), (gone_on, booked) = (recorded("run", clients, some, seed) for some in (asked[:1], asked))
        replayed, booked_again = recorded("run", nobody, asked, seed)
        (kept, _), (fresh, _) = (recorded("secret", clients, some, None) for some in (asked[:1], asked))
    checks = {
        "a release was made again": not _equal(begun + kept, gone_on[:1] + fresh[:1]),
        "the noise is another than without the stop": not _equal(gone_on, whole),
        "clients were asked for what is on record": not _equal(replayed, gone_on),
        "noise of one release is another's": any(np.array_equal(a, b) for a, b in combinations([*gone_on, *fresh], 2)),
        "the ledger is another": not (booked and booked_again),
    }
    return [all_right("a run on record goes on as it was", "kept on record", [name for name, wrong in checks.items() if wrong])]


def _equal(some: Sequence[FloatArray], others: Sequence[FloatArray]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


def _scattered() -> list[FloatArray]:
    """Return clients with points all over the unit square; the last holds none."""
    rng = np.random.default_rng(8)
    return [*(rng.random((20 + 3 * index, 2)) for index in range(_SITES - 1)), np.empty((0, 2))]


def _plan(*, secure_sum: bool) -> tuple[Plan, list[tuple[Query, Release, int]]]:
    """Return a plan of releases of thousands of numbers, and what is asked under it; of one release, two are made as one."""
    sides = {"low": np.zeros(2), "high": np.ones(2), "cells": np.full(2, float(_SIDE))}
    query = Query(REGISTRY["grid-counts"], sides, 2)
    releases = [
        Release(f"{law} x {multiplier:g}", law, 1.0, steps, multiplier, query.size, times)
        for law in ([Mechanism.GAUSSIAN] if secure_sum else Mechanism)
        for multiplier, steps, times in (_SCALES if law is Mechanism.GAUSSIAN else _SCALES[1:3])
    ]
    asked = [(query, release, times) for release in releases for times in ((1, 1, 2) if release.times == 4 else (1,))]
    return Plan(PrivacyUnit.POINT, 900.0, 1e-6, tuple(releases)), asked


def _noise_of(federation: Federation, about: str, clients: Sequence[FloatArray], *, secure_sum: bool) -> list[AuditFinding]:
    """Return the findings on noise and ledger of one run; n shares have sqrt(n / needed) times the standard deviation."""
    plan, asked = _plan(secure_sum=secure_sum)
    more, exact = math.sqrt(len(clients) / _SHARES) if secure_sum else 1.0, ArraySilo(clients).exact_sum(asked[0][0]).astype(np.float64)
    released, rows = answers(federation, plan, asked, None)
    drawn = [
        Noise(release.as_one(times), values[None], exact[None] * release.grid, more)
        for (_, release, times), values in zip(asked, released, strict=True)
    ]
    findings = [found for noise in drawn for found in noise_findings(noise, f"{about}, {noise.release.name}")]
    together = np.concatenate([noise.normal.ravel() for noise in drawn])
    findings += [*no_repeats(together, about), tails(together, about, 4.0)]
    wrong = ["other releases"] * (sorted(map(str, plan.ledger_rows())) != sorted(map(str, rows)))
    return [*findings, all_right("the ledger holds what was asked", about, wrong)]


def _cohorts(place: Place) -> Iterator[AuditFinding]:
    """Yield whether each client takes part as often as stated, independently of other clients and of other releases.

    Each client has a class of its own in a histogram without noise.
    """
    from scipy import stats

    clients = [np.array([[index + 1.0, 0.0]] * (1 + index % 3)) for index in range(_CLIENTS)]
    query = Query(REGISTRY["client-distances"], {"center": np.zeros(2), "edges": np.arange(_CLIENTS) + 0.5}, 2)
    releases = [silent(query, name, _TIMES) for name in ("first", "second")]
    plan = Plan(PrivacyUnit.CLIENT, math.inf, 1e-6, tuple(releases), sampling_rate=_RATE)
    asked = [(query, release) for _ in range(_TIMES) for release in releases]
    took_part = np.array(answers(place.make(clients, PrivacyUnit.CLIENT), plan, asked, None)[0])[:, 1:] > 0
    alike = (took_part[::2] == took_part[1::2]).sum()
    for check, counts, of, rate in (
        ("clients take part as often as stated", np.array([took_part.sum()]), took_part.size, _RATE),
        ("each release draws its own clients", took_part.sum(axis=0), len(asked), _RATE),
        ("clients are drawn one by one", took_part.sum(axis=1), _CLIENTS, _RATE),
        ("two releases draw different clients", np.array([alike]), took_part.size // 2, _RATE**2 + (1 - _RATE) ** 2),
    ):
        likely = np.minimum(stats.binom.cdf(counts, of, rate), stats.binom.sf(counts - 1, of, rate)).min()
        told = f"from {counts.min()} to {counts.max()} of {of} times, at a rate of {rate:g}"
        yield by_chance(check, place.name, told, 2 * len(counts) * float(likely))


def _bookings(place: Place) -> list[AuditFinding]:
    """Return whether the odometers hold a run once, with its plan, before clients are asked, and state whether its noise was secret."""
    plan, asked = _plan(secure_sum=place.secure_sum)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="feddp-audit-") as folder:
        own, early = Odometer(Path(folder) / "odometer.jsonl"), Watch()
        early.before = lambda: wrong.extend(["late"] * (len(own.entries()) <= before[0]))
        for seed in (None, 7):
            federation = place.make(_scattered(), PrivacyUnit.POINT)
            at_sites = isinstance(federation, LoopbackFederation)
            odometers = federation.odometers if isinstance(federation, LoopbackFederation) else [own]
            federation.books = Books(own)
            before = [len(odometer.entries()) for odometer in odometers]
            with federation.open(plan, seed, watcher=None if at_sites else early) as run:
                run.noisy_sum(asked[0][0].statistic, asked[0][1], **asked[0][0].public)
            for odometer, earlier in zip(odometers, before, strict=True):
                wrong += _wrong_entry(odometer.entries()[earlier:], plan, secure=seed is None)
        wrong += ["two runs have one id"] * (len({entry.run for entry in own.entries()}) < len(own.entries()))
    return [all_right("the odometer holds every run as it was", place.name, wrong)]


def _wrong_entry(entries: Sequence[Entry], plan: Plan, *, secure: bool) -> Iterator[str]:
    """Yield what is wrong with the line of one run: it must state the plan exactly."""
    if len(entries) != 1:
        yield f"{len(entries)} lines for one run"
        return
    booked = entries[0].plan
    same = booked.ledger_rows() == plan.ledger_rows()
    same &= (booked.unit, booked.epsilon, booked.delta, booked.sampling_rate) == (plan.unit, plan.epsilon, plan.delta, plan.sampling_rate)
    if not same or entries[0].secure != secure or not entries[0].run:
        yield "it states another run"


def _masked(federation: LoopbackFederation, about: str) -> AuditFinding:
    """Return whether messages of sites look like uniform bits: each by itself, sums and differences of two, and the sum of a round."""
    from scipy import stats

    replies = [(node, unpack(reply)) for node, _, reply in federation.loopback.sent]
    sent = [(node, reply.fields["values"]) for node, reply in replies if reply.kind == "masked"]
    vectors = [values for _, values in sent]
    tried = [*vectors, *(a - b for a, b in combinations(vectors, 2)), *(a + b for a, b in combinations(vectors, 2))]
    tried += [np.sum(vectors[start : start + _SITES], axis=0, dtype=np.uint64) for start in range(0, len(vectors), _SITES)]
    likely = 1.0
    for vector in tried:
        for part in (vector >> np.uint64(60), vector & np.uint64(15)):
            likely = min(likely, float(stats.chisquare(np.bincount(part.astype(np.int64), minlength=16)).pvalue))
    return by_chance("sites send only uniform bits", about, f"{len(tried)} combinations of messages", 2 * len(tried) * likely)
