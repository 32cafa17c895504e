"""Results of a run as tables on the terminal."""

import math
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from feddp_kmeans.cli.terminal import out, say


def show_run(folder: Path) -> None:
    """Print the results of the finished run in a folder, and its guarantee last."""
    from feddp_kmeans.report.finished_run import read_result

    result = read_result(folder)
    show_ledger(result["ledger"], "What was released")
    if result.get("elbow"):
        show_elbow(result["elbow"])
    _show_clusters(result)
    if result.get("inertia") is not None:
        say(quality_line(result))
    if result.get("schema"):
        _show_profiles(result["profiles"])
    for remark in result.get("remarks", ()):
        out.print(f"Note: {remark}.", style="yellow", highlight=False)
    out.print(result["guarantee"], style="bold", highlight=False)
    say(f"Written to {folder}: result.json, centers.parquet, report.html.")


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
    table = new_table("Clusters", "cluster", "noisy size", "spread", "norm of center", "noise in a coordinate")
    spreads = result.get("spread") or [None] * len(result["centers"])
    shown = zip(result["noisy_counts"], spreads, result["centers"], result["center_stddev"], strict=True)
    for index, (count, spread, center, noise) in enumerate(shown):
        told = "-" if spread is None else f"{spread:.4g}"
        table.add_row(str(index), f"{count:,.0f}", told, f"{math.hypot(*center):.4g}", f"{float(noise):.2g}")
    out.print(table)


def quality_line(result: dict[str, Any]) -> str:
    """Return one line on how near the points are to their centers."""
    cost, error, points = result["inertia"], result["inertia_stddev"], sum(result["noisy_counts"])
    per_point = f"; {cost / points:.4g} per point" if points > 0 else ""
    return f"Sum of squared distances to the centers: {cost:.4g} ± {2 * error:.2g}{per_point} (distances cut at {result['reach']:.4g})."


def _show_profiles(profiles: list[list[dict[str, Any]]]) -> None:
    """Print the profile of each cluster in the original units, one column of the data per row."""
    clusters = [f"cluster {index}" for index in range(len(profiles))]
    table = new_table("Profiles: mean or most frequent value, and the noise in it", "column", *clusters)
    for told in zip(*profiles, strict=True):
        table.add_row(escape(told[0]["column"]), *(escape(_told(described)) for described in told))
    out.print(table)


def _told(described: dict[str, Any]) -> str:
    error = described["error"]
    if described["kind"] == "number":
        return f"{described['value']:.4g}" + (f" ± {error:.1g}" if error else "")
    return f"{described['value']} {described['shares'][described['value']]:.0%}" + (f" ± {error:.0%}" if error else "")


def new_table(title: str, *columns: str) -> Table:
    """Return a table with these columns; all but the first hold numbers."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table
