"""Whole runs, many times, with the worst unit and without it: the attacker sees every release in order, and knows both data sets.

Queries depend on earlier releases. So at each release the attacker works out what both data sets would sum to for just this query, and
adds up the log-likelihood ratios: what no other attack on the transcript can beat, if the noise is what it is said to be.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.audit.attack import AttackVerdict, AuditFinding, likelihood_score, sampled_score, verdict_on
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.claim import claim_of
from feddp_kmeans.audit.noise_law import CHECKS, Noise, independence_finding, noise_findings
from feddp_kmeans.privacy.mechanism import Release

_KEPT = 48
"""Numbers of a release whose noise is kept."""

_COLUMNS = 3
"""Numbers of each release whose noise is compared with that of every other release."""

WHOLE = "whole runs"


@dataclass
class WholeRuns:
    """What the auditor keeps of whole runs."""

    with_unit: list[float] = field(default_factory=list)
    without: list[float] = field(default_factory=list)
    noise: list[list[tuple[Release, FloatArray, FloatArray]]] = field(default_factory=list)
    """For every run, each release with its released and its exact numbers."""
    drawn: list[tuple[str, bytes]] = field(default_factory=list)
    """Label and first words of every stream of random bits."""

    def add(self, other: "WholeRuns") -> None:
        """Take in what other runs found."""
        self.with_unit += other.with_unit
        self.without += other.without
        self.noise += other.noise
        self.drawn += other.drawn


def whole_runs(case: AuditCase, unit: FloatArray, numbers: Iterable[int]) -> WholeRuns:
    """Return what runs of these numbers give, each once with the unit and once without it."""
    others = case.company if case.plan.sampling_rate == 1 else case.nobody
    pair = [case.clients(others, unit), case.clients(others, None)]
    known = [case.known(clients) for clients in pair]
    absent = case.known(case.clients(case.nobody, None))
    rate = case.plan.sampling_rate
    found = WholeRuns()
    for number in numbers:
        for side, scores in enumerate((found.with_unit, found.without)):
            watch, _ = case.run(pair[side], 2 * number + side)
            score, kept = 0.0, []
            for answered in watch.seen:
                release, totals = answered.query.release, [one.total(answered.query) for one in known]
                nothing = totals[1] if rate == 1 else absent.total(answered.query)
                score += sampled_score(rate, *(likelihood_score(release, answered.values, total, nothing) for total in totals))
                kept.append((release, answered.values.ravel()[:_KEPT], totals[side].ravel()[:_KEPT]))
            scores.append(score)
            found.noise += [kept] if rate == 1 else []
            found.drawn += watch.drawn
    return found


def statistical_checks(case: AuditCase) -> int:
    """Return how many statistical checks ``judge`` makes at most."""
    return 2 + CHECKS * sum(release.times for release in case.plan.releases)


def judge(case: AuditCase, runs: WholeRuns, chance: float) -> tuple[AttackVerdict, list[AuditFinding]]:
    """Return the verdict on the whole claim, and what noise and random bits show."""
    made: dict[Release, int] = {}
    for query in case.queries:
        made[query.release] = made.get(query.release, 0) + 1
    claim = claim_of(list(made.items()), case.settings.delta, case.settings.sampling_rate, case.settings.epsilon)
    verdict = verdict_on(claim, np.array(runs.with_unit), np.array(runs.without), score="likelihood", failure_chance=chance)
    findings = [verdict.finding(WHOLE), _fresh_bits(runs.drawn)]
    return verdict, findings + (_noise(runs, chance) if runs.noise else [])


def _fresh_bits(drawn: list[tuple[str, bytes]]) -> AuditFinding:
    """Two streams that begin alike are the same stream: noise of one release would tell that of another."""
    first: dict[bytes, str] = {}
    twice = ""
    for label, words in drawn:
        if words in first:
            twice = f": {first[words]!r} and {label!r} had the same"
        first.setdefault(words, label)
    told = f"{len(drawn)} streams of random bits, {len(first)} different ones{twice}"
    return AuditFinding("every release draws fresh random bits", WHOLE, told, len(first) < len(drawn))


def _noise(runs: WholeRuns, chance: float) -> list[AuditFinding]:
    """Return what the noise of each release shows, every one of its times by itself: it may come in another turn from run to run."""
    by_name: dict[str, list[tuple[Release, FloatArray, FloatArray]]] = {}
    for run in runs.noise:
        times: Counter[str] = Counter()
        for row in run:
            times[row[0].name] += 1
            by_name.setdefault(f"{row[0].name} {times[row[0].name]}", []).append(row)
    findings, columns = [], []
    for name, rows in by_name.items():
        release, width = rows[0][0], min(len(released) for _, released, _ in rows)
        noise = Noise(release, np.array([row[1][:width] for row in rows]), np.array([row[2][:width] for row in rows]))
        findings += noise_findings(noise, f"{name}, in whole runs", chance)
        if len(rows) == len(runs.noise):
            columns.append((name, noise.normal[:, :_COLUMNS]))
    return [*findings, independence_finding(columns, WHOLE, chance)]
