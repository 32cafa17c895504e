"""The auditor refutes every planted bug, for the right reason, and lets the code as it is pass."""

import pytest

from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.books import book_findings
from feddp_kmeans.audit.case import AuditCase, judge, trials, worst_unit
from feddp_kmeans.audit.statistic_checks import SHAPES, statistic_findings
from feddp_kmeans.audit.whole_audit import audit, part_findings, product_case, product_findings, product_parts
from feddp_kmeans.privacy import accounting
from feddp_kmeans.statistics import REGISTRY
from tests.audit import planted_elsewhere
from tests.audit.planted import PLANTED

assert planted_elsewhere  # it adds to PLANTED

FAST_BUGS = {
    "delta_for_delta_squared",
    "composition_that_forgets_steps",
    "noise_cut_off_at_four_deviations",
    "exact_counts_beside_the_noisy_ones",
    "an_odometer_that_forgets_times",
    "one_cohort_for_all_releases",
    "a_batch_on_threads_is_lost",
    "the_last_row_of_a_file_is_left_out",
    "noise_starts_anew_after_a_stop",
    "a_plan_may_be_exceeded",
}
FAST_PARTS = (
    "records",
    "knots: point",
    "federation: arrays",
)
OTHERS = {
    "sampled points": lambda: AuditCase(Settings(2, 2.0, method="paper", lloyd_steps=0, sampling_rate=0.1), seed=9),
}


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """What is remembered from before a bug was planted would hide it."""
    accounting._pld_epsilon.cache_clear()
    yield
    accounting._pld_epsilon.cache_clear()


def findings(part):
    """The findings of one part of the audit: of the product, of one statistic, or of whole runs of one case."""
    kind, name = part.split(": ", 1) if ": " in part else (part, "")
    if kind.startswith("statistic "):
        return part_findings(part, lambda: statistic_findings(REGISTRY[name].unit, SHAPES[int(kind[-1])], [name]))
    if kind == "audit":
        return audit(product_case(name), runs=20, parts=()).findings
    if kind == "trials":
        case = product_case(name)
        return judge(case, trials(case, worst_unit(case), range(30)), [])[1]
    return book_findings(OTHERS[name](), name) if name in OTHERS else product_findings(part)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", [name if name in FAST_BUGS else pytest.param(name, marks=pytest.mark.slow) for name in PLANTED])
def test_a_planted_bug_is_refuted(name, monkeypatch):
    bug = PLANTED[name]
    bug.plant(monkeypatch)
    refuted = {found.check for found in findings(bug.part) if found.refuted}
    assert refuted
    assert bug.check is None or bug.check in refuted


@pytest.mark.parametrize("part", [part if part in FAST_PARTS else pytest.param(part, marks=pytest.mark.slow) for part in product_parts()])
def test_the_code_as_it_is_passes(part):
    """Each part refutes right code with a chance of at most 1e-4."""
    found = findings(part)
    assert [finding for finding in found if finding.refuted] == []
    assert sum(finding.failure_chance for finding in found) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper, points", "no server data, clients", "sampled clients"])
def test_whole_audits_pass_the_code_as_it_is(name):
    """Right code is refuted with a chance of at most 1e-4 per case."""
    found = audit(product_case(name), runs=40, parts=())
    assert [finding for finding in found.findings if finding.refuted] == []
    assert found.failure_chance <= 1e-4


def test_code_that_fails_is_refuted(monkeypatch):
    def broken(*_):
        raise ValueError("no")

    monkeypatch.setattr(AuditCase, "run", broken)
    (found,) = product_findings("books: grid")
    assert found.refuted
    assert found.check == "runs do not fail, whatever the points are"
