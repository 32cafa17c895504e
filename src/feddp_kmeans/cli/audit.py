"""``feddp audit``: tries to refute the guarantee, on this machine, with the code that is installed."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from feddp_kmeans._files import write_whole
from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import err, out, say

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.settings import Settings
    from feddp_kmeans.audit.whole_audit import Audit

_SHOWN = 12
"""Refuting findings that are printed; all are in the file."""


@options.takes_settings(defaults={"clusters": "2", "epsilon": 8.0})
def audit(
    settings: "Settings",
    dimension: Annotated[int, typer.Option("--dimension", help="Number of coordinates of the made-up points.")] = 3,
    without_server: Annotated[bool, typer.Option("--without-server", help="Audit the method without server data.")] = False,
    release: Annotated[list[str] | None, typer.Option("--release", help="Attack this release only; may be given again.")] = None,
    runs: Annotated[int, typer.Option("--runs", help="Runs with the worst unit, and as many without it.")] = 1000,
    processes: Annotated[int, typer.Option("--jobs", min=1, help="Runs side by side.")] = 2,
    seed: Annotated[int | None, typer.Option("--seed", help="Reproducible noise. (default: cryptographic noise, as in real runs)")] = None,
    folder: Annotated[Path, typer.Option("--out", help="Where audit.json and roc.svg go.")] = Path("audit"),
    as_json: options.Json = False,
) -> None:
    """Try to refute the guarantee with real runs on the worst neighbours; it can refute, never prove.

    Made-up points only; exit status 1 if the claim is refuted.

    Examples:
      feddp audit --method paper --unit client --lloyd-steps 2 --jobs 4
      feddp audit --release "second moment" --runs 5000

    """
    from feddp_kmeans.audit import whole_audit
    from feddp_kmeans.audit.case import Case
    from feddp_kmeans.report.result import check_folder
    from feddp_kmeans.report.roc import roc_chart

    case = Case(settings, dimension, not without_server, seed)
    check_folder(folder, force=True)
    with _progress() as on_part:
        found = whole_audit.audit(case, runs=runs, names=release or (), jobs=processes, on_part=on_part)
    folder.mkdir(parents=True, exist_ok=True)
    told = found.to_dict()
    files = {folder / "audit.json": json.dumps(told, indent=2) + "\n", folder / "roc.svg": roc_chart(told)}
    for path, content in files.items():
        write_whole(path, content.encode())
    if as_json:
        typer.echo(json.dumps(told, indent=2))
    else:
        _show(found)
        for path in files:
            say(str(path))
    if found.refuted:
        raise typer.Exit(1)


def _show(found: "Audit") -> None:
    """Print what was attacked and checked, and the verdict last."""
    _show_attacks(found)
    _show_checks(found)
    settings = found.case.settings
    claim = f"epsilon {settings.epsilon:g}, delta {settings.delta:g}, one {settings.privacy_unit} there or not"
    refuting = [finding for finding in found.findings if finding.refuted]
    for finding in refuting[:_SHOWN]:
        out.print(f"{finding.about}: {finding.check}? No: {finding.told}.", style="red", highlight=False, markup=False, soft_wrap=True)
    if refuting:
        out.print(f"REFUTED: the claim of {claim} does not hold for this code.", style="bold red", highlight=False)
    else:
        out.print(f"Not refuted: {claim}.", style="bold", highlight=False)
    out.print(
        "An audit can refute a guarantee, never prove one: the proofs are in the code, beside each statistic. Code that is right is "
        f"refuted with a chance of {found.failure_chance:.1g}.",
        highlight=False,
    )


def _show_attacks(found: "Audit") -> None:
    table = Table(title="Attacks: was the worst unit there?", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("what the attacker sees", no_wrap=True)
    for name in ("epsilon claimed", "at least*", "at least, any noise", "runs", "verdict"):
        table.add_column(name, justify="right")
    for name, verdict in found.verdicts.items():
        word = "[bold red]refuted[/bold red]" if verdict.refuted else "not refuted"
        numbers = (verdict.claim.epsilon, verdict.epsilon_if_gaussian, verdict.epsilon_lower_bound)
        table.add_row(escape(name), *(f"{value:.2f}" for value in numbers), str(verdict.runs), word)
    out.print(table)
    out.print("* If the noise has the stated law, which is checked below.", highlight=False)


def _show_checks(found: "Audit") -> None:
    table = Table(title="Checks", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("what must be so", no_wrap=True)
    table.add_column("tried", justify="right")
    table.add_column("refuted", justify="right")
    for check in dict.fromkeys(finding.check for finding in found.findings if not finding.check.startswith("attack")):
        own = [finding.refuted for finding in found.findings if finding.check == check]
        table.add_row(escape(check), str(len(own)), f"[bold red]{sum(own)}[/bold red]" if any(own) else "0")
    out.print(table)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("auditing")
        yield lambda done, total: bar.update(task, completed=done, total=total)
