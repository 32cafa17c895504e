"""Checks without chance: the books of a run state what was done and spent, and nothing leaves a run except its releases.

A second accountant recomputes every plan; plan, ledger, sites and odometer must not state less.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np

from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.audit.attack import second_epsilon
from feddp_kmeans.audit.case import AuditCase, Watch
from feddp_kmeans.audit.finding import AuditFinding, all_right
from feddp_kmeans.audit.statistic_checks import sensitivity_finding
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.terms import Terms, Trust
from feddp_kmeans.privacy.ledger import Ledger
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Entry, filter_for, total_for
from feddp_kmeans.privacy.plan import Composition, Plan, calibrated_plan
from feddp_kmeans.privacy.unit import RELATION, PrivacyUnit
from feddp_kmeans.report.result import result_dict

_FLOATING = 1e-9

_ROUNDING = 2e-3
"""Part of epsilon by which two accountants may differ."""

_BUDGETS = ((0.5, 1e-6, 1.0), (8.0, 1e-5, 1.0), (0.5, 1e-6, 0.2))
"""Epsilon, delta and sampling rate."""

_NAIVE_BUDGETS = (0.5, 60.0)
"""Epsilons of plans with naive composition: the classical formula for Gaussian noise holds only for small ones."""

_RELEASES = {
    "Gaussian": ((Mechanism.GAUSSIAN, 1.0, 3), (Mechanism.GAUSSIAN, 4.0, 1)),
    "Laplace": ((Mechanism.LAPLACE, 2.0, 2),),
    "both": ((Mechanism.GAUSSIAN, 1.0, 2), (Mechanism.LAPLACE, 2.0, 3)),
}


def book_findings(case: AuditCase, about: str) -> list[AuditFinding]:
    """Return the findings of one run with many ordinary clients."""
    watch, found = case.run(case.crowd)
    first = {seen.release.name: seen.query for seen in reversed(watch.seen)}
    units = [sensitivity_finding(query, f"{about}, {name}", case.company) for name, query in first.items()]
    return [
        all_right("the report promises what was asked for", about, _promise(case, found)),
        all_right("ledger, plan and what was seen agree", about, _ledger(case, watch, found)),
        all_right("queries fit their releases", about, _queries(case, watch)),
        all_right("the outcome follows from the releases alone", about, _leaks(case)),
        all_right("runs are alike where they have one seed", about, _secret(case)),
        *plan_findings(found.plan, about),
        *units,
    ]


def _promise(case: AuditCase, found: Clustering) -> Iterator[str]:
    """Yield what the report, the plan or result.json state differently from what was asked for."""
    asked, told, plan = case.settings, found.privacy, found.plan
    result = result_dict(found, columns=[f"x{i}" for i in range(case.dimension)], seed=case.seed_of(0))
    facts: dict[str, tuple[Any, ...]] = {
        "epsilon": (asked.epsilon, told.epsilon, plan.epsilon, result["epsilon"], result["plan"]["epsilon"]),
        "delta": (asked.delta, told.delta, plan.delta, result["delta"], result["plan"]["delta"]),
        "unit": (asked.unit, told.unit, plan.unit, result["privacy_unit"], result["plan"]["privacy_unit"]),
        "relation": (RELATION, told.relation, result["relation"]),
        "secure": (case.seed is None, told.secure, result["secure"], "NOT PRIVATE" not in result["guarantee"]),
        "seed": (case.seed_of(0), result["seed"]),
        "trust": (told.trust, result["trust"]),
        "sampling rate": (asked.sampling_rate, plan.sampling_rate, result["plan"]["sampling_rate"]),
        "composition": (asked.composition, plan.composition, result["plan"]["composition"]),
        "ledger": ([dict(row) for row in told.ledger], result["ledger"]),
        "plan": (plan.ledger_rows(), result["plan"]["releases"]),
        "spent": (plan.epsilon_spent, told.epsilon_spent, result["plan"]["epsilon_spent"]),
    }
    yield from (name for name, values in facts.items() if any(value != values[0] for value in values))
    sentence = replace(told, secure=True).sentence()
    said = (f"e^{asked.epsilon:g},", f"delta = {asked.delta:g}", asked.unit.hidden)
    if not all(part in sentence for part in said):
        yield "sentence"
    if asked.unit is PrivacyUnit.POINT and plan.sampling_rate < 1:
        yield "sampling clients does not amplify the privacy of a point"


def _ledger(case: AuditCase, watch: Watch, found: Clustering) -> Iterator[str]:
    """Yield differences between what was seen and what is reported, and releases that were not planned."""
    planned, seen = {release.name: release for release in case.plan.releases}, Counter[str]()
    for one in watch.seen:
        name, made, own = one.release.name, one.release, planned.get(one.release.name)
        seen[name] += one.times
        if (
            own is None
            or own != replace(made, noise_multiplier=own.noise_multiplier, times=own.times, sums=own.sums)
            or seen[name] > own.times
        ):
            yield f"{name} was not planned"
        elif made.noise_multiplier * math.sqrt(one.times) < own.noise_multiplier * (1 - _FLOATING):
            yield f"{name} has less noise than was paid for"
    rows = [planned[name].to_dict() | {"times": times} for name, times in seen.items() if name in planned]
    if rows != [dict(row) for row in found.privacy.ledger]:
        yield "the ledger states other releases"


def _queries(case: AuditCase, watch: Watch) -> Iterator[str]:
    """Yield releases whose query bounds another unit, or has a larger sensitivity than the release."""
    for seen in watch.seen:
        stated, release = seen.query.sensitivity.under(seen.release.mechanism), seen.release
        fits = stated is not None and stated <= release.integer_sensitivity * (1 + _FLOATING) and seen.query.size <= release.values
        if not fits or seen.query.statistic.unit is not case.settings.unit:
            yield release.name


def _leaks(case: AuditCase) -> list[str]:
    """Return what differs if a run whose clients hold nothing is given the same releases."""
    seeded = replace(case, seed=case.seed or 0)
    clients = case.crowd
    try:
        watch, found = seeded.run(clients)
        again = seeded.run([points[:0] for points in clients], answers=watch.seen)[1]
    except FedDPError as error:
        return [str(error)]
    return [one.name for one in fields(Clustering) if not _same(getattr(found, one.name), getattr(again, one.name))]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(repr(one) == repr(other))


def _secret(case: AuditCase) -> Iterator[str]:
    """Yield what is wrong with seeds: runs without one must differ, runs with the same one must agree."""
    clients = case.clients(case.company, None)
    runs = [replace(case, seed=seed).run(clients) for seed in (None, None, None, 5, 5)]
    first = [watch.seen[0].values.tobytes() for watch, _ in runs]
    if len(set(first)) != 4 or first[3] != first[4]:
        yield "released numbers"
    if [found.privacy.secure for _, found in runs] != [True, True, True, False, False]:
        yield "what they say of their noise"


def account_findings() -> list[AuditFinding]:
    """Return whether both accountants agree on plans of every kind."""
    return [*(found for plan, about in _plans() for found in plan_findings(plan, about)), _sampler_error(), _units()]


def plan_findings(plan: Plan, about: str) -> list[AuditFinding]:
    """Return whether a plan spends no more than was asked for, and whether everybody who states its cost states no less."""
    once, twice = spent_by(plan), spent_by(plan, 2)
    ledger = Ledger(plan)
    for release in plan.releases:
        ledger.book(release, release.times, release.most_sums)
    entry = Entry.from_dict(Entry.of(plan, "audit", secure=True, run="").to_dict())
    shown = Terms.from_dict(
        Terms("audit", replace(plan, epsilon=math.inf), Trust.AGGREGATOR, secure=True, threshold=1, colluders=0).to_dict()
    )
    stated = [("plan", plan.epsilon_spent, once), ("file", plan.to_dict()["epsilon_spent"], once)]
    stated += [("ledger", ledger.epsilon_so_far, once), ("site", shown.epsilon_spent, once)]
    for total, name in ((total_for, "odometer"), (filter_for, "limit")):
        stated += [(name, total(plan.unit, [entry], plan.delta).epsilon, once)]
        stated += [(f"{name} of two runs", total(plan.unit, [entry, entry], plan.delta).epsilon, twice)]
    spent = _naive_sum(plan) if plan.composition is Composition.PAPER_NAIVE else once
    over = max(spent, once) > plan.epsilon * (1 + _ROUNDING)
    return [
        AuditFinding("a second accountant finds no more", about, f"epsilon {spent:.5g} of {plan.epsilon:g}", over),
        all_right("all state what is spent", about, [name for name, value, least in stated if not value >= least * (1 - _ROUNDING)]),
    ]


def spent_by(plan: Plan, times: int = 1) -> float:
    """Return what the second accountant finds for a plan that is carried out this many times. Points are never sampled."""
    rate = plan.sampling_rate if plan.unit is PrivacyUnit.CLIENT else 1.0
    return second_epsilon([(release, release.times * times) for release in plan.releases], plan.delta, rate)


def _naive_sum(plan: Plan) -> float:
    """Return the sum of what each release spends by itself; delta is divided among those that need one."""
    gaussians = sum(release.times for release in plan.releases if release.mechanism is Mechanism.GAUSSIAN)
    return sum(release.times * second_epsilon([(release, 1)], plan.delta / max(gaussians, 1)) for release in plan.releases)


def _plans() -> Iterator[tuple[Plan, str]]:
    for (epsilon, delta, rate), (kind, rows) in product(_BUDGETS, _RELEASES.items()):
        requests = [Release(f"{law} {i}", law, 2.0, 1e6, noise, 10, times) for i, (law, noise, times) in enumerate(rows)]
        plan = calibrated_plan(PrivacyUnit.CLIENT, epsilon, delta, requests, sampling_rate=rate)
        yield plan, f"{kind}, epsilon {epsilon:g}, rate {rate:g}"
    for epsilon in _NAIVE_BUDGETS:
        settings = Settings(3, epsilon, method=MethodName.PAPER, lloyd_steps=2, composition=Composition.PAPER_NAIVE)
        yield prepare(settings, np.random.default_rng(0).standard_normal((12, 3)), 5).plan, f"naive, epsilon {epsilon:g}"


def _sampler_error() -> AuditFinding:
    """Return whether the samplers' own error is counted everywhere: 2**-40 of epsilon per number, as ``privacy.noise`` proves."""
    few = Release("r", Mechanism.GAUSSIAN, 1.0, 1.0, 2.0, 1)
    plans = [Plan(PrivacyUnit.POINT, 8.0, 1e-6, (replace(few, values=values),)) for values in (1, 1 << 28)]
    entries = [[Entry.of(plan, "audit", secure=True, run="")] for plan in plans]
    stated = {"plan": [plan.epsilon_spent for plan in plans]}
    stated["odometer"], stated["limit"] = (
        [total(PrivacyUnit.POINT, e, 1e-6).epsilon for e in entries] for total in (total_for, filter_for)
    )
    least = 0.99 * 2.0**-40 * 2**28
    return all_right("the samplers' error is counted", "samplers", [n for n, (one, many) in stated.items() if many - one < least])


def _units() -> AuditFinding:
    """Return whether a run counts for every unit that it touches, and bounds nothing for a unit that it does not protect."""
    release = Release("r", Mechanism.GAUSSIAN, 1.0, 1.0, 2.0, 1)
    plan = Plan(PrivacyUnit.POINT, 8.0, 1e-6, (release,))
    clients = replace(plan, unit=PrivacyUnit.CLIENT)
    silent = replace(plan, releases=(replace(release, noise_multiplier=0.0),))
    point, client, open_run, no_noise = (
        Entry.of(p, "audit", secure=secure, run="") for p, secure in ((plan, True), (clients, True), (plan, False), (silent, True))
    )
    least = second_epsilon([(release, 2)], 1e-6) * (1 - _ROUNDING)
    wrong = ["a plan without noise"] * bool(np.isfinite(silent.epsilon_spent))
    for total in (total_for, filter_for):
        for name, unit, entries in (
            ("runs on points bound clients", PrivacyUnit.CLIENT, [client, point]),
            ("runs with a known seed", PrivacyUnit.POINT, [point, open_run]),
            ("runs without noise", PrivacyUnit.POINT, [no_noise]),
        ):
            wrong += [name] * math.isfinite(total(unit, entries, 1e-6).epsilon)
        wrong += ["runs on clients do not count for points"] * (total(PrivacyUnit.POINT, [point, client], 1e-6).epsilon < least)
    return all_right("runs count for every unit that they touch", "odometer", wrong)
