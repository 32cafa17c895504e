"""The auditor refutes every planted bug, for the right reason, and lets the code as it is pass."""

import pytest

from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.books import book_findings
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.federation_checks import cohorts_of
from feddp_kmeans.audit.neighbours import worst_for_all
from feddp_kmeans.audit.noise_law import law_findings
from feddp_kmeans.audit.places import places
from feddp_kmeans.audit.releases import audit_release
from feddp_kmeans.audit.whole_audit import audit
from feddp_kmeans.audit.whole_runs import judge, whole_runs
from tests.audit.planted import PLANTED

CHANCE = 1e-7
CASES = {
    "paper point": lambda: AuditCase(Settings(2, 8.0, method="paper", lloyd_steps=2), seed=1),
    "paper client": lambda: AuditCase(Settings(2, 8.0, method="paper", lloyd_steps=1, privacy_unit="client", client_size=3), seed=2),
    "refined point": lambda: AuditCase(Settings(2, 8.0, lloyd_steps=1), seed=3),
    "refined client": lambda: AuditCase(Settings(2, 8.0, lloyd_steps=1, privacy_unit="client"), seed=4),
    "no server data": lambda: AuditCase(Settings(2, 8.0, lloyd_steps=1), with_server=False, seed=5),
    "clients, no server data": lambda: AuditCase(Settings(2, 8.0, lloyd_steps=0, privacy_unit="client"), with_server=False, seed=6),
    "grid": lambda: AuditCase(Settings(2, 8.0, radius=5.0), dimension=2, with_server=False, seed=7),
    "sampled clients": lambda: AuditCase(Settings(2, 4.0, lloyd_steps=0, privacy_unit="client", client_size=1, sampling_rate=0.2), seed=8),
    "gaussian counts": lambda: AuditCase(
        Settings(3, 8.0, method="paper", privacy_unit="client", client_size=4, noise="gaussian"), dimension=2, seed=10
    ),
    "sampled points": lambda: AuditCase(Settings(2, 2.0, method="paper", lloyd_steps=0, sampling_rate=0.1), seed=9),
}
WHOLE_RUNS = 30


def findings(case, part, runs):
    """The part of the audit that is asked for, as ``audit`` makes it."""
    if part == "books":
        return book_findings(case)
    if part == "law":
        return law_findings(CHANCE, case.seed)
    if part == "cohorts":
        return cohorts_of(places()[0], CHANCE)
    if part == "whole":
        return judge(case, whole_runs(case, worst_for_all(case), range(runs)), CHANCE)[1]
    if part == "audit":
        return audit(case, runs=20, parts=()).findings
    return audit_release(case, part, runs=100, chance=CHANCE).findings


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_refuted(name, monkeypatch):
    bug = PLANTED[name]
    bug.plant(monkeypatch)
    refuted = {found.check for found in findings(CASES[bug.case](), bug.part, WHOLE_RUNS) if found.refuted}
    assert bug.check in refuted


@pytest.mark.parametrize("name", [name for name in CASES if name != "sampled points"])
def test_the_code_as_it_is_passes(name):
    found = audit(CASES[name](), runs=20, parts=())
    assert [finding for finding in found.findings if finding.refuted] == []
    assert found.failure_chance <= 1e-4
    reached = [finding.told for finding in found.findings if finding.check.startswith("no unit moves")]
    assert len(reached) == len({query.release.name for query in CASES[name]().queries})
