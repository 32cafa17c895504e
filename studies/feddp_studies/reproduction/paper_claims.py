"""The paper's claims about its experiments, in its order, each decided by our runs."""

from collections.abc import Callable

import numpy as np

from feddp_studies.reproduction import census_claims, client_claims, mixture_claims
from feddp_studies.reproduction.claim_verdicts import CENSUS, CLIENTS, MISSING, MIXTURE, PAIRS, QUESTIONS, Claim, Decided, Runs, holds_if
from feddp_studies.reproduction.curves import share_table, step_table


def _few_steps(runs: Runs) -> Decided:
    used = {name: step_table(rows) for name, rows in runs.items()}
    tried = max(steps for table in used.values() for steps in table)
    most = {name: max(steps for steps, part in table.items() if part > 0) for name, table in used.items()}
    none = {name: table.get(0, 0.0) for name, table in used.items()}
    shown = ", ".join(f"{name} {most[name]} ({none[name]:.0%} none)" for name in used)
    few = max(most.values()) <= 2 and float(np.mean(list(none.values()))) >= 0.5
    return f"most steps on the front, of up to {tried} tried: {shown}", holds_if(few)


def _mostly_none(runs: Runs) -> Decided:
    none = {name: step_table(rows).get(0, 0.0) for name, rows in runs.items()}
    shown = ", ".join(f"{name} {part:.0%}" for name, part in none.items())
    return f"part of the front without a Lloyd step: {shown}", holds_if(sum(part <= 0.8 for part in none.values()) <= 1)


def _shares(agrees: Callable[[tuple[float, ...]], bool], rule: str) -> Callable[[Runs], Decided]:
    def decide(runs: Runs) -> Decided:
        tables = {name: share_table(rows) for name, rows in runs.items()}
        shown = "; ".join(f"{name} {list(table or ())}" for name, table in tables.items())
        agreeing = [table is not None and agrees(table) for table in tables.values()]
        return f"the paper's rule is {rule}; mean over our fronts: {shown}", holds_if(sum(agreeing) > len(agreeing) / 2)

    return decide


def _point_sums(shares: tuple[float, ...]) -> bool:
    return shares[2] == max(shares)


def _client_sums(shares: tuple[float, ...]) -> bool:
    return sorted(shares)[2:] == sorted((shares[0], shares[2]))


_POINT_TEXT, _CLIENT_TEXT, _SHARES, _STEPS = "5.1", "5.2", "appendix, hyperparameters", "appendix, number of steps"
PAPER_CLAIMS = (
    Claim(
        "wide-margin",
        _POINT_TEXT,
        "On synthetic data it outperforms all DP baselines by a wide margin",
        MIXTURE,
        mixture_claims.wide_margin,
    ),
    Claim("plateau", _POINT_TEXT, "The baselines plateau even as the budget grows", MIXTURE, mixture_claims.plateau),
    Claim(
        "optimal-at-0.4",
        _POINT_TEXT,
        "Optimal (non-private) performance on the mixture at around epsilon 0.4",
        MIXTURE,
        mixture_claims.optimal_at_04,
    ),
    Claim("k-fed-optimal", _POINT_TEXT, "k-FED performs optimally on the mixture", MIXTURE, mixture_claims.k_fed_optimal),
    Claim(
        "census-better",
        _POINT_TEXT,
        "On the census it outperforms the baselines, except at very low budgets",
        CENSUS,
        census_claims.census_better,
    ),
    Claim(
        "census-optimal",
        _POINT_TEXT,
        "With a high enough budget it recovers the optimal census clustering",
        CENSUS,
        census_claims.census_optimal,
    ),
    Claim(
        "server-starts",
        _POINT_TEXT,
        "On the census both server starts do similarly, ServerLloyds slightly better",
        CENSUS,
        census_claims.census_server_starts,
    ),
    Claim("packing", _POINT_TEXT, "SpherePacking performs poorly on the census", CENSUS, census_claims.census_packing),
    Claim("few-steps-point", _POINT_TEXT, "Never more than 2 Lloyd steps on the front, often none", (*MIXTURE, *CENSUS), _few_steps),
    Claim("clients-starts", _CLIENT_TEXT, "Server starts cannot overcome their poor initialization", CLIENTS, client_claims.clients_starts),
    Claim("more-clients", _CLIENT_TEXT, "More clients, better at the same epsilon", CLIENTS, client_claims.more_clients),
    Claim(
        "crossing", _CLIENT_TEXT, "With more clients it beats server starts at a smaller budget", CLIENTS, client_claims.earlier_crossing
    ),
    Claim(
        "questions",
        _CLIENT_TEXT,
        "On Stack Overflow it is best, except in a few cases at low budgets",
        QUESTIONS,
        client_claims.questions_best,
        PAIRS,
    ),
    Claim(
        "questions-k-fed",
        _CLIENT_TEXT,
        "There k-FED tends to be outperformed by the private baselines",
        QUESTIONS,
        client_claims.questions_k_fed,
        PAIRS,
    ),
    Claim("few-steps-client", _CLIENT_TEXT, "Few, if any, Lloyd steps at client level", (*CLIENTS, *QUESTIONS), _few_steps, PAIRS),
    Claim(
        "census-sizes", "appendix, data sets", "127,491, 44,720 and 98,475 people in the three classes", CENSUS, census_claims.census_sizes
    ),
    Claim("radii", "appendix, table of radii", "Radius of each data set: 10.57 and 2.65", ("assumptions",), census_claims.radii),
    Claim(
        "assumption-1", "appendix, assumptions", "Assumption (1) is satisfied", ("assumptions",), census_claims.assumption("assumption_1")
    ),
    Claim(
        "assumption-2", "appendix, assumptions", "Assumption (2) is satisfied", ("assumptions",), census_claims.assumption("assumption_2")
    ),
    Claim("census-cost", "appendix, assumptions", "The optimal census cost is about 3.5", CENSUS, census_claims.census_cost),
    Claim(
        "point-shares",
        _SHARES,
        "At point level step 3's sums deserve the largest share of the budget",
        (*MIXTURE, *CENSUS),
        _shares(_point_sums, "[0.2, 0.2, 0.45, 0.15]"),
    ),
    Claim(
        "client-shares",
        _SHARES,
        "At client level the subspace and the sums deserve the largest shares",
        (*CLIENTS, *QUESTIONS),
        _shares(_client_sums, "[0.35, 0.1, 0.45, 0.1]"),
        PAIRS,
    ),
    Claim(
        "mostly-none",
        _STEPS,
        "In all but one data set over 80 % of the front makes no Lloyd step",
        (*MIXTURE, *CENSUS, *CLIENTS, *QUESTIONS),
        _mostly_none,
        PAIRS,
    ),
    Claim(
        "missing",
        "appendix, missing clusters",
        "It deteriorates modestly as clusters are missing",
        (*MIXTURE, *MISSING),
        mixture_claims.missing,
    ),
    Claim("missing-best", "appendix, missing clusters", "It is still the best with clusters missing", MISSING, mixture_claims.missing_best),
    Claim(
        "missing-starts",
        "appendix, missing clusters",
        "Baselines that use server data deteriorate too",
        (*MIXTURE, *MISSING),
        mixture_claims.missing_starts,
    ),
    Claim("elbow", "appendix, choosing k", "The elbow is at k = 10", ("elbow",), mixture_claims.elbow),
)
"""In the paper's order."""
