"""``feddp budget``: what all runs on a data set have spent together."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import out
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.privacy.accounting import check_budget
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Entry, Odometer, filter_for, totals

ODOMETER = ".feddp-budget.jsonl"
"""Name of the odometer file in the folder of the data."""

_SAME = 1e-6
"""Relative difference below which two totals are shown as one."""


def budget(
    places: Annotated[list[Path], typer.Argument(help="Data folders or files, odometers, or run folders.")],
    delta: Annotated[float, typer.Option("--delta", "--limit-delta", help="The delta at which runs are added up.")] = LIMIT_DELTA,
    as_json: options.Json = False,
) -> None:
    """Show what all runs on the same data have spent together: five runs at epsilon 1 cost more than one.

    Examples:
      feddp budget clients/
      feddp budget run1/ run2/ --json

    """
    entries = run_entries(places)
    check_budget(1.0, delta)
    if as_json:
        typer.echo(json.dumps(budget_dict(entries, delta), indent=2))
    else:
        _show(entries, delta)


def odometer_of(clients: str, given: Path | None = None) -> Odometer:
    """Return the odometer of a data set: the given file, or the one in the folder of the data."""
    if given is not None:
        return Odometer(given)
    path = Path(clients)
    if path.is_dir():
        return Odometer(path / ODOMETER)
    folder = path.resolve().parent if path.is_file() else path.parent  # links to a table are the same data
    while not path.is_file() and any(sign in str(folder) for sign in "*?["):
        folder = folder.parent
    return Odometer(folder / ODOMETER)


def run_entries(places: list[Path]) -> list[Entry]:
    """Return the runs recorded in these places: data folders or files (their odometer), odometers, or run folders (their result.json)."""
    entries: list[Entry] = []
    for place in places:
        if (place / "result.json").exists():
            entries.append(_entry_of_result(place))
            continue
        odometer = Odometer(place) if place.is_file() and place.name.endswith(".jsonl") else odometer_of(str(place))
        if not odometer.path.exists():
            raise InputError(f"{str(place)!r} must be a data set with past runs, an odometer or a run folder, got none of these.")
        entries += odometer.entries()
    return entries


def _show(entries: list[Entry], delta: float) -> None:
    """Print every run, and the totals."""
    from rich.table import Table

    table = Table("run", "when", "what", "protects", "epsilon", "delta", "releases", box=None, padding=(0, 2, 0, 0))
    for e in entries:
        epsilon, made = f"{e.plan.epsilon:g}" if e.private else "NOT PRIVATE", sum(r.times for r in e.plan.releases)
        table.add_row(e.run[:8], e.when, e.what, e.plan.unit.value, epsilon, f"{e.plan.delta:g}", str(made))
    out.print(table)
    out.print("All runs together:", style="bold")
    for total in totals(entries, delta):
        out.print(f"  {total}", highlight=False)
        limited = filter_for(total.unit, entries, delta)
        if limited.epsilon > total.epsilon * (1 + _SAME):
            why = "it allows for budgets that were chosen after seeing earlier results"
            out.print(f"  A limit counts {limited.epsilon:.4g}: {why}.", highlight=False)


def budget_dict(entries: list[Entry], delta: float) -> dict[str, Any]:
    """Return runs and totals as plain data."""
    made = [
        {
            "privacy_unit": t.unit.value,
            "epsilon": None if t.why_unbounded else t.epsilon,
            "delta": t.delta,
            "limit_epsilon": None if t.why_unbounded else filter_for(t.unit, entries, delta).epsilon,
            "why_unbounded": t.why_unbounded,
        }
        for t in totals(entries, delta)
    ]
    return {"runs": [e.to_dict() for e in entries], "totals": made}


def _entry_of_result(folder: Path) -> Entry:
    from feddp_kmeans.report.finished_run import read_result

    needed = ("privacy_unit", "epsilon", "delta", "secure")
    result = read_result(folder, (*needed, "ledger", "plan"))
    plan = result["plan"] if isinstance(result["plan"], dict) else {}
    # The whole plan counts, as on an odometer: whether a release was made can depend on the results of others.
    releases = plan.get("releases", result["ledger"])
    stated = {name: result[name] for name in needed} | {"when": result.get("when", ""), "what": str(folder), "releases": releases}
    try:
        return Entry.from_dict(stated | {"sampling_rate": plan.get("sampling_rate")})
    except FedDPError as error:
        raise InputError(f"{str(folder / 'result.json')!r} must be the result of a run: {error}") from None
