"""What a claim is, and the verdicts on it: computed from rows, never written by hand."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from feddp_studies.reproduction.curves import Row, at, best_rival, budgets

MIXTURE = ("mixture-point",)
CENSUS = ("census-2", "census-5", "census-6")
CLIENTS = ("mixture-1000", "mixture-2000", "mixture-5000")
QUESTIONS = ("stackoverflow", "travel")
PAIRS = ("so-machine-learning-math", "so-github-pdf", "so-facebook-hibernate", "so-plot-cookies")
"""The paper's own questions, for those who have the database."""
MISSING = ("missing-1", "missing-2", "missing-5")
SERVER_STARTS = ("server-kmeans++", "server-lloyds")
BASELINES = (*SERVER_STARTS, "sphere-packing")

HOLDS = "holds"
TIE = "tie"
FAILS = "does not hold"
ONLY_PUBLISHED = "holds only with the published code's noise"

Runs = Mapping[str, Sequence[Row]]
"""The rows of each experiment that has been run."""

Decided = tuple[str, str]
"""Our number in words, and the verdict."""


@dataclass(frozen=True)
class Claim:
    """A claim: where it stands, its words, the experiments it rests on, and how it is decided."""

    name: str
    where: str
    words: str
    needs: tuple[str, ...]
    decide: Callable[[Runs], Decided]
    also: tuple[str, ...] = ()
    """Further experiments that take part if they have been run."""


@dataclass(frozen=True)
class DecidedClaim:
    """A claim with our number next to it."""

    claim: Claim
    number: str
    verdict: str


def decided(claims: Iterable[Claim], runs: Runs) -> list[DecidedClaim]:
    """Return the findings on all claims whose experiments have been run."""
    made = []
    for claim in claims:
        if all(name in runs for name in claim.needs):
            own = {name: runs[name] for name in (*claim.needs, *claim.also) if name in runs}
            made.append(DecidedClaim(claim, *claim.decide(own)))
    return made


def excess(rows: Sequence[Row], method: str, epsilon: float) -> float:
    """Return the mean cost above optimal of a method's best setting at one budget, in per cent; NaN if it was not run."""
    point = at(rows, method, epsilon)
    return math.nan if point is None else point.excess


def listed(runs: Runs, method: str, names: Sequence[str], epsilon: float | None = None) -> str:
    """Return a method's costs above optimal in these experiments, at one budget or the largest."""
    return ", ".join(f"{excess(runs[name], method, epsilon or budgets(runs[name])[-1]):.2f}" for name in names)


def against(rows: Sequence[Row], method: str, rivals: Sequence[str]) -> dict[float, int]:
    """Return for each budget whether a method's best setting costs less (-1) than the best of the rivals, the same (0) or more (1)."""
    found = {}
    for epsilon in budgets(rows):
        point, rival = at(rows, method, epsilon), best_rival(rows, epsilon, rivals)
        if point is not None and rival is not None:
            found[epsilon] = point.compared(rival)
    return found


def comparisons(runs: Runs, method: str, rivals: Sequence[str]) -> tuple[list[list[int]], str]:
    """Return for each experiment how a method compares with the best of the rivals, by ascending budget; and the same in words."""
    outcomes = {name: against(rows, method, rivals) for name, rows in runs.items()}
    shown = "; ".join(f"{name}: {worded(outcome)}" for name, outcome in outcomes.items())
    return [list(outcome.values()) for outcome in outcomes.values()], shown


def worded(outcome: Mapping[float, int]) -> str:
    """Return at which budgets a comparison came out how."""
    parts = []
    for word, sign in (("less", -1), ("a tie", 0), ("more", 1)):
        if own := [f"{epsilon:g}" for epsilon, found in outcome.items() if found == sign]:
            parts.append(f"{word} at {', '.join(own)}")
    return "; ".join(parts) or "not run"


def overall(outcomes: Iterable[int]) -> str:
    """Return the verdict on "costs less": it holds if it never costs more and somewhere less; if nowhere less, it is a tie."""
    found = list(outcomes)
    if not found or max(found) > 0:
        return FAILS
    return HOLDS if min(found) < 0 else TIE


def always(outcomes: Iterable[int]) -> str:
    """Return the verdict on "costs less everywhere": a tie anywhere makes it a tie."""
    found = list(outcomes)
    if not found or max(found) > 0:
        return FAILS
    return TIE if 0 in found else HOLDS


def holds_if(condition: bool) -> str:
    """Return whether it holds, in words."""
    return HOLDS if condition else FAILS
