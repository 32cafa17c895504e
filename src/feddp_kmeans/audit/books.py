"""Checks that need no chance: that the books tell what was done, that it adds up, and that nothing leaves a run beside its releases."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.claim import second_epsilon
from feddp_kmeans.audit.reference import known_statistics, reference_sum, rounding
from feddp_kmeans.audit.watch import Replay, Watch
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.privacy.odometer import Entry, total_for
from feddp_kmeans.privacy.unit import RELATION, PrivacyUnit
from feddp_kmeans.report.result import result_dict

_ROUNDING = 1e-3
"""Part of epsilon by which two accountants may differ."""

_FLOATING = 1e-9
_OUTCOME = ("centers", "counts", "center_stddev", "projection", "server_weights", "remarks", "count_stddev", "elbow")
_SECRET_RUNS = 3


def book_findings(case: AuditCase, about: str = "books") -> list[AuditFinding]:
    """Return all findings of one run in a crowd."""
    watch, found = case.run(case.clients(case.crowd, None))
    findings = [
        _promise(case, found),
        _written(case, found),
        _ledger(case, watch, found),
        _adds_up(case, watch),
        _odometer(case),
        _queries(case, watch),
        _values(case, watch),
        _drew(case, watch),
        _nothing_else(case),
        _secret(case),
    ]
    return [replace(finding, about=about) for finding in findings]


def _promise(case: AuditCase, found: Clustering) -> AuditFinding:
    """Return whether the report promises what was asked for, no less."""
    asked, told = case.settings, found.privacy
    right = (
        told.epsilon == found.plan.epsilon == asked.epsilon
        and told.delta == found.plan.delta == asked.delta
        and told.unit is found.plan.unit is asked.unit
        and told.relation == RELATION
        and found.plan.sampling_rate == asked.sampling_rate
        and found.plan.composition == asked.composition
        and told.secure == (case.seed is None)
    )
    sampled_points = asked.unit is PrivacyUnit.POINT and found.plan.sampling_rate < 1
    said = f"{told.unit.value}, {told.relation}, epsilon {told.epsilon:g}, delta {told.delta:g}, rate {found.plan.sampling_rate:g}"
    if sampled_points:
        said += ": sampling clients does not amplify the privacy of a point"
    return AuditFinding("the report promises what was asked for", "books", said, not right or sampled_points)


def _written(case: AuditCase, found: Clustering) -> AuditFinding:
    """Return whether result.json says the same as the run, and nothing that is private only for who does not know the seed."""
    result = result_dict(found, columns=[f"x{i}" for i in range(case.dimension)], seed=case.seed_of(0))
    asked = {"epsilon": case.settings.epsilon, "delta": case.settings.delta, "privacy_unit": case.settings.privacy_unit}
    asked |= {"secure": case.seed is None, "seed": case.seed_of(0), "trust": found.privacy.trust}
    asked |= {"ledger": [dict(row) for row in found.privacy.ledger]}
    wrong = [name for name, value in asked.items() if result[name] != value]
    sentence = replace(found.privacy, secure=True).sentence()
    said = (f"e^{case.settings.epsilon:g},", f"delta = {case.settings.delta:g}", case.settings.unit.hidden)
    wrong += ["guarantee"] * (
        not all(part in sentence for part in said) or ("NOT PRIVATE" in result["guarantee"]) != (case.seed is not None)
    )
    wrong += ["plan"] * (result["plan"]["releases"] != found.plan.ledger_rows())
    spent = second_epsilon([(r, r.times) for r in found.plan.releases], found.plan.delta, _rate(case))
    wrong += ["epsilon_spent"] * (result["plan"]["epsilon_spent"] < spent * (1 - 2 * _ROUNDING))
    return AuditFinding("result.json tells what was done", "books", f"wrong: {', '.join(wrong) or 'nothing'}", bool(wrong))


def _ledger(case: AuditCase, watch: Watch, found: Clustering) -> AuditFinding:
    """Return whether what was seen, what was booked and what is reported are one list, and all of it was planned."""
    seen = Counter(answered.query.release for answered in watch.seen)
    rows = [release.to_dict() | {"times": times} for release, times in seen.items()]
    same = rows == watch.run.ledger.rows() == [dict(row) for row in found.privacy.ledger]
    planned = all(release in case.plan.releases and times <= release.times for release, times in seen.items())
    told = f"{sum(seen.values())} releases seen, {sum(release.times for release in case.plan.releases)} planned"
    return AuditFinding("ledger, plan and what was seen agree", "books", told, not (same and planned))


def _adds_up(case: AuditCase, watch: Watch) -> AuditFinding:
    """Return what a second accountant makes of all that was planned, and of all that was seen; points are never sampled."""
    planned = [(release, release.times) for release in case.plan.releases]
    seen = list(Counter(answered.query.release for answered in watch.seen).items())
    spent = max(second_epsilon(rows, case.settings.delta, _rate(case)) for rows in (planned, seen))
    over = spent > case.settings.epsilon * (1 + _ROUNDING)
    return AuditFinding("a second accountant finds no more", "books", f"epsilon {spent:.4g} of {case.settings.epsilon:g}", over)


def _odometer(case: AuditCase) -> AuditFinding:
    """Return whether the odometer books no less than the plan spends, in one run and in two."""
    plan = case.plan
    entry = Entry.from_dict(Entry.of(plan, "audit", secure=True, run="").to_dict())
    booked = total_for(plan.unit, [entry], plan.delta).epsilon
    twice = total_for(plan.unit, [entry, entry], plan.delta).epsilon
    spent = [second_epsilon([(r, r.times * runs) for r in plan.releases], plan.delta, _rate(case)) for runs in (1, 2)]
    short = booked < spent[0] * (1 - 2 * _ROUNDING) or twice < spent[1] * (1 - 2 * _ROUNDING)
    return AuditFinding("the odometer books what is spent", "books", f"{booked:.4g} a run, {twice:.4g} two; spent {spent[0]:.4g}", short)


def _rate(case: AuditCase) -> float:
    """Return at which rate units are sampled: points never are."""
    return 1.0 if case.is_point_level else case.settings.sampling_rate


def _queries(case: AuditCase, watch: Watch) -> AuditFinding:
    """Return whether every query bounds the right unit, and states a sensitivity within its release's."""
    wrong = []
    for query in (answered.query for answered in watch.seen):
        release, asked = query.release, query.asked
        stated = asked.sensitivity.l1 if release.mechanism is Mechanism.LAPLACE else asked.sensitivity.l2
        fits = stated is not None and stated <= release.integer_sensitivity * (1 + _FLOATING)
        if not (fits and query.statistic.unit is case.settings.unit and asked.size <= release.values):
            wrong.append(release.name)
    told = f"{len(watch.seen)} queries; beyond their release: {', '.join(wrong) or 'none'}"
    return AuditFinding("queries fit their releases", "books", told, bool(wrong))


def _values(case: AuditCase, watch: Watch) -> AuditFinding:
    """Return whether what is summed is what the slow reference sums up, but for rounding."""
    clients = case.clients(case.company, None)
    known, wrong = case.known(clients), []
    for query in (answered.query for answered in watch.seen):
        if query.statistic.name in known_statistics():
            asked = query.asked
            exact = known.total(query) / query.release.grid
            units = sum(map(len, clients)) if case.is_point_level else len(clients)
            off = np.linalg.norm(exact - reference_sum(asked, clients)) / (asked.sensitivity.l2 * units)
            wrong += [query.release.name] * bool(off > rounding(asked))
    return AuditFinding("sums are what they are stated to be", "books", f"others: {', '.join(wrong) or 'none'}", bool(wrong))


def _drew(case: AuditCase, watch: Watch) -> AuditFinding:
    """Return whether every release drew random bits of its own, where this process adds the noise."""
    drew = Counter(label for label, _ in watch.drawn)
    asked = Counter(answered.query.release.name for answered in watch.seen)
    dry = [name for name, times in asked.items() if drew[name] < times] if case.federation is InMemoryFederation else []
    told = f"{', '.join(dry)}: no fresh bits" if dry else f"{sum(asked.values())} releases"
    return AuditFinding("every release draws random bits", "books", told, bool(dry))


def _nothing_else(case: AuditCase) -> AuditFinding:
    """Return whether the same releases, given to a run that has no clients at all, lead to the same outcome, bit by bit."""
    check, seeded = "the outcome follows from the releases alone", replace(case, seed=case.seed or 0)
    try:
        watch, found = seeded.run(case.clients(case.crowd, None))
        again = seeded.outcome(Replay(watch), seeded.seed_of(0))
    except FedDPError as error:
        return AuditFinding(check, "books", str(error), refuted=True)
    differ = [name for name in _OUTCOME if not _same(getattr(found, name), getattr(again, name))]
    return AuditFinding(check, "books", f"{', '.join(differ) or 'nothing'} differs without the clients", bool(differ))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


def _secret(case: AuditCase) -> AuditFinding:
    """Return whether runs without a seed have random bits and releases of their own."""
    secret = replace(case, seed=None)
    clients = case.clients(case.company, None)
    watches = [secret.run(clients)[0] for _ in range(_SECRET_RUNS)]
    bits = [words for watch in watches for _, words in watch.drawn]
    first = [watch.seen[0].values.tobytes() for watch in watches]
    same = len(set(bits)) < len(bits) or len(set(first)) < len(first) or not all(watch.run.secure for watch in watches)
    return AuditFinding("without a seed no two runs are alike", "books", f"{_SECRET_RUNS} runs, {len(set(bits))} streams", same)
