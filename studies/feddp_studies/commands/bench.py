"""``feddp bench``: what runs cost on this machine. What it needs is imported when it runs, so that ``feddp --help`` does not wait."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import err, out
from feddp_kmeans.errors import InputError


def bench(
    folder: Annotated[Path, typer.Option("--out", help="Where bench.json and the picture go.")] = Path("bench"),
    quick: Annotated[bool, typer.Option("--quick", help="Two problems only: less than a minute.")] = False,
    published: Annotated[
        Path | None,
        typer.Option("--published", help="The authors' repository: run their code and ours on the same mixture, and nothing else."),
    ] = None,
    python: Annotated[
        str, typer.Option("--python", help="The Python that has what the authors' code needs (pfl).", show_default="this one")
    ] = sys.executable,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="DOCS", help="Also write the tables into scale.md of this folder; a quarter of an hour."),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that the authors' code may take.")] = 600,
    as_json: options.Json = False,
) -> None:
    """Measure whole private runs on this machine: CPU seconds and memory, and how they grow with points, dimensions, clusters, clients."""
    from feddp_kmeans._files import write_whole
    from feddp_kmeans.report.result import check_folder
    from feddp_studies.speed import large_runs, pass_speed, whole_runs_speed
    from feddp_studies.speed.speed_figure import draw_speed
    from feddp_studies.speed.speed_tables import check_page, write_speed_page

    if page is not None and (quick or published):
        raise InputError("--page must be given without --quick and --published: pages show whole measurements.")
    printed = None if page is None else check_page(page)
    check_folder(folder, force=True)
    folder.mkdir(parents=True, exist_ok=True)
    if published:
        _compare_published(folder / "published.json", published, python, timeout, as_json=as_json)
        return
    cases = whole_runs_speed.QUICK if quick else (*whole_runs_speed.PAPER, *whole_runs_speed.GROWTH)
    passes = pass_speed.QUICK_PASSES if quick else pass_speed.PASSES
    found = whole_runs_speed.measure_all(cases, passes, _say)
    if not quick:
        found["many"] = large_runs.measure_larges(large_runs.MANY, whole_runs_speed.alone, _say)
        found["memory"] = large_runs.measure_larges(large_runs.MEMORY, whole_runs_speed.alone, _say)
    paths = [folder / "bench.json", folder / "bench.svg"]
    write_whole(paths[0], (json.dumps(found, indent=2) + "\n").encode())
    draw_speed(found, paths[1])
    if printed is not None:
        write_speed_page(printed, found)
        paths.append(printed)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    _show_runs(found)
    for path in paths:
        out.print(str(path), highlight=False, soft_wrap=True)


def _say(what: str) -> None:
    err.print(f"{what} ...", highlight=False)


def _compare_published(path: Path, repository: Path, python: str, timeout: float, *, as_json: bool) -> None:
    """Run the published code and ours, write what was found, and print it."""
    from feddp_kmeans._files import write_whole
    from feddp_studies.speed.published_run import compare

    found = compare(repository, python, timeout, _say)
    write_whole(path, (json.dumps(found, indent=2) + "\n").encode())
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    _show_machine(found["machine"])
    rows = [
        (
            row["who"],
            *(f"{row[key]:.{digits}f}" for key, digits in (("stated", 3), ("spent", 3), ("cost", 3), ("cpu_seconds", 2), ("seconds", 2))),
        )
        for row in found["rows"]
    ]
    title = f"The same data, {found['data']}; delta {found['delta']:g}"
    _print_table(title, ("who", "epsilon, stated", "spent*", "cost per point", "CPU s", "seconds"), rows)
    _print_table(
        "The noise that the paper's code drew",
        ("release", "noise", "scale", "sensitivity", "ratio", "epsilon*"),
        [
            (
                row["release"],
                row["mechanism"],
                f"{row['scale']:.4g}",
                f"{row['sensitivity']:g}",
                f"{row['noise_multiplier']:.3f}",
                f"{row['epsilon']:.3f}",
            )
            for row in found["releases"]
        ],
    )
    out.print("* Computed by our accountant from the noise drawn and from what one point can really change.", highlight=False)
    for names in dict.fromkeys(map(" and ".join, found["same_noise"])):
        out.print(f"* The noise of {names} has the same seed: who knows one knows the other, and no epsilon holds.", highlight=False)
    out.print(str(path), highlight=False, soft_wrap=True)


def _show_machine(machine: dict[str, Any]) -> None:
    blas = ", ".join(machine["blas"])
    out.print(f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, {blas}", highlight=False)


def _print_table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for place, name in enumerate(names):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    out.print(table)


def _show_runs(found: dict[str, Any]) -> None:
    """Print the machine, the seconds and the growth."""
    from rich.table import Table

    _show_machine(found["machine"])
    table = Table(title="Whole private runs, cryptographic noise, epsilon 1", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("clients x points x dimensions", no_wrap=True)
    table.add_column("method")
    for name in ("CPU s", "plan", "peak MB", "recorded*"):
        table.add_column(name, justify="right")
    for row in found["runs"]:
        numbers = [f"{row[key]:.2f}" for key in ("cpu_seconds", "plan_cpu_seconds")]
        recorded = "" if row["recorded"] is None else f"{row['recorded']:.1f}"
        table.add_row(row["name"], row["method"], *numbers, f"{row['peak_mb']:.0f}", recorded)
    out.print(table)
    for row in found["growth"]:
        out.print(
            f"CPU seconds of {row['method']} grow as {row['what']}^{row['power']:.2f} ({row['from']:,} to {row['to']:,}).", highlight=False
        )
    _show_passes(found["passes"])
    out.print(f"* CPU seconds of the paper's published code, {found['recorded']}.", highlight=False)


def _show_passes(rows: list[dict[str, Any]]) -> None:
    """Print exact passes next to the inexact ones of others."""
    from rich.table import Table

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
    out.print(table)
