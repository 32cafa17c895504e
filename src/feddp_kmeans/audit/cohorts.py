"""Sampled clients: amplification holds only if each release draws its own clients, each by itself and no more often than stated."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.audit.attack import Finding
from feddp_kmeans.audit.case import Case

_RUNS = 200
STATISTICAL_CHECKS = 2


def cohort_findings(case: Case, unit: FloatArray, chance: float) -> list[Finding]:
    """Return whether the unit's client takes part as often as stated, and in each release by itself; nothing where none is sampled."""
    from scipy import stats

    rate = case.plan.sampling_rate
    if rate == 1:
        return []
    took_part = _took_part(case, unit)
    runs, releases = took_part.shape
    times = took_part.sum(axis=0)
    often = min(float(stats.binom.sf(count - 1, runs, rate)) for count in times)
    joint = [int((took_part[:, a] & took_part[:, b]).sum()) for a, b in combinations(range(releases), 2)]
    together = min((float(stats.binom.sf(count - 1, runs, rate**2)) for count in joint), default=1.0)
    return [
        Finding(
            "clients are drawn no more often than stated",
            "cohorts",
            f"at most {100 * times.max() / runs:.0f} % of the runs, {100 * rate:g} % stated",
            often < chance / releases,
            chance,
        ),
        Finding(
            "each release draws its own clients",
            "cohorts",
            f"in two releases of one run at most {100 * max(joint, default=0) / runs:.0f} % of the time, {100 * rate**2:.0f} % expected",
            together < chance / max(len(joint), 1),
            chance,
        ),
    ]


def _took_part(case: Case, unit: FloatArray) -> BoolArray:
    """Return in which run and which release the only client with points took part."""
    plan = case.plan
    silent = replace(plan, releases=tuple(replace(release, noise_multiplier=0.0) for release in plan.releases))
    absent = case.known(case.clients(case.nobody, None))
    nothing = [absent.total(query) for query in case.queries]
    federation = case.federation(case.clients(case.nobody, unit))
    rows = []
    for number in range(_RUNS):
        with federation.open(silent, case.seed_of(number)) as run:
            answers = [run.noisy_sum(q.statistic, replace(q.release, noise_multiplier=0.0), **q.public) for q in case.queries]
        rows.append([not np.array_equal(answer, zero) for answer, zero in zip(answers, nothing, strict=True)])
    return np.array(rows)
