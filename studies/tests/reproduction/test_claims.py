"""Every claim comes out either way, as the rows have it."""

import math

import pytest

from feddp_studies.reproduction.claim_verdicts import (
    BASELINES,
    CENSUS,
    CLIENTS,
    FAILS,
    HOLDS,
    MISSING,
    MIXTURE,
    ONLY_PUBLISHED,
    PAIRS,
    QUESTIONS,
    TIE,
    decided,
)
from feddp_studies.reproduction.our_claims import OUR_CLAIMS
from feddp_studies.reproduction.paper_claims import PAPER_CLAIMS
from feddp_studies.reproduction.paper_items import ITEMS, item_rows
from feddp_studies.reproduction.specs import EXPERIMENTS
from studies.tests.reproduction.rows import curves, row

CLAIMS = {claim.name: claim for claim in (*PAPER_CLAIMS, *OUR_CLAIMS)}
EPSILONS = (0.4, 2.0)


def rivals(cost):
    return dict.fromkeys(BASELINES, cost)


def same(names, rows):
    return dict.fromkeys(names, rows)


def mixture(paper, published, baselines=(12.0, 12.0)):
    return same(MIXTURE, curves({"paper": paper, "published-noise": published, "refined": 10.0, **rivals(baselines)}, EPSILONS))


def two_seeds(ours, others, epsilons=(0.4, 2.0)):
    """Ours on two seeds against others that cost the same on both."""
    return [
        one for seed, cost in enumerate(ours) for one in curves({"paper": cost, "refined": cost, **rivals(others)}, epsilons, seed=seed)
    ]


def fronts(steps, names, shares=(0.2, 0.2, 0.45, 0.15)):
    """The best setting at each budget makes this many steps; others cost more."""
    rows = [row("paper", epsilon, 12.0 - epsilon, steps=count, shares=shares) for epsilon, count in enumerate(steps)]
    return same(names, [*rows, *(row("paper", epsilon, 20.0, steps=5, shares=(0.1, 0.2, 0.3, 0.4)) for epsilon in range(len(steps)))])


def by_clients(costs, others=10.5):
    return {name: curves({"paper": cost, **rivals(others)}, (1.0, 2.0)) for name, cost in zip(CLIENTS, costs, strict=True)}


def missing(ours, starts, refined=10.0):
    names = (*MIXTURE, *MISSING)
    return {name: curves({"paper": own, "refined": refined, **rivals(start)}) for name, own, start in zip(names, ours, starts, strict=True)}


def assumptions(radius, verdict):
    rows = [{"dataset": name, "radius": radius} for name in CENSUS]
    return {"assumptions": [one | dict.fromkeys(("assumption_1", "assumption_2"), f"assumption: {verdict} (1 against 2)") for one in rows]}


def bend(k):
    return {"elbow": [row("paper", 1.0, max(0, k - n) + 0.01 * (20 - n), n_clusters=n) for n in range(1, 21)]}


def sampled(costs):
    return {"cohorts": [row(method, 1.0, cost, sampling_rate=rate) for method in ("paper", "refined") for rate, cost in costs.items()]}


def peers(cost):
    return {"peers-central": [row("refined", 1.0, cost, dataset="gas", optimal=0.06)]}


ALL_FRONTS = (*MIXTURE, *CENSUS, *CLIENTS, *QUESTIONS)
WITH_STARTS = {"server-kmeans++": (10.1, 10.1), "server-lloyds": (10.0, 10.05), "sphere-packing": (13.0, 13.0)}
CASES = [
    ("wide-margin", mixture(10.0, 10.0), HOLDS),
    ("wide-margin", mixture((13.0, 10.0), 10.0), FAILS),
    ("wide-margin", same(MIXTURE, two_seeds((9.0, 15.0), 12.0)), TIE),
    ("plateau", mixture(10.0, 10.0), HOLDS),
    ("plateau", mixture(10.0, 10.0, (12.0, 10.0)), FAILS),
    ("plateau", mixture(10.0, 10.0, (12.0, 11.0)), FAILS),
    ("optimal-at-0.4", mixture(10.01, 10.0), HOLDS),
    ("optimal-at-0.4", mixture(10.2, 10.01), ONLY_PUBLISHED),
    ("optimal-at-0.4", mixture(11.0, 11.0), FAILS),
    ("k-fed-optimal", same(MIXTURE, [row("k-fed", math.inf, 10.01)]), HOLDS),
    ("k-fed-optimal", same(MIXTURE, [row("k-fed", math.inf, 10.5)]), FAILS),
    ("census-better", same(CENSUS, curves({"paper": (15.0, 10.0), **rivals(12.0)})), HOLDS),
    ("census-better", same(CENSUS, curves({"paper": (10.0, 13.0), **rivals(12.0)})), FAILS),
    ("census-better", same(CENSUS, two_seeds((9.0, 15.0), 12.0)), TIE),
    ("census-optimal", same(CENSUS, curves({"paper": (12.0, 10.02)})), HOLDS),
    ("census-optimal", same(CENSUS, curves({"paper": (12.0, 10.2)})), FAILS),
    ("server-starts", same(CENSUS, curves(WITH_STARTS)), HOLDS),
    ("server-starts", same(CENSUS, curves(WITH_STARTS | {"server-kmeans++": 10.9})), FAILS),
    ("server-starts", same(CENSUS, curves(WITH_STARTS | {"server-lloyds": 10.2})), FAILS),
    ("packing", same(CENSUS, curves(WITH_STARTS)), HOLDS),
    ("packing", same(CENSUS, curves(WITH_STARTS | {"sphere-packing": 10.0})), FAILS),
    ("few-steps-point", fronts((0, 0, 2), (*MIXTURE, *CENSUS)), HOLDS),
    ("few-steps-point", fronts((0, 0, 3), (*MIXTURE, *CENSUS)), FAILS),
    ("few-steps-point", fronts((0, 1, 1), (*MIXTURE, *CENSUS)), FAILS),
    ("few-steps-client", fronts((0, 0, 1), (*CLIENTS, *QUESTIONS)), HOLDS),
    ("few-steps-client", fronts((0, 0, 3), (*CLIENTS, *QUESTIONS)), FAILS),
    ("mostly-none", fronts((0, 0, 0), ALL_FRONTS) | fronts((0, 1, 1), MIXTURE), HOLDS),
    ("mostly-none", fronts((0, 0, 0), ALL_FRONTS) | fronts((0, 1, 1), CENSUS), FAILS),
    ("clients-starts", by_clients((10.2, 10.1, 10.0)), HOLDS),
    ("clients-starts", by_clients((10.2, 10.1, 10.0), 10.15), FAILS),
    ("clients-starts", by_clients((10.6, 10.1, 10.0)), FAILS),
    ("more-clients", by_clients((13.0, 12.0, 11.0)), HOLDS),
    ("more-clients", by_clients((13.0, 12.0, 12.5)), FAILS),
    ("crossing", by_clients(((11.0, 11.0), (11.0, 10.0), (10.0, 10.0))), HOLDS),
    ("crossing", by_clients((10.0, 10.0, 10.0)), FAILS),
    ("questions", same(QUESTIONS, curves({"paper": (13.0, 11.0), **rivals(12.0)})), HOLDS),
    ("questions", same(QUESTIONS, curves({"paper": (11.0, 13.0), **rivals(12.0)})), FAILS),
    ("questions", same((*QUESTIONS, PAIRS[1]), two_seeds((9.0, 15.0), 12.0)), TIE),
    ("questions-k-fed", same(QUESTIONS, [*curves(rivals(11.0)), row("k-fed", math.inf, 12.0)]), HOLDS),
    ("questions-k-fed", same(QUESTIONS, [*curves(rivals(13.0)), row("k-fed", math.inf, 12.0)]), FAILS),
    ("census-sizes", {n: [row("paper", 1, 1, n_points=s - 20)] for n, s in zip(CENSUS, (127_491, 44_720, 98_475), strict=True)}, HOLDS),
    ("census-sizes", same(CENSUS, [row("paper", 1, 1, n_points=44_700)]), FAILS),
    ("radii", assumptions(2.65, "holds"), HOLDS),
    ("radii", assumptions(2.8, "holds"), FAILS),
    ("assumption-1", assumptions(2.65, "holds"), HOLDS),
    ("assumption-1", assumptions(2.65, "DOES NOT HOLD"), FAILS),
    ("assumption-2", assumptions(2.65, "holds"), HOLDS),
    ("assumption-2", assumptions(2.65, "DOES NOT HOLD"), FAILS),
    ("census-cost", same(CENSUS, [row("paper", 1.0, 4.0, optimal=3.52)]), HOLDS),
    ("census-cost", same(CENSUS, [row("paper", 1.0, 4.0, optimal=3.4)]), FAILS),
    ("point-shares", fronts((0, 0), (*MIXTURE, *CENSUS)), HOLDS),
    ("point-shares", fronts((0, 0), (*MIXTURE, *CENSUS), (0.5, 0.1, 0.3, 0.1)), FAILS),
    ("client-shares", fronts((0, 0), (*CLIENTS, *QUESTIONS), (0.35, 0.1, 0.45, 0.1)), HOLDS),
    ("client-shares", fronts((0, 0), (*CLIENTS, *QUESTIONS), (0.2, 0.4, 0.3, 0.1)), FAILS),
    ("missing", missing((10.0, 10.1, 10.2, 10.3), (11.0,) * 4), HOLDS),
    ("missing", missing((10.0, 10.1, 10.2, 11.0), (12.0,) * 4), FAILS),
    ("missing", missing((10.3, 10.1, 10.2, 10.2), (12.0,) * 4), FAILS),
    ("missing-best", missing((10.0, 10.1, 10.2, 10.3), (11.0,) * 4), HOLDS),
    ("missing-best", missing((10.0, 10.1, 10.2, 11.3), (11.0,) * 4), FAILS),
    ("missing-starts", missing((10.0,) * 4, (11.0, 11.1, 11.2, 11.3)), HOLDS),
    ("missing-starts", missing((10.0,) * 4, (11.0, 11.1, 11.2, 10.9)), FAILS),
    ("elbow", bend(10), HOLDS),
    ("elbow", bend(6), FAILS),
    ("refined", same(MIXTURE, curves({"paper": 12.0, "refined": 11.0})), HOLDS),
    ("refined", same((*MIXTURE, *CENSUS), curves({"paper": (12.0, 11.0), "refined": (11.0, 12.0)})), FAILS),
    ("refined", same(MIXTURE, two_seeds((9.0, 15.0), 12.0)), TIE),
    ("refined-best", same(MIXTURE, curves({"refined": 11.0, **rivals(12.0)})), HOLDS),
    ("refined-best", same(MIXTURE, curves({"refined": 13.0, **rivals(12.0)})), FAILS),
    ("peers", peers(0.07), HOLDS),
    ("peers", peers(0.2), FAILS),
    ("cohorts", sampled({1.0: 11.0, 0.5: 12.0}), HOLDS),
    ("cohorts", sampled({1.0: 12.0, 0.5: 11.0}), FAILS),
]


@pytest.mark.parametrize(
    ("name", "runs", "expected"), CASES, ids=[f"{name}-{expected}-{place}" for place, (name, _, expected) in enumerate(CASES)]
)
def test_a_verdict_follows_from_the_rows(name, runs, expected):
    (found,) = decided([CLAIMS[name]], runs)
    assert found.verdict == expected, found.number
    assert found.number
    assert " nan" not in found.number


def test_every_claim_has_a_case_in_which_it_holds_and_one_in_which_it_does_not():
    for name in CLAIMS:
        seen = {expected for case, _, expected in CASES if case == name}
        assert {HOLDS, FAILS} <= seen, name


def test_claims_name_experiments_that_exist_and_wait_for_them():
    assert all(set(claim.needs) <= set(EXPERIMENTS) for claim in CLAIMS.values())
    assert decided(CLAIMS.values(), {}) == []


def test_every_claim_of_the_paper_stands_at_an_item():
    named = {name for item in ITEMS for name in item.claims}
    assert named <= set(CLAIMS)
    assert {claim.name for claim in PAPER_CLAIMS} <= named
    assert {name for item in ITEMS for name in item.experiments} <= {*EXPERIMENTS, *PAIRS}


def test_an_item_shows_the_verdicts_of_its_claims_once_it_was_run():
    runs = mixture(10.01, 10.0)
    rows = {line[2]: line[3] for line in item_rows(decided(CLAIMS.values(), runs), runs)}
    assert "optimal-at-0.4: **holds**" in rows["`feddp reproduce mixture-point`"]
    assert rows["`feddp reproduce census-5`"] == "not run here"


def test_more_seeds_turn_a_tie_into_a_verdict():
    few = [row("refined", 1.0, cost, seed=seed) for seed, cost in enumerate((11.0, 11.9))]
    many = [row("refined", 1.0, cost, seed=seed) for seed, cost in enumerate((11.0, 11.9) * 20)]
    others = [row("paper", 1.0, 12.0, seed=seed) for seed in range(40)]
    verdicts = [decided([CLAIMS["refined"]], {"mixture-point": [*rows, *others]})[0].verdict for rows in (few, many)]
    assert verdicts == [TIE, HOLDS]
