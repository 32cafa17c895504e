"""Plans of many kinds, recomputed by the second accountant: what a plan says it spends, what the odometer adds up, and naive shares."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.audit.claim import second_epsilon
from feddp_kmeans.privacy.ledger import Ledger
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Entry, filter_for, total_for
from feddp_kmeans.privacy.plan import Composition, Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit

_ROUNDING = 2e-3
"""Part of epsilon by which two accountants may differ."""

_WASTED = 0.02
"""Part of epsilon that a tight plan may leave unspent."""

_BUDGETS = ((0.5, 1e-6), (8.0, 1e-5))
_RELEASES = {
    "gaussian": ((Mechanism.GAUSSIAN, 1.0, 3), (Mechanism.GAUSSIAN, 4.0, 1)),
    "laplace": ((Mechanism.LAPLACE, 2.0, 2),),
    "both": ((Mechanism.GAUSSIAN, 1.0, 2), (Mechanism.LAPLACE, 2.0, 3)),
}
_RATES = (1.0, 0.2)


def account_findings() -> list[AuditFinding]:
    """Return whether both accountants agree on plans of every kind."""
    return [found for plan, about in _plans() for found in _one_plan(plan, about)] + [_naive(), _sampler_error(), *_units()]


def spent_by(plan: Plan, times: int = 1) -> float:
    """Return what the second accountant finds for a plan that is carried out so many times."""
    rate = plan.sampling_rate if plan.unit is PrivacyUnit.CLIENT else 1.0
    return second_epsilon([(release, release.times * times) for release in plan.releases], plan.delta, rate)


def _plans() -> Iterator[tuple[Plan, str]]:
    for (epsilon, delta), (kind, rows), rate in product(_BUDGETS, _RELEASES.items(), _RATES):
        if rate < 1 and (epsilon, delta) != _BUDGETS[0]:
            continue
        requests = [
            Release(f"{mechanism} {index}", mechanism, 2.0, 1e6, noise, 10, times) for index, (mechanism, noise, times) in enumerate(rows)
        ]
        about = f"{kind}, epsilon {epsilon:g}, rate {rate:g}"
        yield calibrated_plan(PrivacyUnit.CLIENT, epsilon, delta, requests, sampling_rate=rate), about


def _one_plan(plan: Plan, about: str) -> list[AuditFinding]:
    found, ledger = spent_by(plan), Ledger(plan)
    for release in plan.releases:
        for _ in range(release.times):
            ledger.book(release)
    stated = (plan.epsilon_spent, ledger.epsilon_so_far, plan.to_dict()["epsilon_spent"])
    entry = Entry.from_dict(Entry.of(plan, "audit", secure=True, run="").to_dict())
    booked = [total_for(plan.unit, [entry] * times, plan.delta).epsilon for times in (1, 2)]
    filtered = filter_for(plan.unit, [entry], plan.delta).epsilon
    short = min(booked[0] / found, booked[1] / spent_by(plan, 2), *(value / found for value in stated), filtered / found)
    return [
        AuditFinding("a plan spends what was asked for", about, f"{found:.5g} of {plan.epsilon:g}", not _is_spent(found, plan.epsilon)),
        AuditFinding(
            "plan, ledger and odometer state no less than is spent", about, f"the least states {short:.4f} of it", short < 1 - _ROUNDING
        ),
    ]


def _is_spent(found: float, asked: float) -> bool:
    return asked * (1 - _WASTED) <= found <= asked * (1 + _ROUNDING)


def _naive() -> AuditFinding:
    """Return whether naive composition holds: each release meets its own share, and the shares add up to what was asked for."""
    points = np.random.default_rng(0).standard_normal((12, 3))
    settings = Settings(3, 2.0, method=MethodName.PAPER, lloyd_steps=2, composition=Composition.PAPER_NAIVE)
    plan = prepare(settings, points, 5).plan
    gaussians = sum(release.times for release in plan.releases if release.mechanism is Mechanism.GAUSSIAN)
    shares = [release.times * second_epsilon([(release, 1)], plan.delta / gaussians) for release in plan.releases]
    wrong = sum(shares) > plan.epsilon * (1 + _ROUNDING) or plan.composition is not Composition.PAPER_NAIVE
    return AuditFinding("naive shares add up to no more than was asked for", "books", f"{sum(shares):.4g} of {plan.epsilon:g}", wrong)


def _sampler_error() -> AuditFinding:
    """Return whether the samplers' own error is counted: 2**-40 of epsilon for each number drawn, as ``privacy.noise`` proves."""
    few = Release("r", Mechanism.GAUSSIAN, 1.0, 1.0, 2.0, 1)
    many = replace(few, values=1 << 28)
    spent = [Plan(PrivacyUnit.POINT, 8.0, 1e-6, (release,)).epsilon_spent for release in (few, many)]
    least = 2.0**-40 * many.values
    return AuditFinding(
        "the samplers' error is counted", "books", f"{spent[1] - spent[0]:.3g} of {least:.3g}", spent[1] - spent[0] < 0.99 * least
    )


def _units() -> Sequence[AuditFinding]:
    """Return whether runs that do not protect a unit bound nothing for it, and others for both."""
    release = Release("r", Mechanism.GAUSSIAN, 1.0, 1.0, 2.0, 1)
    plan = Plan(PrivacyUnit.POINT, 8.0, 1e-6, (release,))
    point, client, open_run = (
        Entry.of(plan, "audit", secure=True, run="a"),
        Entry.of(replace(plan, unit=PrivacyUnit.CLIENT), "audit", secure=True, run="b"),
        Entry.of(plan, "audit", secure=False, run="c"),
    )
    unbounded = [total_for(PrivacyUnit.CLIENT, [point, client], 1e-6), total_for(PrivacyUnit.POINT, [point, open_run], 1e-6)]
    unbounded += [filter_for(PrivacyUnit.CLIENT, [point], 1e-6), filter_for(PrivacyUnit.POINT, [open_run], 1e-6)]
    silent = replace(plan, releases=(replace(release, noise_multiplier=0.0),))
    unbounded += [total_for(PrivacyUnit.POINT, [Entry.of(silent, "audit", secure=True, run="d")], 1e-6)]
    both = total_for(PrivacyUnit.POINT, [point, client], 1e-6).epsilon
    least = second_epsilon([(release, 2)], 1e-6)
    wrong = any(np.isfinite(total.epsilon) for total in unbounded) or np.isfinite(silent.epsilon_spent) or both < least * (1 - _ROUNDING)
    told = f"points {both:.4g} of {least:.4g}; unbounded for others: {[not np.isfinite(total.epsilon) for total in unbounded]}"
    return [AuditFinding("runs count for every unit that they touch", "books", told, bool(wrong))]
