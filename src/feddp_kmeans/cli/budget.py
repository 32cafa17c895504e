"""``feddp budget``: what all runs on a data set have spent together."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import out, say
from feddp_kmeans.cli.usage import missing_argument
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.privacy.accounting import check_budget
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Entry, Odometer, Total, apart, by_table, filter_for, totals

ODOMETER = ".feddp-budget.jsonl"
"""Name of the odometer file in the folder of the data."""

_SAME = 1e-6
"""Relative difference below which two totals are shown as one."""


def budget(
    places: Annotated[list[Path] | None, typer.Argument(help="Data folders or files, odometers, or run folders.")] = None,
    delta: Annotated[float, typer.Option("--delta", "--limit-delta", help="The delta at which runs are added up.")] = LIMIT_DELTA,
    different: Annotated[
        bool, typer.Option("--different-people", help="You state that nobody is in two of the tables: then their runs do not add up.")
    ] = False,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", help="A site's receipt of a run, to be shown: PATH/receipts/RUN.json.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The site's .pub file: a receipt that it did not sign is refused.")] = None,
    as_json: options.Json = False,
) -> None:
    """Show what all runs on the same data have spent together: five runs at epsilon 1 cost more than one.

    Examples:
      feddp budget clients/
      feddp budget run1/ run2/ --json
      feddp budget --receipt .feddp-runs/receipts/RUN.json --key berlin.pub

    """
    if receipt is not None:
        _show_receipt(receipt, key, as_json=as_json)
        return
    if not places:
        raise missing_argument("PLACES...")
    entries = run_entries(places)
    check_budget(1.0, delta)
    if as_json:
        typer.echo(json.dumps(budget_dict(entries, delta, different=different), indent=2))
    else:
        _show(entries, delta, different=different)


def _show_receipt(path: Path, key: Path | None, *, as_json: bool) -> None:
    """Print a site's receipt; with a key, refuse one that it did not sign."""
    from feddp_kmeans.network.receipts import check_signature, read_receipt, receipt_lines
    from feddp_kmeans.network.secure_sum.identity import load_public

    told = read_receipt(path)
    if key is not None:
        check_signature(told, load_public(key))
    if as_json:
        typer.echo(json.dumps(told, indent=2))
        return
    for line in receipt_lines(told):
        say(line)
    checked = f"The signature is valid: it was made with the key of {key.name}, and nothing was changed since." if key else ""
    say(checked or "The signature was not checked: give the site's public key with --key.")


def odometer_of(clients: options.Where, given: Path | None = None) -> Odometer:
    """Return the odometer of a data set: the given file, or the one in the folder of the data."""
    if given is not None:
        return Odometer(given)
    path = Path(clients) if isinstance(clients, str) else Path()
    if isinstance(clients, str) and path.is_dir():
        return Odometer(path / ODOMETER)
    if path.is_file():
        return Odometer(path.resolve().parent / ODOMETER)  # links to a table are the same data
    folder, *others = {_folder_of(name) for name in ([clients] if isinstance(clients, str) else clients)}
    if others:
        raise InputError(f"--odometer must be given if clients are in several folders, got {1 + len(others)} folders.")
    return Odometer(folder / ODOMETER)


def _folder_of(pattern: str) -> Path:
    """Return the folder above a file, or the one above the first sign of a pattern."""
    folder = Path(pattern).parent
    while not Path(pattern).is_file() and any(sign in str(folder) for sign in "*?["):
        folder = folder.parent
    return folder.resolve()


def table_of(clients: options.Where) -> str:
    """Return the name of the table if the clients are one file, whatever links to it are called; empty otherwise."""
    return Path(clients).resolve().name if isinstance(clients, str) and Path(clients).is_file() else ""


def run_entries(places: list[Path]) -> list[Entry]:
    """Return the runs recorded in these places: data folders or files (their odometer), odometers, or run folders (their result.json)."""
    entries: list[Entry] = []
    for place in places:
        if (place / "result.json").exists():
            entries += _entries_of_result(place)
            continue
        odometer = Odometer(place) if place.is_file() and place.name.endswith(".jsonl") else odometer_of(str(place))
        if not odometer.path.exists():
            raise InputError(f"{str(place)!r} must be a data set with past runs, an odometer or a run folder, got none of these.")
        entries += odometer.entries()
    return entries


def _show(entries: list[Entry], delta: float, *, different: bool) -> None:
    """Print every run, the totals of each table if there are several, and those of all."""
    from rich.markup import escape
    from rich.table import Table

    table = Table("run", "when", "what", "protects", "epsilon", "delta", "releases", box=None, padding=(0, 2, 0, 0))
    for e in entries:
        epsilon, made = f"{e.plan.epsilon:g}" if e.private else "NOT PRIVATE", sum(r.times for r in e.plan.releases)
        table.add_row(e.run[:8], e.when, escape(e.what), e.plan.unit.value, epsilon, f"{e.plan.delta:g}", str(made))
    out.print(table)
    if len(tables := by_table(entries)) > 1:
        for name, own in tables.items():
            shared = sum(not entry.table for entry in own)
            out.print(f"{escape(name)}{f', with {shared} runs on several or unknown tables' * bool(shared)}:", style="bold")
            for total in totals(own, delta):
                say(f"  {total}")
    head = "All runs together, since nobody is in two of these tables, as you state:" if different else "All runs together:"
    out.print(head, style="bold")
    for total in _added(entries, delta, different=different):
        say(f"  {total}")
        limited = filter_for(total.unit, entries, delta)
        if not different and limited.epsilon > total.epsilon * (1 + _SAME):
            why = "it allows for budgets that were chosen after seeing earlier results"
            say(f"  A limit counts {limited.epsilon:.4g}: {why}.")
    if len(tables) > 1 and not different:
        say("A person may be in several tables, so all runs count. If nobody is, say so: --different-people")
    if not all(e.private for e in entries):
        say("To try settings, use feddp fit --rehearse: it works on made-up points and books nothing.")


def _added(entries: list[Entry], delta: float, *, different: bool) -> list[Total]:
    return apart(entries, delta) if different else totals(entries, delta)


def budget_dict(entries: list[Entry], delta: float, *, different: bool = False) -> dict[str, Any]:
    """Return runs, totals of each table and totals of all as plain data."""

    def told(total: Total, own: list[Entry]) -> dict[str, Any]:
        return {
            "privacy_unit": total.unit.value,
            "epsilon": None if total.why_unbounded else total.epsilon,
            "delta": total.delta,
            "limit_epsilon": None if total.why_unbounded else filter_for(total.unit, own, delta).epsilon,
            "why_unbounded": total.why_unbounded,
        }

    return {
        "runs": [e.to_dict() for e in entries],
        "tables": {name: [told(total, own) for total in totals(own, delta)] for name, own in by_table(entries).items()},
        "different_people": different,
        "totals": [told(total, entries) for total in _added(entries, delta, different=different)],
    }


def _entries_of_result(folder: Path) -> list[Entry]:
    """Return the run of a folder; none for a rehearsal, which touched no data."""
    from feddp_kmeans.report.finished_run import read_result

    needed = ("privacy_unit", "epsilon", "delta", "secure")
    result = read_result(folder, (*needed, "ledger", "plan"))
    if result.get("rehearsal") is True:
        return []
    plan = result["plan"] if isinstance(result["plan"], dict) else {}
    # The whole plan counts, as on an odometer: whether a release was made can depend on the results of others.
    releases = plan.get("releases", result["ledger"])
    stated = {name: result[name] for name in needed} | {"when": result.get("when", ""), "what": str(folder), "releases": releases}
    try:
        return [Entry.from_dict(stated | {"sampling_rate": plan.get("sampling_rate")})]
    except FedDPError as error:
        raise InputError(f"{str(folder / 'result.json')!r} must be the result of a run: {error}") from None
