"""``feddp bench``: what runs cost on this machine."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from feddp_kmeans._files import write_whole
from feddp_kmeans.report.result import check_folder
from feddp_studies.speed.pass_speed import PASSES, QUICK_PASSES
from feddp_studies.speed.speed_figure import draw_speed
from feddp_studies.speed.whole_runs_speed import GROWTH, PAPER, QUICK, bench


def run_bench(folder: Path, *, quick: bool, console: Console) -> tuple[dict[str, Any], list[Path]]:
    """Measure, write bench.json and bench.svg, and return what was found and the files."""
    check_folder(folder, force=True)
    folder.mkdir(parents=True, exist_ok=True)
    cases, passes = (QUICK, QUICK_PASSES) if quick else ((*PAPER, *GROWTH), PASSES)
    found = bench(cases, passes, lambda what: console.print(f"{what} ...", highlight=False))
    paths = [folder / "bench.json", folder / "bench.svg"]
    write_whole(paths[0], (json.dumps(found, indent=2) + "\n").encode())
    draw_speed(found, paths[1])
    return found, paths


def show_bench(found: dict[str, Any], console: Console) -> None:
    """Print the machine, the seconds and the growth."""
    machine = found["machine"]
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, {', '.join(machine['blas'])}", highlight=False
    )
    table = Table(title="Whole private runs, cryptographic noise, epsilon 1", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("clients x points x dimensions", no_wrap=True)
    table.add_column("method")
    for name in ("CPU s", "plan", "peak MB", "recorded*"):
        table.add_column(name, justify="right")
    for row in found["runs"]:
        numbers = [f"{row[key]:.2f}" for key in ("cpu_seconds", "plan_cpu_seconds")]
        recorded = "" if row["recorded"] is None else f"{row['recorded']:.1f}"
        table.add_row(row["name"], row["method"], *numbers, f"{row['peak_mb']:.0f}", recorded)
    console.print(table)
    for row in found["growth"]:
        console.print(
            f"CPU seconds of {row['method']} grow as {row['what']}^{row['power']:.2f} ({row['from']:,} to {row['to']:,}).", highlight=False
        )
    show_passes(found["passes"], console)
    console.print(f"* CPU seconds of the paper's published code, {found['recorded']}.", highlight=False)


def show_passes(rows: list[dict[str, Any]], console: Console) -> None:
    """Print exact passes beside the inexact ones of others."""
    title = "One pass over the points, one core; ours are exact, the others' are not"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("who", no_wrap=True)
    for name in ("CPU s", "times peer", "spread"):
        table.add_column(name, justify="right", no_wrap=True)
    for what in dict.fromkeys(row["what"] for row in rows):
        table.add_row(what, style="bold")
        for row in (row for row in rows if row["what"] == what):
            spread = "" if row["is_peer"] else f"{row['least']:.2f} to {row['greatest']:.2f}"
            table.add_row(f"  {row['who']}", f"{row['cpu_seconds']:.3f}", f"{row['ratio']:.2f}", spread)
    console.print(table)
