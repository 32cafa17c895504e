"""The paper's claims where clients are protected."""

import math

from feddp_studies.reproduction.claim_verdicts import (
    BASELINES,
    CLIENTS,
    SERVER_STARTS,
    Decided,
    Runs,
    against,
    comparisons,
    excess,
    holds_if,
    overall,
)
from feddp_studies.reproduction.curves import budgets


def clients_starts(runs: Runs) -> Decided:
    """Return whether server starts stay far above the optimum at the largest budget, and above ours."""
    shown, stuck = [], True
    for name in CLIENTS:
        last = budgets(runs[name])[-1]
        found = [excess(runs[name], method, last) for method in SERVER_STARTS]
        stuck &= min(found) > 2 and against(runs[name], "paper", SERVER_STARTS)[last] < 0
        shown.append(f"{name} {found[0]:.1f} and {found[1]:.1f} % against {excess(runs[name], 'paper', last):.2f} %")
    return f"ServerKMeans++ and ServerLloyds at the largest budget against ours as stated: {'; '.join(shown)}", holds_if(stuck)


def more_clients(runs: Runs) -> Decided:
    """Return whether the cost falls with more clients at every budget."""
    epsilons = budgets(runs[CLIENTS[0]])
    table = [[excess(runs[name], "paper", epsilon) for name in CLIENTS] for epsilon in epsilons]
    shown = "; ".join(f"{e:g}: {a:.1f}, {b:.1f}, {c:.1f} %" for e, (a, b, c) in zip(epsilons, table, strict=True))
    return f"above optimal with 1,000, 2,000, 5,000 clients, as stated, at epsilon {shown}", holds_if(all(a > b > c for a, b, c in table))


def earlier_crossing(runs: Runs) -> Decided:
    """Return whether the first budget at which ours costs less falls with more clients."""
    first = []
    for name in CLIENTS:
        better = [epsilon for epsilon, sign in against(runs[name], "paper", SERVER_STARTS).items() if sign < 0]
        first.append(min(better, default=math.inf))
    shown = ", ".join("none" if math.isinf(epsilon) else f"{epsilon:g}" for epsilon in first)
    falls = first == sorted(first, reverse=True) and first[0] > first[-1]
    return f"least epsilon tried at which ours, as stated, beats server starts, with 1,000, 2,000, 5,000 clients: {shown}", holds_if(falls)


def questions_best(runs: Runs) -> Decided:
    """Return whether it costs less in the upper half of the budgets: the paper has exceptions at low ones."""
    outcomes, shown = comparisons(runs, "paper", BASELINES)
    return f"as stated against the best baseline: {shown}", overall(sign for outcome in outcomes for sign in outcome[len(outcome) // 2 :])


def questions_k_fed(runs: Runs) -> Decided:
    """Return whether a private baseline costs less than k-FED in most cases."""
    outcomes = {name: against(rows, "k-fed", BASELINES) for name, rows in runs.items()}
    beaten = [sign > 0 for outcome in outcomes.values() for sign in outcome.values()]
    shown = "; ".join(f"{name} {excess(rows, 'k-fed', math.inf):.1f} % above optimal" for name, rows in runs.items())
    number = f"{shown}; a private baseline costs less in {sum(beaten)} of {len(beaten)} cases (data set and budget)"
    return number, holds_if(sum(beaten) > len(beaten) / 2)
