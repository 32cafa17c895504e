"""Every federation, whatever the settings of the audited run are: the law of its noise, who takes part, and what is booked.

Histograms of very many classes serve as queries: one release shows the noise of thousands of numbers, or which of the clients took part.
"""

import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.audit.loopback import LoopbackFederation
from feddp_kmeans.audit.noise_law import CHECKS, Noise, independence_finding, noise_findings
from feddp_kmeans.audit.places import Place, answers, answers_and_ledger, places, silent
from feddp_kmeans.audit.reference import reference_sum
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.wire import unpack
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Entry, Odometer
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query

FEDERATIONS = ("arrays", "files", "a Dask cluster", "tensors", "kept on record", "sites, aggregator", "sites, secure sum")
"""Places that are federations of their own; the others hold points in other ways."""

_SITES, _SHARES = 5, 3
"""Sites, and honest sites whose noise every secure sum of them must hold: threshold 4, of which 1 may collude (docs/secure_sum.md)."""

_SIDE = 90
_CLIENTS, _TIMES, _RATE = 12, 30, 0.3
STATISTICAL_CHECKS = (len(FEDERATIONS) + 1) * (4 * CHECKS + 1) + 3 * len(FEDERATIONS) + 1


def federation_findings(chance: float, names: Sequence[str] = FEDERATIONS) -> list[AuditFinding]:
    """Return all findings on the federations of these names."""
    found = []
    for place in places():
        if place.name in names:
            with place.using():
                found += noise_through(place, chance)
                found += cohorts_of(place, chance) if place.samples else []
                found += absent_site(place, chance) if place.secure_sum else []
                found += bookings(place)
    return found


def noise_through(place: Place, chance: float) -> list[AuditFinding]:
    """Return what the noise of one run shows: of one release twice, of another one, and of Laplace noise where there can be any."""
    federation = place.make(_scattered(), PrivacyUnit.POINT)
    return _noise_of(federation, place.name, _SITES, chance, secure_sum=place.secure_sum)


def absent_site(place: Place, chance: float) -> list[AuditFinding]:
    """Return the same for a secure sum of as few sites as may be, that one fewer is refused, and that no message shows its sum."""
    federation = LoopbackFederation(_scattered())
    federation.loopback.absent = {_SITES}
    found = _noise_of(federation, f"{place.name}, one site absent", _SITES - 1, chance, secure_sum=True)
    found.append(_masked(federation, place.name, chance))
    fewer = LoopbackFederation(_scattered())
    fewer.loopback.absent = {1, 2}
    plan, asked = _plan(secure_sum=True)
    try:
        answers(fewer, plan, asked, None)
        refuted, told = True, f"{_SITES - 2} of {_SITES} sites were enough"
    except FedDPError as error:
        refuted, told = False, str(error)
    return [*found, AuditFinding("fewer sites than the threshold release nothing", place.name, told, refuted)]


def cohorts_of(place: Place, chance: float) -> list[AuditFinding]:
    """Return whether each client takes part as often as stated, by itself, and in each release by itself."""
    from scipy import stats

    took_part = _took_part(place)
    by_client, by_release = took_part.sum(axis=0), took_part.sum(axis=1)
    n_releases, n_clients = took_part.shape
    findings = []
    tails = (
        ("clients take part as often as stated", np.array([took_part.sum()]), took_part.size),
        ("each release draws its own clients", by_client, n_releases),
        ("clients are drawn one by one", by_release, n_clients),
    )
    for check, counts, of in tails:
        low, high = stats.binom.cdf(counts, of, _RATE), stats.binom.sf(counts - 1, of, _RATE)
        likely = float(np.minimum(low, high).min())
        told = f"from {counts.min()} to {counts.max()} of {of} times, at a rate of {_RATE:g}"
        findings.append(AuditFinding(check, place.name, told, likely < chance / (2 * len(counts)), chance))
    return findings


def bookings(place: Place) -> list[AuditFinding]:
    """Return whether the odometer of a federation holds each run once, with the plan of the run, before the first release."""
    plan, asked = _plan(secure_sum=place.secure_sum)
    with _temporary() as folder:
        federation, odometers = _with_odometer(place, folder / "odometer.jsonl")
        answers(federation, plan, asked, None)
        once = [odometer.entries() for odometer in odometers]
        wrong = [why for entries in once for why in _wrong_entry(entries, plan, secure=True)]
        if isinstance(federation, LoopbackFederation):
            seeded, odometers = _with_odometer(place, folder / "seeded.jsonl")
            answers(seeded, plan, asked[:1], 7)
            wrong += [why for odometer in odometers for why in _wrong_entry(odometer.entries(), plan, secure=False)]
        elif not isinstance(federation, RecordedFederation):
            answers(federation, plan, asked[:1], 7)
            twice = odometers[0].entries()
            wrong += _wrong_entry(twice[1:], plan, secure=False)
            wrong += ["two runs have one id"] * (len({entry.run for entry in twice}) < len(twice))
    told = f"{len(odometers)} odometers; wrong: {', '.join(sorted(set(wrong))) or 'nothing'}"
    return [AuditFinding("the odometer holds every run as it was", place.name, told, bool(wrong))]


def replay_findings(seed: int = 3) -> list[AuditFinding]:
    """Return whether a run that is kept on record goes on without asking again, and with the noise that it would have had."""
    plan, asked = _plan(secure_sum=False)
    clients = _scattered()
    nobody = [points[:0] for points in clients]
    ledgers, wrong = [], []
    with _temporary() as folder:
        whole = answers(InMemoryFederation(clients), plan, asked, seed)
        first = RecordedFederation(InMemoryFederation(clients), folder / "run")
        begun = answers(first, plan, asked[:1], seed)
        later = RecordedFederation(InMemoryFederation(clients), folder / "run")
        gone_on, rows = answers_and_ledger(later, plan, asked, seed)
        ledgers.append(rows)
        again = RecordedFederation(InMemoryFederation(nobody), folder / "run")
        replayed, rows = answers_and_ledger(again, plan, asked, seed)
        ledgers.append(rows)
        secret = RecordedFederation(InMemoryFederation(clients), folder / "secret")
        kept = answers(secret, plan, asked[:1], None)
        fresh = answers(RecordedFederation(InMemoryFederation(clients), folder / "secret"), plan, asked, None)
    wrong += ["a release was made again"] * (not _all_equal(begun, gone_on[:1]) or not _all_equal(kept, fresh[:1]))
    wrong += ["the noise is another than without the stop"] * (not _all_equal(gone_on, whole))
    wrong += ["clients were asked for what is on record"] * (not _all_equal(replayed, gone_on))
    wrong += ["noise of one release is another's"] * any(np.array_equal(a, b) for a, b in combinations([*gone_on, *fresh], 2))
    wrong += ["the ledger is another"] * any(rows != plan.ledger_rows() for rows in ledgers)
    told = f"{len(asked)} releases, stopped after the first; wrong: {', '.join(wrong) or 'nothing'}"
    return [AuditFinding("a run on record goes on as it was", "kept on record", told, bool(wrong))]


def _all_equal(some: Sequence[FloatArray], others: Sequence[FloatArray]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


def _scattered() -> list[FloatArray]:
    """Return clients with points all over the unit square; the last holds none."""
    rng = np.random.default_rng(8)
    return [*(rng.random((20 + 3 * index, 2)) for index in range(_SITES - 1)), np.empty((0, 2))]


def _plan(*, secure_sum: bool) -> tuple[Plan, list[tuple[Query, Release]]]:
    """Return a plan of releases of thousands of numbers, and what is asked under it."""
    sides = {"low": np.zeros(2), "high": np.ones(2), "cells": np.full(2, float(_SIDE))}
    query = Query(REGISTRY["grid-counts"], sides, 2)
    releases = [
        Release("often", Mechanism.GAUSSIAN, 1.0, 1.0, 1.7, query.size, times=2),
        Release("once", Mechanism.GAUSSIAN, 1.0, 1.0, 40.0, query.size),
        Release("laplace", Mechanism.LAPLACE, 1.0, 1.0, 2.5, query.size),
    ]
    kept = [release for release in releases if not (secure_sum and release.mechanism is Mechanism.LAPLACE)]
    asked = [(query, release) for release in kept for _ in range(release.times)]
    return Plan(PrivacyUnit.POINT, 100.0, 1e-6, tuple(kept)), asked


def _noise_of(federation: Federation, about: str, answered: int, chance: float, *, secure_sum: bool) -> list[AuditFinding]:
    plan, asked = _plan(secure_sum=secure_sum)
    more = math.sqrt(answered / _SHARES) if secure_sum else 1.0
    exact = reference_sum(asked[0][0], _scattered()[:answered] if secure_sum else _scattered())
    released, rows = answers_and_ledger(federation, plan, asked, None)
    drawn = [Noise(release, values[None], exact[None], more) for (_, release), values in zip(asked, released, strict=True)]
    findings = [
        found for index, noise in enumerate(drawn) for found in noise_findings(noise, f"{about}, {noise.release.name} {index}", chance)
    ]
    columns = [(f"{noise.release.name} {index}", noise.normal.T) for index, noise in enumerate(drawn)]
    told = sorted(str(release.to_dict()) for release in plan.releases)
    booked = sorted(str(row) for row in rows)
    ledger = AuditFinding("the ledger holds what was asked", about, f"{len(booked)} rows", told != booked)
    return [*findings, independence_finding(columns, about, chance), ledger]


def _masked(federation: LoopbackFederation, about: str, chance: float) -> AuditFinding:
    """Return whether what sites send looks like uniform bits: anything else shows their own sums."""
    from scipy import stats

    sent = [unpack(reply) for _, reply in federation.loopback.replies]
    vectors = [message.fields["values"] for message in sent if message.kind == "masked"]
    parts = np.concatenate([np.concatenate([vector >> np.uint64(60), vector & np.uint64(15)]) for vector in vectors]).astype(np.int64)
    refuted = float(stats.chisquare(np.bincount(parts, minlength=16)).pvalue) < chance
    return AuditFinding("sites send nothing but uniform bits", about, f"{len(vectors)} messages", refuted, chance)


def _took_part(place: Place) -> BoolArray:
    """Return in which release which client took part: each has a class of its own in a histogram without noise."""
    clients = [np.array([[index + 1.0, 0.0]] * (1 + index % 3)) for index in range(_CLIENTS)]
    query = Query(REGISTRY["client-distances"], {"center": np.zeros(2), "edges": np.arange(_CLIENTS) + 0.5}, 2)
    releases = [silent(query, name, _TIMES) for name in ("first", "second")]
    plan = Plan(PrivacyUnit.CLIENT, math.inf, 1e-6, tuple(releases), sampling_rate=_RATE)
    asked = [(query, release) for _ in range(_TIMES) for release in releases]
    federation = place.make(clients, PrivacyUnit.CLIENT)
    took_part: BoolArray = np.array(answers(federation, plan, asked, None))[:, 1:] > 0
    return took_part


def _with_odometer(place: Place, path: Path) -> tuple[Federation, list[Odometer]]:
    federation = place.make(_scattered(), PrivacyUnit.POINT)
    if isinstance(federation, LoopbackFederation):
        return federation, federation.odometers
    federation.books = Books(Odometer(path))
    return federation, [Odometer(path)]


def _wrong_entry(entries: Sequence[Entry], plan: Plan, *, secure: bool) -> list[str]:
    """Return what is wrong with the line of one run: it must state the plan, to the last number."""
    if len(entries) != 1:
        return [f"{len(entries)} lines for one run"]
    entry = entries[0]
    stated = [(r.name, r.mechanism, r.noise_multiplier, r.times, r.values) for r in entry.plan.releases]
    planned = [(r.name, r.mechanism, r.noise_multiplier, r.times, r.values) for r in plan.releases]
    wrong = ["other releases"] * (stated != planned)
    facts = (entry.plan.unit, entry.plan.epsilon, entry.plan.delta, entry.plan.sampling_rate, entry.secure)
    wrong += ["other facts"] * (facts != (plan.unit, plan.epsilon, plan.delta, plan.sampling_rate, secure))
    return wrong + ["no id"] * (not entry.run)


@contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="feddp-audit-") as name:
        yield Path(name)
