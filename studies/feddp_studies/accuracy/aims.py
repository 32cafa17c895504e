"""The rows of the accuracy benchmark: data sets, epsilons, what is computed from the runs, and the aim."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_studies.accuracy.checked_fit import WITHIN, CheckedFit
from feddp_studies.accuracy.survey_tables import TABLES

Runs = Sequence[CheckedFit]
Aims = float | Mapping[float, float]
"""One aim, or one per epsilon."""

NO_AIM: Mapping[float, float] = {}


@dataclass(frozen=True)
class Verdict:
    """One line of a table."""

    cells: Mapping[str, str]
    """Heads and contents of the columns."""
    aim: str = "-"
    reached: bool | None = None
    """None where there is no aim, or nothing to compare with it."""


Judge = Callable[[str, Runs], Verdict]
"""Judges the runs on the named set: those of one epsilon, or of all where the row does not separate them."""


@dataclass(frozen=True)
class Row:
    """One row of the table of aims."""

    cases: Mapping[str, tuple[float, ...]]
    """Data sets, and the epsilons for each."""
    judge: Judge
    by_epsilon: bool = True
    overall: Judge | None = None
    """Judges all runs of the row together, in a last line."""
    seeds_times: int = 1
    """This many times as many seeds as were asked for."""


def _values(runs: Runs, name: str) -> FloatArray:
    return np.array([getattr(run, name) for run in runs])


def _below(cells: Mapping[str, str], value: float, aims: Aims, runs: Runs, unit: str = "") -> Verdict:
    aim = aims.get(runs[0].epsilon, np.nan) if isinstance(aims, Mapping) else aims
    if np.isnan(aim):
        return Verdict(cells)
    return Verdict(cells, f"{aim:g}{unit}", None if np.isnan(value) else bool(value <= aim))


def _excess(aims: Aims = NO_AIM, rivals: Mapping[str, Mapping[float, float]] | None = None) -> Judge:
    """Return the judge of the mean cost above optimal in per cent; it must not be above a rival's cost either."""

    def judge(name: str, runs: Runs) -> Verdict:
        excess, costs = _values(runs, "excess"), _values(runs, "cost")
        cells = {"mean above optimal": f"{excess.mean():.3f} %", "worst": f"{excess.max():.3f} %"}
        cells |= {"x floor": _number(_values(runs, "times_floor").mean()), "only server data": _per_cent(_server_only(runs))}
        rival = (rivals or {}).get(name, {}).get(runs[0].epsilon)
        if rivals is None:
            return _below(cells, float(excess.mean()), aims, runs, " %")
        cells |= {"mean cost": f"{costs.mean():.5g}", "worst cost": f"{costs.max():.5g}"}
        return Verdict(cells) if rival is None else Verdict(cells, f"cost {rival:g}", bool(costs.mean() <= rival * _TIE))

    return judge


_TIE = 1.005
"""Rivals' costs are known to three digits."""


_FLAT = 1e-3


def _server_only(runs: Runs) -> float:
    return float(100 * (_values(runs, "server_only") / _values(runs, "optimal") - 1).mean())


def _tables(_: str, runs: Runs) -> Verdict:
    excess, server = _values(runs, "excess"), _server_only(runs)
    cells = {"mean above optimal": f"{excess.mean():.3f} %", "worst": f"{excess.max():.3f} %", "only server data": _per_cent(server)}
    return Verdict(cells, "0.5 %, below server data", bool(excess.mean() <= min(0.5, server)))


def _ratio(aims: Aims) -> Judge:
    def judge(_: str, runs: Runs) -> Verdict:
        ratios = _values(runs, "cost") / _values(runs, "optimal")
        cells = {"times optimal": f"{ratios.mean():.3f}", "worst": f"{ratios.max():.3f}", "runs with a lost cluster": _lost_runs(runs)}
        return _below(cells, float(ratios.mean()), aims, runs)

    return judge


def _floor(aims: Mapping[str, Mapping[float, float]]) -> Judge:
    def judge(name: str, runs: Runs) -> Verdict:
        times = _values(runs, "times_floor")
        cells = {"x floor": f"{times.mean():.2f}", "worst": f"{times.max():.2f}", "runs with a lost cluster": _lost_runs(runs)}
        return _below(cells, float(times.mean()) if not _values(runs, "lost").any() else np.inf, aims.get(name, NO_AIM), runs)

    return judge


def _share(field_name: str, what: str, least: float) -> Judge:
    """Return the judge of the share of stated errors that hold; every run counts the same."""

    def judge(_: str, runs: Runs) -> Verdict:
        errors = [np.abs(np.ravel(getattr(run, field_name))) for run in runs]
        if all(np.isnan(one).all() for one in errors):
            return Verdict({what: "-"}, f"{least:g} %")
        share = 100 * float(np.mean([np.mean(one <= WITHIN) for one in errors]))
        cells = {what: f"{share:.1f} %", "worst": f"{np.nanmax(np.concatenate(errors)):.1f} sd"}
        if field_name == "size_errors":
            totals = 100 * _values(runs, "total_error")
            cells |= {"total of sizes": f"{totals.mean():+.2f} %", "worst total": f"{totals[np.abs(totals).argmax()]:+.2f} %"}
        return Verdict(cells, f"{least:g} %", share >= least)

    return judge


def _errors(field_name: str, what: str) -> Row:
    return Row(_at(ERROR_SETS, 0.25, 1, 4), _share(field_name, what, 90), overall=_share(field_name, what, 95))


def _never_rising(_: str, runs: Runs) -> Verdict:
    """Judge whether the mean cost falls with epsilon, up to 0.1 %."""
    epsilons = sorted({run.epsilon for run in runs})
    means = [float(np.mean([run.cost / run.optimal for run in runs if run.epsilon == epsilon])) for epsilon in epsilons]
    rises = [f"{after:g}" for after, low, high in zip(epsilons[1:], means, means[1:], strict=False) if high > low * (1 + _FLAT)]
    return Verdict({"times optimal": f"rises at {', '.join(rises)}" if rises else "never rises"}, "never rises", not rises)


def _lost(_: str, runs: Runs) -> Verdict:
    lost = int(_values(runs, "lost").astype(bool).sum())
    return Verdict({"runs with a lost cluster": _lost_runs(runs)}, "0", lost == 0)


def _lost_runs(runs: Runs) -> str:
    lost = _values(runs, "lost")
    return "-" if np.isnan(lost).any() else f"{int((lost > 0).sum())} of {len(runs)}"


def _board(name: str, runs: Runs) -> Verdict:
    """Judge the area under the cost over epsilon, by the trapezoid rule."""
    costs: dict[float, list[float]] = {}
    for run in runs:
        costs.setdefault(run.epsilon, []).append(run.cost)
    epsilons = sorted(costs)
    area = float(np.trapezoid([np.mean(costs[epsilon]) for epsilon in epsilons], epsilons))
    plain, theirs = PE_BOARD.get(name, (np.nan, np.nan))
    optimal = (epsilons[-1] - epsilons[0]) * runs[0].optimal
    cells = {"area": f"{area:.5f}", "optimal": f"{optimal:.5f}", "optimal as published": f"{plain:.4f}"}
    return _below(cells, round(area, 4), theirs, runs)  # Published with four digits.


def _auto(_: str, runs: Runs) -> Verdict:
    right = [abs(run.found_k - run.k) <= (run.k >= 15) for run in runs]
    found = ", ".join(str(run.found_k) for run in runs) if len({run.k for run in runs}) == 1 else "-"
    cells = {"right": f"{sum(right)} of {len(runs)}", "found": found}
    return Verdict(cells, "90 %", sum(right) >= 0.9 * len(runs))


def _digits(_: str, runs: Runs) -> Verdict:
    costs = _values(runs, "cost")
    rival, center = CENTRAL_RIVALS["digits"].get(runs[0].epsilon, np.nan), runs[0].one_noisy_center
    above_rival, above_center = int((costs > rival).sum()), int((costs > center).sum())
    cells = {"mean cost": f"{costs.mean():.3f}", "worst": f"{costs.max():.3f}"}
    cells |= {
        "above the best rival": f"{above_rival} (> {rival:g})",
        "above one noisy center": f"{above_center} (> {center:.3f})",
    }
    return Verdict(cells, "0 and 0", above_rival == above_center == 0)


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def _per_cent(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.1f} %"


CENTRAL_EPSILONS = (0.1, 0.25, 0.5, 1, 2, 4, 8)
CENTRAL_RIVALS = {
    name: dict(zip(CENTRAL_EPSILONS, costs, strict=True))
    for name, costs in {
        "gas": (0.1312, 0.1210, 0.1054, 0.0956, 0.0879, 0.0813, 0.0791),
        "letter": (0.2822, 0.2494, 0.2455, 0.2350, 0.2229, 0.2132, 0.2091),
        "digits": (5.96, 4.74, 4.50, 4.25, 3.93, 3.65, 3.42),
        "s1": (0.00447, 0.00219, 0.00221, 0.00207, 0.00206, 0.00206, 0.00206),
        "mixture-box": (52.38, 50.96, 50.50, 50.31, 50.42, 50.96, 50.45),
    }.items()
}
"""Best cost of Google's LSH and HST, FastLloyd (on the mixture with its best number of steps), diffprivlib, Su et al. and EUGkM."""

PE_BOARD = {
    "board-4-4": (0.0777, 0.0778),
    "board-16-4": (0.0459, 0.0445),
    "board-64-4": (0.0343, 0.0379),
    "board-4-16": (0.0950, 0.0955),
    "board-16-16": (0.0606, 0.0668),
    "board-64-16": (0.0642, 0.1183),
    "board-4-64": (0.0954, 0.0993),
    "board-16-64": (0.0847, 0.1192),
    "board-64-64": (0.0823, 0.3070),
    "board-4-128": (0.1054, 0.1333),
    "board-16-128": (0.0919, 0.1942),
    "board-64-128": (0.0933, 0.5740),
    "letter-26": (0.2481, 0.2852),
    "curve": (0.0001, 0.0003),
}
"""Area under the cost of plain k-means and of PE-means (arXiv 2606.00342); the curve stands in for birch2."""


def _at(sets: Sequence[str], *epsilons: float) -> dict[str, tuple[float, ...]]:
    return dict.fromkeys(sets, epsilons)


ERROR_SETS = ("mixture", "table-federal-2024", "table-alabama-2024", "table-federal-2018", "heavy", "letter", "gas", "blobs-16-16")
_BLOBS = tuple(f"blobs-{k}-{d}" for d in (4, 16, 64, 128) for k in (4, 16, 64))
_PLANTED = (3, 5, 8, 10, 15, 20, 25)
_AUTO = tuple(f"auto-{kind}{more}" for k in _PLANTED for kind in (f"blobs-{k}-16", f"mixture-{k}") for more in ("", "-server"))
_FLOORS = {
    "mixture": {0.1: 1.4, 0.5: 1.2, 1: 1.2, 4: 1.2},
    "mixture-k20": {0.1: 1.6},
    "mixture-d50": {0.1: 1.6, 0.5: 1.5, 1: 1.6, 4: 2.5},
}
_BOARD = (0.25, 0.5, 1, 2, 4)
_MIXTURES = ("mixture-d50", "mixture-d200", "mixture-k5", "mixture-k20", "mixture-unbalanced")
_REFINED = {
    **_at(["mixture"], 0.1, 0.25, 0.5, 1, 8),
    **_at(_MIXTURES, 0.1, 0.5, 1),
    **_at(["clients-1000"], 0.6, 1.24, 8),
    **_at(["clients-2000"], 0.6),
    **_at(["clients-5000"], 0.3),
    **_at(["clients-sizes", "clients-unbalanced"], 0.6, 1.24),
    **_at(["census-2", "census-5", "census-6"], 0.2, 1),
    **_at(["travel", "stackoverflow"], 0.1, 0.5, 1.24, 2.6, 8),
}
_CENTRAL = {
    **_at(["digits", "s1", "letter", "gas", "mixture-box"], *CENTRAL_EPSILONS),
    **_at(["clients-box"], 0.6, 1, 2),
    **_at(["missing-1", "missing-2", "missing-5"], 1),
}

ROWS: Mapping[str, Row] = {
    "sizes": _errors("size_errors", "sizes within 2 sd"),
    "means": _errors("mean_errors", "means within 2 sd"),
    "inertia": _errors("inertia_error", "cost within 2 sd"),
    "blobs64": Row(_at(["blobs-64-64", "blobs-64-128"], *_BOARD), _ratio({0.25: 3, 1: 1.05, 2: 1.05, 4: 1.05})),
    "lost": Row(_at(_BLOBS, 1, 2, 4), _lost, by_epsilon=False, overall=_lost),
    "board": Row(_at([*PE_BOARD], *_BOARD), _board, by_epsilon=False),
    "curve": Row(_at(["curve"], *_BOARD), _ratio({0.25: 1.5, 0.5: 1.5, 1: 1.5, 2: 1.5, 4: 1.05}), overall=_never_rising),
    "tables": Row(_at([*TABLES], 1, 2, 4), _tables),
    "auto": Row(_at(_AUTO, 1), _auto, overall=_auto),
    "floor": Row({name: tuple(aims) for name, aims in _FLOORS.items()}, _floor(_FLOORS)),
    "ten-thousand": Row(_at(["mixture-10000-box", "mixture-10000"], 0.5), _excess(2)),
    "sensors": Row(_at(["sensors"], 0.5, 1), _excess({0.5: 8, 1: 3})),
    "digits": Row(_at(["digits"], 0.1, 0.25), _digits, seeds_times=4),
    "overlap": Row(_at(["mixture-overlap"], 0.5, 1), _excess(0.2)),
    "central": Row(_CENTRAL, _excess(rivals=CENTRAL_RIVALS)),
    "refined": Row(_REFINED, _excess()),
}
