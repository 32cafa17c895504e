"""Verdicts follow from the rows, either way."""

import pytest

from feddp_studies.reproduction.paper_claims import CLAIMS, FAILS, HOLDS, ONLY_PUBLISHED, findings
from feddp_studies.reproduction.specs import EXPERIMENTS
from studies.tests.reproduction.rows import row


def verdict(runs, words):
    (found,) = [f for f in findings(runs) if words in f.words]
    return found.verdict


def mixture(paper, published, baseline=(12.0, 12.0)):
    rows = [row("paper", 0.4, paper), row("published-noise", 0.4, published), row("refined", 0.4, 10.0)]
    for method in ("server-kmeans++", "server-lloyds", "sphere-packing"):
        rows += [row(method, epsilon, cost) for epsilon, cost in zip((0.4, 2.0), baseline, strict=True)]
    return {"mixture-point": rows}


@pytest.mark.parametrize(("paper", "published", "expected"), [(10.01, 10.0, HOLDS), (10.2, 10.01, ONLY_PUBLISHED), (11.0, 11.0, FAILS)])
def test_optimal_at_04(paper, published, expected):
    assert verdict(mixture(paper, published), "around epsilon 0.4") == expected


@pytest.mark.parametrize(("baseline", "expected"), [((12.0, 12.0), HOLDS), ((12.0, 10.0), FAILS), ((12.0, 11.0), FAILS)])
def test_plateaus(baseline, expected):
    assert verdict(mixture(10.0, 10.0, baseline), "plateau") == expected


@pytest.mark.parametrize(("costs", "expected"), [((13.0, 12.0, 11.0), HOLDS), ((13.0, 12.0, 12.5), FAILS)])
def test_more_clients_are_better(costs, expected):
    runs = {f"mixture-{n}": [row("paper", 1.24, cost)] for n, cost in zip((1000, 2000, 5000), costs, strict=True)}
    assert verdict(runs, "More clients") == expected


@pytest.mark.parametrize(("bend", "expected"), [(10, HOLDS), (6, FAILS)])
def test_the_elbow(bend, expected):
    rows = [row("elbow of paper", 1.0, max(0, bend - k) + 0.01 * (20 - k), n_clusters=k) for k in range(1, 21)]
    assert verdict({"elbow": rows}, "elbow") == expected


@pytest.mark.parametrize(("excess", "expected"), [(0.02, HOLDS), (0.3, FAILS)])
def test_missing_clusters(excess, expected):
    runs = {
        name: [row("paper", 2.0, 10 * (1 + excess * i / 3)), row("refined", 2.0, 10.0), row("server-lloyds", 2.0, 11.0)]
        for i, name in enumerate(("mixture-point", "missing-1", "missing-2", "missing-5"))
    }
    for method in ("server-kmeans++", "sphere-packing", "server-lloyds"):
        runs["mixture-point"] += [row(method, e, 11.0) for e in (1.0, 2.0)]
    assert verdict(runs, "deteriorates modestly") == expected


def test_claims_name_experiments_that_exist_and_wait_for_them():
    assert all(set(claim.needs) <= set(EXPERIMENTS) for claim in CLAIMS)
    assert findings({}) == []
