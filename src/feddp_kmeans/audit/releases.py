"""One release, many times: the same query under the same plan, with the worst unit and without it, alone and in company."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.audit.attack import Finding, Verdict, likelihood_score, sampled_score, verdict_on
from feddp_kmeans.audit.case import Case, Clients
from feddp_kmeans.audit.claim import Claim, claim_of
from feddp_kmeans.audit.neighbours import Worst, worst_unit
from feddp_kmeans.audit.noise_law import CHECKS, Noise, noise_findings
from feddp_kmeans.audit.watch import Watched

STATISTICAL_CHECKS = 2 * (2 + 2 * CHECKS)
"""Statistical checks of one release: alone and in company, two scores, and the noise with the unit and without it."""


@dataclass(frozen=True)
class ReleaseAudit:
    """What the audit of one release found."""

    name: str
    verdict: Verdict
    """Of the sharper attack."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class _Drawn:
    """Many noisy answers to one query on the same clients, and the exact one."""

    released: FloatArray
    exact: FloatArray


def audit_release(case: Case, name: str, *, runs: int, chance: float) -> ReleaseAudit:
    """Return the audit of the release of this name; every statistical check refutes right code with ``chance`` at most."""
    asked = [query for query in case.queries if query.release.name == name]
    worst = max((worst_unit(case, query) for query in asked[:1] + asked[1:][-1:]), key=lambda found: found.reach)
    claim = claim_of([(worst.query.release, 1)], case.settings.delta, case.plan.sampling_rate)
    findings, verdicts = [worst.finding(name)], []
    for place, others in (("alone", case.nobody), ("in company", case.company)):
        about = f"{name}, {place}"
        attacked, noise = _attack(case, worst, others, claim, runs, chance)
        verdicts += attacked
        findings += [found for drawn in noise for found in noise_findings(drawn, about, chance)]
        findings += [verdict.finding(about) for verdict in attacked]
    sharpest = max(verdicts, key=lambda verdict: (verdict.refuted, verdict.epsilon_if_gaussian, verdict.score == "likelihood"))
    return ReleaseAudit(name, sharpest, tuple(findings))


def _attack(case: Case, worst: Worst, others: Clients, claim: Claim, runs: int, chance: float) -> tuple[list[Verdict], list[Noise]]:
    query, release, rate = worst.query, worst.query.release, case.plan.sampling_rate
    clients = [case.clients(others, unit) for unit in (worst.unit, None)]
    both = [_draw(case, query, some, runs, first) for some, first in zip(clients, (0, runs), strict=True)]
    absent = case.known(case.clients(case.nobody, None)).total(query)
    exact_with, exact_without = (drawn.exact for drawn in both)
    likely, exact = [], []
    for drawn in both:
        likely.append(
            np.array(
                [
                    sampled_score(rate, *(likelihood_score(release, row, total, absent) for total in (exact_with, exact_without)))
                    for row in drawn.released
                ]
            )
        )
        exact.append((drawn.released == exact_with).sum(axis=1) - (drawn.released == exact_without).sum(axis=1).astype(np.float64))
    verdicts = [
        verdict_on(claim, *scores, score=name, failure_chance=chance) for name, scores in (("likelihood", likely), ("exact numbers", exact))
    ]
    known = both if rate == 1 else []
    return verdicts, [Noise(release, drawn.released, drawn.exact[None]) for drawn in known]


def _draw(case: Case, query: Watched, clients: Clients, runs: int, first: int) -> _Drawn:
    federation = case.federation(clients)
    released = []
    for number in range(first, first + runs):
        with case.open(federation, number) as run:
            released.append(run.noisy_sum(query.statistic, query.release, **query.public))
    return _Drawn(np.array(released), case.known(clients).total(query))
