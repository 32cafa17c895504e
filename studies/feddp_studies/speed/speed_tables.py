"""What ``feddp bench --page`` writes into the documentation: tables between markers, each with its commit, machine and day."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import InputError
from feddp_studies.reproduction.printed_pages import commit, filled
from feddp_studies.reproduction.results_page import table

PAGE = "scale.md"
BLOCKS = ("bench-runs", "bench-passes", "bench-many", "bench-memory")
"""The blocks that the page must have."""


def check_page(folder: Path) -> Path:
    """Return the page in this folder; refuse one that is not there or has other blocks, before anything is measured."""
    path = folder / PAGE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if missing := [name for name in BLOCKS if f"<!-- begin {name} -->\n" not in text or f"<!-- end {name} -->" not in text]:
        raise InputError(f"--page must name the folder with {PAGE} and its blocks, got {str(folder)!r} without {', '.join(missing)}.")
    return path


def write_speed_page(path: Path, found: Mapping[str, Any]) -> None:
    """Replace the blocks of the page by tables of what was found."""
    write_whole(path, filled(path.read_text(encoding="utf-8"), speed_blocks(found)).encode())


def speed_blocks(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of every block, by name."""
    machine = found["machine"]
    where = f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, Python {machine['versions']['python']}"
    told = f"\nPrinted by `feddp bench --page` at commit {commit()}, {dt.datetime.now(tz=dt.UTC).date()} ({where}).\n"
    tables = (_runs(found), _passes(found), _many(found), _memory(found))
    return {name: made + told for name, made in zip(BLOCKS, tables, strict=True)}


def _runs(found: Mapping[str, Any]) -> str:
    """Return the paper's mixtures; the seconds of its code are marked as recorded."""
    head = ["clients x points", "unit", "method", "CPU seconds", "of it plan", "peak memory, MB"]
    rows = [
        [
            f"{row['n_clients']:,} x {row['client_size']:,}",
            row["unit"],
            row["method"],
            *(f"{row[key]:.2f}" for key in ("cpu_seconds", "plan_cpu_seconds")),
            f"{row['peak_mb']:.0f}",
            f"{row['recorded']:.1f} (recorded)",
        ]
        for row in found["runs"]
        if row["what"] == "paper" and row["recorded"] is not None
    ]
    return table([*head, "the paper's code, CPU seconds (recorded on another machine)"], rows)


def _passes(found: Mapping[str, Any]) -> str:
    """Return single passes and their peers, which ran in turns in the same process."""
    rows = [
        [
            row["what"],
            row["who"],
            f"{row['cpu_seconds']:.3f}",
            f"{row['ratio']:.2f}",
            "" if row["is_peer"] else f"{row['least']:.2f} to {row['greatest']:.2f}",
        ]
        for row in found["passes"]
    ]
    return table(["pass", "who", "CPU seconds", "times the fastest peer", "spread"], rows)


def _many(found: Mapping[str, Any]) -> str:
    """Return whole runs by the number of clusters, one column for each."""
    numbers = sorted({row["k"] for row in found["many"]})
    groups = dict.fromkeys((row["n_points"], row["dimension"], row["server_per_cluster"]) for row in found["many"])
    rows = []
    for n_points, dimension, server in groups:
        seconds = {
            row["k"]: row["cpu_seconds"]
            for row in found["many"]
            if (row["n_points"], row["dimension"], row["server_per_cluster"]) == (n_points, dimension, server)
        }
        cells = [f"{seconds[k]:.1f}" if k in seconds else "" for k in numbers]
        rows.append([f"{n_points:,} x {dimension}", "yes" if server else "no", *cells])
    return table(["points", "server data", *(f"k = {k:,}" for k in numbers)], rows)


def _memory(found: Mapping[str, Any]) -> str:
    """Return the peak of memory above its start, for points in memory."""
    rows = [
        [
            f"{row['points_mb']:.0f}",
            row["kind"],
            row["unit"],
            row["method"],
            f"{row['above_mb']:.0f}",
            f"{row['times_points']:.2f}",
        ]
        for row in found["memory"]
    ]
    return table(["points, MB", "of", "unit", "method", "peak above the start, MB", "times the points"], rows)
