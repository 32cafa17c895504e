"""Checks that need no chance: that the books tell what was done, that it adds up, and that nothing leaves a run beside its releases."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.audit.attack import Finding
from feddp_kmeans.audit.case import Case
from feddp_kmeans.audit.claim import second_epsilon
from feddp_kmeans.audit.watch import Replay, Watch
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.privacy.odometer import Entry, total_for
from feddp_kmeans.privacy.unit import RELATION, PrivacyUnit
from feddp_kmeans.statistics.query import check_query

_ROUNDING = 1e-3
"""Part of epsilon by which two accountants may differ."""

_OUTCOME = ("centers", "counts", "center_stddev", "projection", "server_weights", "remarks", "count_stddev", "elbow")
_SECRET_RUNS = 5


def book_findings(case: Case) -> list[Finding]:
    """Return all findings of one run in ordinary company."""
    watch, found = case.run(case.clients(case.company, None))
    return [
        _promise(case, found),
        _ledger(case, watch, found),
        _adds_up(case, watch),
        _odometer(case, watch),
        _queries(case, watch),
        _drew(watch),
        _nothing_else(case),
        _secret(case),
    ]


def _promise(case: Case, found: Clustering) -> Finding:
    """Return whether the report promises what was asked for, no less."""
    asked, told = case.settings, found.privacy
    right = (
        told.epsilon == found.plan.epsilon == asked.epsilon
        and told.delta == found.plan.delta == asked.delta
        and told.unit is found.plan.unit is asked.unit
        and told.relation == RELATION
        and found.plan.sampling_rate == asked.sampling_rate
        and told.secure == (case.seed is None)
    )
    sampled_points = asked.unit is PrivacyUnit.POINT and found.plan.sampling_rate < 1
    said = f"{told.unit.value}, {told.relation}, epsilon {told.epsilon:g}, delta {told.delta:g}, rate {found.plan.sampling_rate:g}"
    if sampled_points:
        said += ": sampling clients does not amplify the privacy of a point"
    return Finding("the report promises what was asked for", "books", said, not right or sampled_points)


def _ledger(case: Case, watch: Watch, found: Clustering) -> Finding:
    """Return whether what was seen, what was booked and what is reported are one list, and all of it was planned."""
    seen = Counter(answered.query.release for answered in watch.seen)
    rows = [release.to_dict() | {"times": times} for release, times in seen.items()]
    same = rows == watch.run.ledger.rows() == [dict(row) for row in found.privacy.ledger]
    planned = all(release in case.plan.releases and times <= release.times for release, times in seen.items())
    told = f"{sum(seen.values())} releases seen, {sum(release.times for release in case.plan.releases)} planned"
    return Finding("ledger, plan and what was seen agree", "books", told, not (same and planned))


def _adds_up(case: Case, watch: Watch) -> Finding:
    """Return what a second accountant makes of all that was seen; sampling counts only where the unit is a client."""
    rate = 1.0 if case.is_point_level else case.settings.sampling_rate
    spent = second_epsilon(list(Counter(a.query.release for a in watch.seen).items()), case.settings.delta, rate)
    over = spent > case.settings.epsilon * (1 + _ROUNDING)
    return Finding("a second accountant finds no more", "books", f"epsilon {spent:.4g} of {case.settings.epsilon:g}", over)


def _odometer(case: Case, watch: Watch) -> Finding:
    """Return whether the odometer books no less than was spent, in one run and in two."""
    plan = case.plan
    entry = Entry.from_dict(Entry.of(plan, "audit", secure=True, run="").to_dict())
    booked = total_for(plan.unit, [entry], plan.delta).epsilon
    twice = total_for(plan.unit, [entry, entry], plan.delta).epsilon
    made = Counter(answered.query.release for answered in watch.seen)
    spent = [second_epsilon([(r, n * times) for r, n in made.items()], plan.delta, plan.sampling_rate) for times in (1, 2)]
    short = booked < spent[0] * (1 - 2 * _ROUNDING) or twice < spent[1] * (1 - 2 * _ROUNDING)
    return Finding("the odometer books what is spent", "books", f"{booked:.4g} a run, {twice:.4g} two; spent {spent[0]:.4g}", short)


def _queries(case: Case, watch: Watch) -> Finding:
    """Return whether every query bounds the right unit, and states a sensitivity within its release's."""
    for answered in watch.seen:
        query = answered.query
        try:
            check_query(query.asked, query.release, case.settings.unit)
        except BudgetError as error:
            return Finding("queries fit their releases", "books", str(error), refuted=True)
    return Finding("queries fit their releases", "books", f"{len(watch.seen)} queries", refuted=False)


def _drew(watch: Watch) -> Finding:
    """Return whether every release drew random bits of its own, where this process adds the noise."""
    drew = Counter(label for label, _ in watch.drawn)
    asked = Counter(answered.query.release.name for answered in watch.seen)
    dry = [name for name, times in asked.items() if drew[name] < times] if watch.trust == "aggregator" else []
    told = f"{', '.join(dry)}: no fresh bits" if dry else f"{sum(asked.values())} releases"
    return Finding("every release draws random bits", "books", told, bool(dry))


def _nothing_else(case: Case) -> Finding:
    """Return whether the same releases, given to a run that has no clients at all, lead to the same outcome, bit by bit."""
    check, seeded = "the outcome follows from the releases alone", replace(case, seed=case.seed or 0)
    try:
        watch, found = seeded.run(case.clients(case.company, None))
        again = seeded.outcome(Replay(watch), seeded.seed_of(0))
    except (FedDPError, BudgetError) as error:
        return Finding(check, "books", str(error), refuted=True)
    differ = [name for name in _OUTCOME if not _same(getattr(found, name), getattr(again, name))]
    return Finding(check, "books", f"{', '.join(differ) or 'nothing'} differs without the clients", bool(differ))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


def _secret(case: Case) -> Finding:
    """Return whether runs without a seed have random bits and releases of their own."""
    secret = replace(case, seed=None)
    clients = case.clients(case.company, None)
    watches = [secret.run(clients)[0] for _ in range(_SECRET_RUNS)]
    bits = [words for watch in watches for _, words in watch.drawn]
    first = [watch.seen[0].values.tobytes() for watch in watches]
    same = len(set(bits)) < len(bits) or len(set(first)) < len(first) or not all(watch.run.secure for watch in watches)
    return Finding("without a seed no two runs are alike", "books", f"{_SECRET_RUNS} runs, {len(set(bits))} streams", same)
