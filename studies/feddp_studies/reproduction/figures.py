"""Figures as SVG and PNG."""

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from feddp_kmeans._files import write_whole
from feddp_studies.reproduction.curves import CurvePoint, Row, best_points, budgets, elbows, pareto_points, points_of, shown_methods
from feddp_studies.reproduction.methods import METHODS
from feddp_studies.reproduction.peers import EPSILONS, RECORDED
from feddp_studies.reproduction.spec import Experiment

# Okabe and Ito's colours, which colour-blind readers tell apart; with a marker and a line each they differ in grey too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osx^vDP1*2X+<>hp"
_LINES = ("-", "--", "-.", ":")
_BAND = "bands: least to largest over seeds"


def style(index: int) -> dict[str, Any]:
    """Return a colour, marker and line of its own for each curve, whatever its number."""
    line = _LINES[index // len(_COLOURS) % len(_LINES)]
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "marker": _MARKERS[index % len(_MARKERS)],
        "linestyle": line,
        "markersize": 5,
        "linewidth": 1.5,
    }


def draw(experiment: Experiment, rows: Sequence[Row], folder: Path, *, quick: bool = False) -> list[Path]:
    """Write the experiment's figure as SVG and PNG; return their paths, none where the experiment is a table."""
    drawn = _DRAWN.get(experiment.kind)
    if drawn is None:
        return []
    with mpl.rc_context({"svg.hashsalt": experiment.name, "font.size": 10, "lines.markeredgewidth": 1.2}):
        figure = Figure(figsize=(11, 4.8), layout="constrained")
        drawn(figure, rows)
        seeds = len({row["seed"] for row in rows})
        told = f"{seeds} seed{'s' if seeds > 1 else ''}" + (f"; {_BAND}" if seeds > 1 and experiment.kind != "elbow" else "")
        figure.suptitle(f"{experiment.title}\n{told}{'; --quick: A FIRST LOOK' if quick else ''}", fontsize=11)
        paths = []
        for suffix in ("svg", "png"):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
            paths.append(folder / f"{experiment.name}.{suffix}")
            write_whole(paths[-1], buffer.getvalue())
    return paths


def _pareto(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the fronts of cost against epsilon as in the paper, every setting tried behind them, and the cost above optimal."""
    left, right = figure.subplots(1, 2)
    for method in shown_methods(rows):
        own = style(list(METHODS).index(method))
        front = pareto_points(rows, method)
        if not METHODS[method].noise:
            left.axhline(front[0].mean, label=METHODS[method].label, **_line_only(own))
            right.axhline(front[0].excess, **_line_only(own))
            continue
        tried = points_of(rows, method)
        left.plot(*_xy(tried, "mean"), own["marker"], color=own["color"], alpha=0.25, markersize=3)
        right.plot(*_xy(tried, "excess"), own["marker"], color=own["color"], alpha=0.25, markersize=3)
        _curve(left, front, "mean", lambda p: p.costs, own, label=_label(rows, method))
        _curve(right, front, "excess", lambda p: p.excesses, own)
    left.axhline(float(np.mean([row["optimal_cost"] for row in rows])), color="black", linewidth=1, label="optimal: not private")
    left.plot([], [], "k.", alpha=0.25, label="other settings tried")
    left.set(ylabel="k-means cost a point")
    _excess_axis(right, [point.excess for method in shown_methods(rows) for point in points_of(rows, method)])
    _epsilon_axes((left, right), budgets(rows))
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)


def _curve(
    axes: Any,
    points: Sequence[CurvePoint],
    name: str,
    spread: Callable[[CurvePoint], Iterable[float]],
    own: dict[str, Any],
    label: str | None = None,
) -> None:
    epsilons = [point.epsilon for point in points]
    axes.plot(*_xy(points, name), label=label, **own)
    low, high = ([one(spread(point)) for point in points] for one in (min, max))
    axes.fill_between(epsilons, low, high, color=own["color"], alpha=0.12, linewidth=0)


def _xy(points: Sequence[CurvePoint], name: str) -> tuple[list[float], list[float]]:
    return [point.epsilon for point in points], [getattr(point, name) for point in points]


def _line_only(own: dict[str, Any]) -> dict[str, Any]:
    return {"color": own["color"], "linestyle": own["linestyle"], "linewidth": 1.2}


def _excess_axis(axes: Any, values: Iterable[float]) -> None:
    """Scale an axis of costs above optimal: logarithmic, and linear around zero as far as there are values below it."""
    found = np.array([value for value in values if np.isfinite(value)])
    axes.set_ylabel("cost above optimal, per cent")
    if (found > 0).all():
        _log_axis(axes)
    else:
        linear = max(float(np.abs(found[found <= 0]).max()), 1e-3)
        axes.set_yscale("symlog", linthresh=linear)
        axes.axhspan(-linear, linear, color="black", alpha=0.04, linewidth=0)
        axes.set_ylabel("cost above optimal, per cent (shaded: linear)")
        axes.axhline(0, color="black", linewidth=0.8)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _log_axis(axes: Any) -> None:
    """Scale an axis by the logarithm, with numbers that are read."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _epsilon_axes(all_axes: Iterable[Any], ticks: Sequence[float]) -> None:
    for axes in all_axes:
        axes.set(xscale="log", xlabel="epsilon")
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(alpha=0.3)


def _missing(figure: Any, rows: Sequence[Row]) -> None:
    """Draw a method's cost above optimal, a curve for each number of clusters that the server lacks."""
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    both = figure.subplots(1, 2, sharey=True)
    values = []
    for axes, method in zip(both, ("paper", "refined"), strict=True):
        for index, name in enumerate(names):
            points = best_points([row for row in rows if row["dataset"] == name], method)
            label = f"{name.removeprefix('missing-') if name != 'mixture' else 0} missing"
            _curve(axes, points, "excess", lambda p: p.excesses, style(index), label)
            values += [point.excess for point in points]
        axes.set(title=METHODS[method].label)
    _excess_axis(both[0], values)
    _epsilon_axes(both, budgets(rows))
    figure.legend(*both[0].get_legend_handles_labels(), loc="outside right center", frameon=False)


def _cohorts(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the cost above optimal against the part of the clients that takes part in a release."""
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    every = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    rates = sorted({row["sampling_rate"] for row in rows})
    for axes, name in zip(every, names, strict=True):
        cases = [(method, epsilon) for method in shown_methods(rows) for epsilon in budgets(rows)]
        for index, (method, epsilon) in enumerate(cases):
            own = [row for row in rows if row["dataset"] == name and row["epsilon"] == epsilon]
            found = {rate: points[0] for rate in rates if (points := points_of(own, method, rate))}
            axes.plot(
                list(found), [p.excess for p in found.values()], label=f"{METHODS[method].label}, epsilon {epsilon:g}", **style(index)
            )
            low, high = ([one(p.excesses) for p in found.values()] for one in (min, max))
            axes.fill_between(list(found), low, high, color=style(index)["color"], alpha=0.12)
        axes.set(title=name, xscale="log", xlabel="part of the clients in a release")
        _log_axis(axes)
        axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(alpha=0.3)
    every[0].set_ylabel("cost above optimal, per cent")
    figure.legend(*every[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)


def _peers(figure: Any, rows: Sequence[Row]) -> None:
    """Draw cost against epsilon on every central data set: ours and live rivals as lines, recorded ones without a band."""
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    others = list(
        dict.fromkeys(
            [
                *(method for method in shown_methods(rows) if method != "refined"),
                *(program for costs in RECORDED.values() for program in costs),
            ]
        )
    )

    def other_style(name: str, line: str) -> dict[str, Any]:
        """Return a style that is not ours."""
        place = others.index(name)
        return style(1 + place % (len(_COLOURS) - 1)) | {"marker": _MARKERS[1 + place % (len(_MARKERS) - 1)], "linestyle": line}

    every = np.atleast_1d(figure.subplots(1, len(names)))
    for axes, name in zip(every, names, strict=True):
        own = [row for row in rows if row["dataset"] == name]
        for method in shown_methods(own):
            is_ours = method == "refined"
            label = "ours, no server data" if is_ours else f"{METHODS[method].label} (run here)"
            _curve(axes, best_points(own, method), "mean", lambda p: p.costs, style(0) if is_ours else other_style(method, "-"), label)
        for program, costs in RECORDED.get(name, {}).items():
            axes.plot(EPSILONS, costs, label=f"{program} (recorded)", **(other_style(program, "--") | {"linewidth": 1}))
        axes.axhline(own[0]["optimal_cost"], color="black", linewidth=1, label="optimal: not private")
        axes.set(title=name)
        _log_axis(axes)
    _epsilon_axes(every, [0.1, 0.5, 2, 8])
    every[0].set_ylabel("k-means cost a point")
    handles = {label: handle for axes in every for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False, fontsize=8)


def _label(rows: Sequence[Row], method: str) -> str:
    """Return the curve's name; that of the published code's noise says what it really spends."""
    own = [row for row in rows if row["method"] == method and row.get("step_1_times")]
    if not own:
        return METHODS[method].label
    whole = np.mean([row["epsilon_spent"] / row["epsilon"] for row in own])
    first = np.mean([row["step_1_times"] for row in own])
    return f"{METHODS[method].label}\n({whole:.1f} times the epsilon shown, step 1 {first:.0f} times)"


def _elbow(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the cost against k for every draw, the elbows circled: of both methods, and with server data that are all like the clients'."""
    found = elbows(rows)
    panels = list(dict.fromkeys((method, name) for method, name, _ in found))
    every = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for axes, panel in zip(every, panels, strict=True):
        for (method, name, seed), elbow in found.items():
            if (method, name) == panel:
                own = style(seed) | {"marker": ".", "linewidth": 1}
                axes.plot(elbow.numbers, elbow.costs, label=f"draw {seed}: {elbow.picked}", **own)
                axes.plot([elbow.picked], [elbow.costs[elbow.picked - 1]], "o", markersize=10, fillstyle="none", color=own["color"])
        method, name = panel
        server = "server data all\nlike the clients'" if name == "mixture-clean" else "the paper's\nserver data"
        axes.set(title=f"{method}, {server}", xlabel="number of clusters k", xticks=range(0, 21, 5))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, title="elbow at", fontsize=8)
    every[0].set_ylabel("cost a client point of the weighted server points")


_DRAWN: dict[str, Callable[[Any, Sequence[Row]], None]] = {
    "pareto": _pareto,
    "missing": _missing,
    "peers": _peers,
    "elbow": _elbow,
    "cohorts": _cohorts,
}
