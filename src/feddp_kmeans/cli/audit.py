"""``feddp audit``: tries to refute the guarantee, on this machine, with the code that is installed."""

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from feddp_kmeans._files import write_whole
from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import err, out, say

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.settings import Settings
    from feddp_kmeans.audit.whole_audit import Audit


@options.takes_settings(defaults={"clusters": "2", "epsilon": 8.0})
def audit(
    settings: "Settings",
    noise: Annotated[str, typer.Option("--noise", help="auto, or gaussian for Gaussian noise on counts too.")] = "auto",
    composition: Annotated[str, typer.Option("--composition", help="tight or paper-naive.")] = "tight",
    sampling_rate: Annotated[float, typer.Option("--sampling-rate", help="Chance that a client takes part in a release.")] = 1.0,
    dimension: Annotated[int, typer.Option("--dimension", help="Number of coordinates of the made-up points.")] = 3,
    without_server: Annotated[bool, typer.Option("--without-server", help="Audit the method without server data.")] = False,
    release: Annotated[list[str] | None, typer.Option("--release", help="Attack only this release; may be given again.")] = None,
    settings_only: Annotated[bool, typer.Option("--settings-only", help="Do not audit all else that a run can reach.")] = False,
    runs: Annotated[int, typer.Option("--runs", help="Runs with the worst unit, and as many without it.")] = 1000,
    processes: Annotated[int, typer.Option("--jobs", min=1, help="Processes at the same time.")] = 2,
    seed: Annotated[int | None, typer.Option("--seed", help="Reproducible noise. (default: cryptographic noise, as in real runs)")] = None,
    folder: Annotated[Path, typer.Option("--out", help="Where audit.json and roc.svg go.")] = Path("audit"),
    as_json: options.Json = False,
) -> None:
    """Try to refute the guarantee with real runs on the worst neighbours; it can refute, never prove.

    Made-up points only; exit status 1 if the claim is refuted.

    Examples:
      feddp audit --method paper --unit client --lloyd-steps 2 --jobs 4
      feddp audit --release "closing" --runs 5000

    """
    from rich.progress import Progress

    from feddp_kmeans.audit import whole_audit
    from feddp_kmeans.audit.case import AuditCase
    from feddp_kmeans.report.result import check_folder
    from feddp_kmeans.report.roc import roc_chart

    named: dict[str, Any] = {"noise": noise, "composition": composition, "sampling_rate": sampling_rate}
    case = AuditCase(replace(settings, **named), dimension, not without_server, seed)
    check_folder(folder, force=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        shown = partial(bar.update, bar.add_task("auditing"))
        found = whole_audit.audit(case, runs=runs, names=release or (), parts=() if settings_only else None, jobs=processes, on_part=shown)
    told = found.to_dict()
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / "audit.json": json.dumps(told, indent=2) + "\n", folder / "roc.svg": roc_chart(told)}
    for path, content in files.items():
        write_whole(path, content.encode())
    if as_json:
        typer.echo(files[folder / "audit.json"], nl=False)
    else:
        _show(found)
        say("\n".join(map(str, files)))
    if found.refuted:
        raise typer.Exit(1)


def _show(found: "Audit") -> None:
    """Print what was attacked and checked, and the verdict last."""
    numbers = {name: (v.claim.epsilon, v.epsilon_if_gaussian, v.epsilon_lower_bound) for name, v in found.verdicts.items()}
    rows = [(name, *(f"{x:.2f}" for x in row), "yes" if found.verdicts[name].refuted else "no") for name, row in numbers.items()]
    _print_table(("attack on", "epsilon claimed", "at least, if Gaussian", "at least, any noise", "refuted"), rows)
    refuting = [finding for finding in found.findings if finding.refuted]
    tried, bad = (Counter(finding.check for finding in some) for some in (found.findings, refuting))
    _print_table(("what must be so", "tried", "refuted"), [(check, str(times), str(bad[check])) for check, times in tried.items()])
    settings = found.case.settings
    claim = f"epsilon {settings.epsilon:g}, delta {settings.delta:g}, one {settings.privacy_unit} there or not"
    for finding in refuting[:12]:  # all are in audit.json
        out.print(f"{finding.about}: {finding.check}? No: {finding.told}.", style="red", highlight=False, markup=False, soft_wrap=True)
    verdict = f"REFUTED: the claim of {claim} does not hold for this code." if found.refuted else f"Not refuted: {claim}."
    out.print(verdict, style="bold red" if found.refuted else "bold", highlight=False)
    said = f"Right code is refuted with a chance of {found.failure_chance:.1g}. An audit can refute a guarantee, never prove one"
    out.print(f"{said}: the proofs are in the code, next to each statistic.", highlight=False)


def _print_table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index else "left", no_wrap=not index)
    for row in rows:
        table.add_row(*map(escape, row))
    out.print(table)
