"""The picture of ``feddp bench``."""

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from feddp_kmeans._files import write_whole
from feddp_studies.reproduction.figures import style
from feddp_studies.speed.whole_runs_speed import GROWS, METHODS

_AXES = {"n": "points n", "d": "dimensions d", "k": "clusters k", "m": "clients m, of 20 points"}


def draw_speed(found: dict[str, Any], path: Path) -> None:
    """Write the picture as SVG: CPU seconds on the paper's mixtures, and how they grow."""
    with mpl.rc_context({"svg.hashsalt": "bench", "font.size": 9}):
        grown = [what for what in GROWS if any(row["what"] == what for row in found["runs"])]
        figure = Figure(figsize=(4.5 + 2.4 * len(grown), 3.6), layout="constrained")
        axes = figure.subplots(1, 1 + len(grown), width_ratios=[1.9, *(1 for _ in grown)], squeeze=False)[0]
        _paper(axes[0], found["runs"])
        for place, what in zip(axes[1:], grown, strict=True):
            _growth(place, found["runs"], what)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        write_whole(path, buffer.getvalue())


def _paper(axes: Any, runs: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(row["name"] for row in runs if row["what"] == "paper"))
    for shift, method in enumerate(METHODS):
        seconds = [next(r["cpu_seconds"] for r in runs if (r["name"], r["method"]) == (name, method)) for name in names]
        axes.bar([i + 0.27 * (shift - 1) for i in range(len(names))], seconds, 0.25, label=method, color=style(shift)["color"])
    recorded = [next(r["recorded"] for r in runs if r["name"] == name) for name in names]
    axes.bar([i + 0.27 for i in range(len(names))], recorded, 0.25, label="paper's code,\nrecorded elsewhere", color="#999999", hatch="//")
    axes.set(ylabel="CPU seconds of a whole run", title="the paper's mixtures")
    axes.set_xticks(range(len(names)), [name.split(", k")[0].replace(" x ", " x\n") for name in names], fontsize=8)
    axes.legend(frameon=False)


def _growth(axes: Any, runs: list[dict[str, Any]], what: str) -> None:
    for place, method in enumerate(METHODS):
        own = sorted((r[GROWS[what]], r["cpu_seconds"]) for r in runs if (r["what"], r["method"]) == (what, method))
        axes.plot(*zip(*own, strict=True), label=method, **style(place))
    axes.set(xscale="log", yscale="log", xlabel=_AXES[what], title=f"growth in {what}")
    _plain(axes, sorted({r[GROWS[what]] for r in runs if r["what"] == what}))
    axes.grid(alpha=0.3)


def _plain(axes: Any, measured: list[int]) -> None:
    """Label what was measured below, and seconds without powers at the side."""
    axes.set_xticks(measured, [f"{value:,}" for value in measured], rotation=30)
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
