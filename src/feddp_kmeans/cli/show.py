"""Results of a run as tables on the terminal: first what must be known, then the clusters, then what was released."""

import logging
import math
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from feddp_kmeans.cli.terminal import out, say

log = logging.getLogger(__name__)

USELESS = 3
"""Exit status of a run that was finished and written in full, but whose centers say nothing about the clients' points."""

_MOST_CLUSTERS, _MOST_COLUMNS = 8, 30
"""Larger tables of columns by clusters are left to the page."""


def finish(folder: Path, *, quiet: bool) -> None:
    """Show the finished run in a folder unless told to be quiet; the last line and exit status 3 say if it says nothing of the clients."""
    from feddp_kmeans.report.finished_run import read_result

    if not quiet:
        show_run(folder)
    useless = read_result(folder).get("useless")
    if useless:
        log.warning("feddp: finished and written, but useless: %s.", useless)
        raise typer.Exit(USELESS)


def show_run(folder: Path) -> None:
    """Print the results of the finished run in a folder: remarks first, its guarantee last."""
    from feddp_kmeans.report.finished_run import read_result
    from feddp_kmeans.report.taking_part import taking_part

    result = read_result(folder)
    if result.get("useless"):
        out.print("This result is useless: it says nothing about the clusters.", style="bold red", highlight=False)
    for remark in result.get("remarks", ()):
        out.print(f"Warning: {remark}.", style="yellow", highlight=False, markup=False)
    if result.get("elbow"):
        show_elbow(result["elbow"])
    _show_clusters(result)
    if result.get("changes"):
        show_changes(result)
    if result.get("inertia") is not None:
        say(quality_line(result))
    if not result.get("useless"):
        _show_values(result)
    show_ledger(result["ledger"], "What was released")
    for note in result.get("notes", ()):
        out.print(f"Note: {note}.", highlight=False, markup=False)
    out.print(result["guarantee"], style="bold", highlight=False)
    if told := taking_part(result):
        say(told.line)
    if result.get("spent"):
        say(spent_line(result["spent"]))
    say(f"Written to {folder}: result.json, centers.parquet, report.html.")


def show_changes(result: dict[str, Any]) -> None:
    """Print what changed since the run that this one went on from."""
    from feddp_kmeans.report.changes import change_lines

    out.print(f"What changed since the run of {result['changes'].get('since')}:", style="bold", highlight=False)
    for line in change_lines(result) or ["nothing beyond the noise of both runs"]:
        say(f"  {line}")


def show_ledger(rows: list[dict[str, Any]], title: str) -> None:
    """Print the releases, one per row."""
    table = new_table(title, "release", "mechanism", "sensitivity", "noise scale", "multiplier", "times")
    for row in rows:
        norm = "l2" if "l2_sensitivity" in row else "l1"
        scales = (f"{row[name]:.4g}" for name in ("scale", "noise_multiplier"))
        table.add_row(row["release"], row["mechanism"], f"{row[f'{norm}_sensitivity']:.4g} {norm.upper()}", *scales, str(row["times"]))
    out.print(table)


def show_elbow(elbow: dict[str, Any]) -> None:
    """Print the cost for each number of clusters as a bar; the chosen one is marked."""
    table = new_table(
        "Choosing k: cost and separation of the points that stand for the client data", "k", "separation", "cost, of k = 1", ""
    )
    top = max(elbow["costs"][0], 1e-300)
    separations = elbow.get("separations") or [math.nan] * len(elbow["costs"])
    for number, cost, separation in zip(elbow["numbers"], elbow["costs"], separations, strict=True):
        mark = "  <- picked" if number == elbow["picked"] else ""
        table.add_row(str(number), f"{separation:.2f}", f"{cost / top:.3f}", "#" * round(30 * cost / top) + mark)
    out.print(table)
    if elbow.get("why"):
        out.print(f"{elbow['picked']} clusters: {elbow['why']}.", highlight=False)


def _show_clusters(result: dict[str, Any]) -> None:
    from feddp_kmeans import _text as text
    from feddp_kmeans.report.profiles import cluster_traits, size_weights
    from feddp_kmeans.report.wording import in_one_line

    names = result.get("names")
    table = new_table("Clusters", "cluster", *(["name"] if names else []), "noisy size", "share", "spread")
    table.add_column("what sets it apart", justify="left")
    counts, error = result["noisy_counts"], text.finite(result.get("count_stddev"))
    spreads = result.get("spread") or [None] * len(counts)
    weights = size_weights(counts, len(counts))
    for index, (count, spread, traits) in enumerate(zip(counts, spreads, cluster_traits(result), strict=True)):
        spread_said = "-" if spread is None else f"{spread:.4g}"
        line = in_one_line(traits) if len(counts) > 1 else "all points"
        shown = text.size(text.finite(count), error), text.percent(weights[index] / sum(weights)), spread_said
        table.add_row(str(index), *([escape(names[index] or "-")] if names else []), *shown, escape(line))
    out.print(table)


def quality_line(result: dict[str, Any]) -> str:
    """Return one line on how near the points are to their centers."""
    from feddp_kmeans._text import uncertain

    cost, error, points = result["inertia"], result["inertia_stddev"], sum(result["noisy_counts"])
    per_point = f"; {cost / points:.4g} per point" if points > 0 else ""
    return f"Sum of squared distances to the centers: {uncertain(cost, error)}{per_point} (distances cut at {result['reach']:.4g})."


def spent_line(spent: dict[str, Any]) -> str:
    """Return one line on what all runs on the same data have spent together."""
    runs = f"{spent['runs']} run{'s' * (spent['runs'] != 1)} on these data so far"
    if spent["epsilon"] is None:
        return f"{runs}: no bound together, since {spent['why_unbounded']}."
    return f"{runs}: together epsilon {spent['epsilon']:.4g} at delta {spent['delta']:g} for one {spent['privacy_unit']}."


def _show_values(result: dict[str, Any]) -> None:
    """Print columns by clusters in the original units, with two standard deviations of the noise."""
    from feddp_kmeans.report.profiles import cluster_traits
    from feddp_kmeans.report.value_table import value_table

    traits = cluster_traits(result)
    rows = [row for group in value_table(traits).groups for row in group]
    if len(traits) > _MOST_CLUSTERS or len(rows) > _MOST_COLUMNS:
        say(f"The table of all columns by {len(traits)} clusters is in report.html.")
        return
    table = new_table("Values, and two standard deviations of their noise", "column", *(f"cluster {index}" for index in range(len(traits))))
    for row in rows:
        name = row.column if row.category is None else f"{row.column} = {row.category}"
        table.add_row(escape(name + " *" * row.hidden), *("-" if cell is None else escape(cell.said) for cell in row.cells))
    out.print(table)
    if any(row.hidden for row in rows):
        say("* no difference between the clusters beyond the noise")


def new_table(title: str, *columns: str) -> Table:
    """Return a table with these columns; all but the first hold numbers."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table
