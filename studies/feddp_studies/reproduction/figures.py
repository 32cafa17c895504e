"""Figures as SVG and PNG."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from feddp_kmeans._files import write_whole
from feddp_studies.reproduction.curves import Row, best_points, elbows
from feddp_studies.reproduction.peers import EPSILONS, RECORDED
from feddp_studies.reproduction.spec import Experiment

LABELS = {
    "refined": "FedDP-KMeans, refined",
    "paper": "FedDP-KMeans, as the paper states it",
    "published-noise": "published code's noise: NOT PRIVATE",
    "server-lloyds": "ServerLloyds",
    "server-kmeans++": "ServerKMeans++",
    "sphere-packing": "SpherePacking",
    "dp-lloyd": "DP-Lloyd, random start",
    "google-lsh": "Google's LSH clustering, central",
    "diffprivlib": "diffprivlib, central",
    "oracle-floor": "oracle floor: not private",
    "k-fed": "k-FED: not private",
}
STYLES = {  # Okabe and Ito's colours, and a marker each, so that they differ without colour too.
    "refined": ("#0072B2", "o", "-"),
    "paper": ("#D55E00", "s", "-"),
    "published-noise": ("#D55E00", "x", ":"),
    "server-lloyds": ("#009E73", "^", "-"),
    "server-kmeans++": ("#CC79A7", "v", "-"),
    "sphere-packing": ("#E69F00", "D", "-"),
    "dp-lloyd": ("#56B4E9", "P", "-"),
    "google-lsh": ("#000000", "1", "-"),
    "diffprivlib": ("#F0E442", "2", "-"),
    "oracle-floor": ("#555555", ".", "--"),
}


def draw(experiment: Experiment, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write the experiment's figure as SVG and PNG; return their paths, none where the experiment is a table."""
    drawn = {"pareto": _pareto, "missing": _missing, "peers": _peers, "elbow": _elbow}.get(experiment.kind)
    if drawn is None:
        return []
    with mpl.rc_context({"svg.hashsalt": experiment.name, "font.size": 10}):
        figure = Figure(figsize=(11, 4.4), layout="constrained")
        drawn(figure, rows)
        figure.suptitle(experiment.title)
        paths = []
        for suffix in ("svg", "png"):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
            paths.append(folder / f"{experiment.name}.{suffix}")
            write_whole(paths[-1], buffer.getvalue())
    return paths


def _pareto(figure: Any, rows: Sequence[Row]) -> None:
    """Draw cost against epsilon as in the paper, and the cost above optimal on a logarithmic scale."""
    left, right = figure.subplots(1, 2)
    optimal = float(np.mean([row["optimal_cost"] for row in rows]))
    for method in STYLES:
        _curve(left, right, rows, method)
    left.axhline(optimal, color="black", linewidth=1, label="optimal: not private")
    k_fed = best_points(rows, "k-fed")
    if k_fed:
        left.axhline(k_fed[0].mean, color="#999999", linestyle="-.", label=LABELS["k-fed"])
        if k_fed[0].excess > 0:
            right.axhline(k_fed[0].excess, color="#999999", linestyle="-.")
    left.set(xscale="log", xlabel="epsilon", ylabel="k-means cost a point")
    right.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="cost above optimal, per cent (0.0001 at least)")
    ticks = sorted({row["epsilon"] for row in rows if np.isfinite(row["epsilon"])})
    for axes in (left, right):
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.grid(alpha=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)


def _curve(left: Any, right: Any, rows: Sequence[Row], method: str) -> None:
    points = best_points(rows, method)
    if not points:
        return
    colour, marker, line = STYLES[method]
    epsilons = [p.epsilon for p in points]
    style = {"color": colour, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.5}
    left.plot(epsilons, [p.mean for p in points], label=_label(rows, method), **style)
    left.fill_between(epsilons, [min(p.costs) for p in points], [max(p.costs) for p in points], color=colour, alpha=0.15, linewidth=0)
    excesses = np.array([max(p.excess, 1e-4) for p in points])
    low, high = ([max(f(p.excesses), 1e-4) for p in points] for f in (min, max))
    right.plot(epsilons, excesses, **style)
    right.fill_between(epsilons, low, high, color=colour, alpha=0.15, linewidth=0)


def _missing(figure: Any, rows: Sequence[Row]) -> None:
    """Draw a method's cost above optimal, a curve for each number of clusters that the server lacks."""
    problems = list(dict.fromkeys(row["dataset"] for row in rows))
    colours = list(dict.fromkeys(colour for colour, _, _ in STYLES.values()))
    for axes, method in zip(figure.subplots(1, 2, sharey=True), ("paper", "refined"), strict=True):
        for index, problem in enumerate(problems):
            points = best_points([row for row in rows if row["dataset"] == problem], method)
            epsilons = [p.epsilon for p in points]
            label = f"{problem.removeprefix('missing-') if problem != 'mixture' else 0} missing"
            low, high = ([max(f(p.excesses), 1e-4) for p in points] for f in (min, max))
            axes.plot(epsilons, [max(p.excess, 1e-4) for p in points], marker="osv^"[index % 4], color=colours[index], label=label)
            axes.fill_between(epsilons, low, high, color=colours[index], alpha=0.15, linewidth=0)
        axes.set(title=LABELS[method], xscale="log", yscale="log", xlabel="epsilon")
        ticks = sorted({row["epsilon"] for row in rows})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("cost above optimal, per cent")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)


def _peers(figure: Any, rows: Sequence[Row]) -> None:
    """Draw cost against epsilon on every central data set: ours and live rivals as lines, recorded ones dashed."""
    problems = list(dict.fromkeys(row["dataset"] for row in rows))
    programs = list(dict.fromkeys(program for costs in RECORDED.values() for program in costs))
    for axes, problem in zip(np.atleast_1d(figure.subplots(1, len(problems))), problems, strict=True):
        own = [row for row in rows if row["dataset"] == problem]
        for method, (colour, marker, _) in STYLES.items():
            points = best_points(own, method)
            if points:
                epsilons = [p.epsilon for p in points]
                label = "ours, no server data" if method == "refined" else f"{LABELS[method]} (run here)"
                axes.plot(epsilons, [p.mean for p in points], color=colour, marker=marker, label=label)
                axes.fill_between(epsilons, [min(p.costs) for p in points], [max(p.costs) for p in points], color=colour, alpha=0.15)
        for program, costs in RECORDED.get(problem, {}).items():
            index = programs.index(program)
            axes.plot(EPSILONS, costs, "--", color=str(0.13 * index), marker="1234x+"[index % 6], label=f"{program} (recorded)")
        axes.axhline(own[0]["optimal_cost"], color="black", linewidth=1, label="optimal: not private")
        axes.set(title=problem, xscale="log", yscale="log", xlabel="epsilon")
        axes.set_xticks([0.1, 0.5, 2, 8], ["0.1", "0.5", "2", "8"])
        axes.set_xticks([], minor=True)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("k-means cost a point")
    handles = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False, fontsize=8)


def _label(rows: Sequence[Row], method: str) -> str:
    """Return the curve's name; that of the published code's noise says what it really spends."""
    own = [row for row in rows if row["method"] == method and row.get("step_1_times")]
    if not own:
        return LABELS[method]
    whole = np.mean([row["epsilon_spent"] / row["epsilon"] for row in own])
    first = np.mean([row["step_1_times"] for row in own])
    return f"{LABELS[method]}\n({whole:.1f} times the epsilon shown, step 1 {first:.0f} times)"


def _elbow(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the cost against k for every draw, the elbows circled: of both methods, and with server data that are all like the clients'."""
    found = elbows(rows)
    panels = list(dict.fromkeys((method, name) for method, name, _ in found))
    colours = list(dict.fromkeys(colour for colour, _, _ in STYLES.values()))
    for axes, panel in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True):
        for (method, name, seed), elbow in found.items():
            if (method, name) == panel:
                colour = colours[seed % len(colours)]
                axes.plot(elbow.numbers, elbow.costs, marker=".", color=colour, label=f"draw {seed}: {elbow.picked}")
                axes.plot([elbow.picked], [elbow.costs[elbow.picked - 1]], "o", markersize=10, fillstyle="none", color=colour)
        method, name = panel
        server = "server data all\nlike the clients'" if name == "mixture-clean" else "the paper's\nserver data"
        axes.set(title=f"{method.removeprefix('elbow of ')}, {server}", xlabel="number of clusters k", xticks=range(0, 21, 5))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, title="elbow at")
    figure.axes[0].set_ylabel("weighted sum of squares")
