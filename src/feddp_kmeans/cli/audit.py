"""``feddp audit``: tries to refute the guarantee, on this machine, with the code that is installed."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from feddp_kmeans._files import write_whole
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.whole_audit import Audit, audit
from feddp_kmeans.report.result import check_folder
from feddp_kmeans.report.roc import roc_chart

_SHOWN = 12
"""Refuting findings that are printed; all are in the file."""


def run_audit(
    case: AuditCase, folder: Path, *, runs: int, names: Sequence[str], parts: Sequence[str] | None, jobs: int, console: Console
) -> tuple[Audit, list[Path]]:
    """Audit, write audit.json and roc.svg, and return what was found and the files."""
    check_folder(folder, force=True)
    with _progress(console) as on_part:
        found = audit(case, runs=runs, names=names, parts=parts, jobs=jobs, on_part=on_part)
    folder.mkdir(parents=True, exist_ok=True)
    told = found.to_dict()
    files = {folder / "audit.json": json.dumps(told, indent=2) + "\n", folder / "roc.svg": roc_chart(told)}
    for path, content in files.items():
        write_whole(path, content.encode())
    return found, list(files)


def show_audit(found: Audit, console: Console) -> None:
    """Print what was attacked and checked, and the verdict last."""
    _show_attacks(found, console)
    _show_checks(found, console)
    settings = found.case.settings
    claim = f"epsilon {settings.epsilon:g}, delta {settings.delta:g}, one {settings.privacy_unit} there or not"
    refuting = [finding for finding in found.findings if finding.refuted]
    for finding in refuting[:_SHOWN]:
        console.print(f"{finding.about}: {finding.check}? No: {finding.told}.", style="red", highlight=False, markup=False, soft_wrap=True)
    if refuting:
        console.print(f"REFUTED: the claim of {claim} does not hold for this code.", style="bold red", highlight=False)
    else:
        console.print(f"Not refuted: {claim}.", style="bold", highlight=False)
    console.print(
        "An audit can refute a guarantee, never prove one: the proofs are in the code, beside each statistic. Code that is right is "
        f"refuted with a chance of {found.failure_chance:.1g}.",
        highlight=False,
    )


def _show_attacks(found: Audit, console: Console) -> None:
    table = Table(title="Attacks: was the worst unit there?", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("what the attacker sees", no_wrap=True)
    for name in ("epsilon claimed", "at least*", "at least, any noise", "runs", "verdict"):
        table.add_column(name, justify="right")
    for name, verdict in found.verdicts.items():
        word = "[bold red]refuted[/bold red]" if verdict.refuted else "not refuted"
        numbers = (verdict.claim.epsilon, verdict.epsilon_if_gaussian, verdict.epsilon_lower_bound)
        table.add_row(escape(name), *(f"{value:.2f}" for value in numbers), str(verdict.runs), word)
    console.print(table)
    console.print("* If the noise has the stated law, which is checked below.", highlight=False)


def _show_checks(found: Audit, console: Console) -> None:
    table = Table(title="Checks", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("what must be so", no_wrap=True)
    table.add_column("tried", justify="right")
    table.add_column("refuted", justify="right")
    for check in dict.fromkeys(finding.check for finding in found.findings if not finding.check.startswith("attack")):
        own = [finding.refuted for finding in found.findings if finding.check == check]
        table.add_row(escape(check), str(len(own)), f"[bold red]{sum(own)}[/bold red]" if any(own) else "0")
    console.print(table)


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[int, int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("auditing")
        yield lambda done, total: bar.update(task, completed=done, total=total)
