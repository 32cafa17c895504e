"""The audit of the product at large passes the code as it is, and refutes bugs that are planted anywhere in it."""

import numpy as np
import pytest

from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.places import exact_sums, places
from feddp_kmeans.audit.product import STATISTICAL_CHECKS, product_findings, product_parts
from feddp_kmeans.audit.reference import known_statistics, reference_sum
from feddp_kmeans.audit.statistic_checks import SHAPES, arguments, made_up_clients, statistic_findings
from feddp_kmeans.privacy import accounting
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query
from tests.audit.planted_elsewhere import ELSEWHERE

CHANCE = 1e-4 / (STATISTICAL_CHECKS + 400)
"""Of each check of right code; all checks of one run of this file together stay below 1e-4."""

QUICK = ("records", "books: refined, clients", "books: no server data, clients", "books: grid", "federation: arrays")
"""Parts that take a second at most; sites, and statistics in all places, take longer."""


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """What is remembered from before a bug was planted would hide it."""
    accounting._pld_epsilon.cache_clear()
    yield
    accounting._pld_epsilon.cache_clear()


def findings(part):
    """What the audit finds in one part of the product, or on one statistic."""
    if not part.startswith("statistic "):
        return product_findings(part, CHANCE)
    shape, name = part.removeprefix("statistic ").split(": ")
    return statistic_findings([name], [SHAPES[int(shape)]])


@pytest.mark.parametrize("part", QUICK)
def test_a_part_passes_the_code_as_it_is(part):
    assert [finding for finding in findings(part) if finding.refuted] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", sorted(set(product_parts(CHANCE)) - set(QUICK)))
def test_every_part_passes_the_code_as_it_is(part):
    assert [finding for finding in findings(part) if finding.refuted] == []


SLOW = {name for name, bug in ELSEWHERE.items() if bug.part.startswith(("federation: sites", "books: sites", "accounts", "refusals"))}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ELSEWHERE])
def test_a_bug_elsewhere_is_refuted(name, monkeypatch):
    bug = ELSEWHERE[name]
    bug.plant(monkeypatch)
    assert any(finding.refuted for finding in findings(bug.part))


def test_every_statistic_has_a_reference_and_every_unit_a_place():
    assert known_statistics() == set(REGISTRY)
    assert {place.name for place in places()} >= {"arrays", "sparse rows", "files", "kept on record", "sites, secure sum"}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_reference_is_no_constant(name):
    """A reference that no point moves would pass anything."""
    shape = SHAPES[0]
    query = Query(REGISTRY[name], arguments(REGISTRY[name], shape), shape.dimension)
    clients = made_up_clients(shape)
    found = reference_sum(query, clients)
    assert np.abs(found - reference_sum(query, clients[1:])).max() > 0.5 * query.sensitivity.l2 / np.sqrt(query.size)
    assert np.abs(exact_sums(places()[0], clients, [query])[0]).max() > 0


def test_a_part_that_fails_is_refuted(monkeypatch):
    def broken(*_):
        raise ValueError("no")

    monkeypatch.setattr(AuditCase, "run", broken)
    (found,) = product_findings("books: grid", CHANCE)
    assert found.refuted
    assert found.check == "what is allowed does not fail"
