"""The paper's claims about the census, and about what its theorem assumes of the data."""

from collections.abc import Callable

from feddp_studies.reproduction.claim_verdicts import (
    BASELINES,
    CENSUS,
    SERVER_STARTS,
    Decided,
    Runs,
    against,
    always,
    comparisons,
    excess,
    holds_if,
    listed,
)
from feddp_studies.reproduction.curves import at, budgets

SIZES = {"census-2": 127_491, "census-5": 44_720, "census-6": 98_475}
"""The paper's numbers of points."""
RADII = {"mixture": 10.57, "census-2": 2.65, "census-5": 2.65, "census-6": 2.65}
"""The paper's table of radii."""


def census_better(runs: Runs) -> Decided:
    """Return whether it costs less at every budget but the lowest: the paper excepts those that are very low."""
    outcomes, shown = comparisons(runs, "paper", BASELINES)
    return f"as stated against the best baseline: {shown}", always(sign for outcome in outcomes for sign in outcome[1:])


def census_optimal(runs: Runs) -> Decided:
    """Return whether it is within half a per cent of the best of ten k-means runs, which differ by as much."""
    found = [excess(runs[name], "paper", budgets(runs[name])[-1]) for name in CENSUS]
    return f"above optimal at the largest budget: {listed(runs, 'paper', CENSUS)} % ({', '.join(CENSUS)})", holds_if(max(found) <= 0.5)


def census_server_starts(runs: Runs) -> Decided:
    """Return whether they are within 2 % of each other, and ServerLloyds never costs more."""
    gaps = []
    for name in CENSUS:
        for epsilon in budgets(runs[name]):
            plus, lloyds = (at(runs[name], method, epsilon) for method in SERVER_STARTS)
            if plus is not None and lloyds is not None:
                gaps.append(100 * (plus.mean / lloyds.mean - 1))
    return f"ServerKMeans++ costs {min(gaps):.1f} to {max(gaps):.1f} % more than ServerLloyds", holds_if(min(gaps) >= 0 and max(gaps) <= 2)


def census_packing(runs: Runs) -> Decided:
    """Return whether it costs more than both server starts at every budget."""
    outcome = [against(runs[name], "sphere-packing", SERVER_STARTS) for name in CENSUS]
    shown = listed(runs, "sphere-packing", CENSUS)
    return f"above optimal at the largest budget: {shown} %", holds_if(all(sign > 0 for found in outcome for sign in found.values()))


def census_cost(runs: Runs) -> Decided:
    """Return whether it rounds to 3.5."""
    costs = {name: runs[name][0]["optimal_cost"] for name in CENSUS}
    shown = ", ".join(f"{name} {cost:.3f}" for name, cost in costs.items())
    return shown, holds_if(all(abs(cost - 3.5) < 0.05 for cost in costs.values()))


def census_sizes(runs: Runs) -> Decided:
    """Return whether the sizes are the paper's; the server's rows are taken from the clients."""
    sizes = {name: int(runs[name][0]["n_points"]) + 20 for name in CENSUS}
    shown = ", ".join(f"{name} {size:,} (paper: {SIZES[name]:,})" for name, size in sizes.items())
    return f"rows of the class: {shown}; our table is a part of all rows", holds_if(sizes == SIZES)


def radii(runs: Runs) -> Decided:
    """Return whether the radii of the server data are within 2 % of the paper's: a mixture is another draw."""
    radii = {row["dataset"]: float(row["radius"]) for row in runs["assumptions"] if row["dataset"] in RADII}
    shown = ", ".join(f"{name} {radius:.2f} (paper: {RADII[name]:.2f})" for name, radius in radii.items())
    return shown, holds_if(all(abs(radius / RADII[name] - 1) < 0.02 for name, radius in radii.items()))


def assumption(which: str) -> Callable[[Runs], Decided]:
    """Return whether an assumption of the theorem is satisfied on all data sets."""

    def decide(runs: Runs) -> Decided:
        found = {row["dataset"]: str(row[which]) for row in runs["assumptions"]}
        shown = "; ".join(f"{name}: {text.split(': ', 1)[1]}" for name, text in found.items())
        return f"at epsilon 1, constants taken as 1: {shown}", holds_if(all("DOES NOT HOLD" not in text for text in found.values()))

    return decide
