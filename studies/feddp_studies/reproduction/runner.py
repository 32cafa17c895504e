"""Run an experiment: trials in parallel, each written to disk as soon as it is finished, so that an interrupted experiment can go on."""

import importlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans._files import write_whole
from feddp_kmeans._processes import side_by_side
from feddp_kmeans.errors import FedDPError, InputError
from feddp_studies.reproduction.execute import execute, provenance
from feddp_studies.reproduction.methods import METHODS
from feddp_studies.reproduction.problems import DATA_SETS, data_set
from feddp_studies.reproduction.spec import Experiment, Trial
from feddp_studies.rivals import LIBRARIES

JOURNAL = "runs.jsonl"
TABLE = "runs.parquet"

Row = dict[str, Any]


def run_trials(
    experiment: Experiment,
    out: Path,
    *,
    seeds: int | None = None,
    quick: bool = False,
    processes: int = 1,
    tables: Path | None = None,
    plugins: Sequence[str] = (),
    on_run: Callable[[int, int], None] = lambda _done, _all: None,
    on_skip: Callable[[str], None] = lambda _why: None,
) -> list[Row]:
    """Return the rows of all runs; make those that are not on disk yet, and write ``runs.parquet``.

    A run that another experiment in the folder has made is taken from there. Rows that other code has made, or other data, do not count
    as done. ``on_run`` gets how many runs are done, and how many there are; ``on_skip`` why a rival whose library is not here is left out.
    """
    folder = out / experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    trials = _possible(experiment.trials(seeds, quick=quick), on_skip)
    done = {row["key"]: row for row in read_journal(folder, tables)}
    if not (folder / JOURNAL).exists():
        write_whole(folder / JOURNAL, _lines(done.values()))
    with (folder / JOURNAL).open("a") as journal:

        def keep(row: Row) -> None:
            journal.write(json.dumps(row) + "\n")
            journal.flush()
            os.fsync(journal.fileno())
            done[row["key"]] = row
            on_run(sum(trial.key in done for trial in trials), len(trials))

        elsewhere = {row["key"]: row for other in sorted(out.glob("*/")) for row in read_journal(other, tables)}
        for trial in trials:
            if trial.key not in done and trial.key in elsewhere:
                keep(elsewhere[trial.key])
        missing = [trial for trial in trials if trial.key not in done]
        on_run(len(trials) - len(missing), len(trials))
        # Trials of one data set follow one another, so that a process loads it once.
        for row in side_by_side(_executed, [(tuple(plugins), trial, tables, out / "optimal") for trial in missing], processes):
            keep(row)
    rows = [done[trial.key] for trial in trials]
    write_table(folder / TABLE, rows)
    return rows


def load_plugins(modules: Iterable[str]) -> None:
    """Import the modules that register methods or data sets."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise InputError(f"--with must name a module that Python finds (is its folder on PYTHONPATH?), got {name!r}.") from None


def _executed(plugins: Sequence[str], trial: Trial, tables: Path | None, optima: Path) -> Row:
    load_plugins(plugins)
    return execute(trial, tables, optima)


def _possible(trials: list[Trial], on_skip: Callable[[str], None]) -> list[Trial]:
    """Return the trials whose rivals can run here."""
    absent = set()
    for name in sorted({trial.config.method for trial in trials} & set(LIBRARIES)):
        try:
            LIBRARIES[name]()
        except FedDPError as error:
            absent.add(name)
            on_skip(f"{name}: left out. {error}")
    return [trial for trial in trials if trial.config.method not in absent]


def read_journal(folder: Path, tables: Path | None = None) -> list[Row]:
    """Return the finished runs that this code would make the same; a line cut short by a crash is no run, and is removed.

    Files that data are read from are compared if they are at hand. Without a journal the table counts: a folder that was handed on.
    """
    path = folder / JOURNAL
    if not path.exists() and (folder / TABLE).exists():
        return [row for row in pq.read_table(folder / TABLE).to_pylist() if _is_current(row, tables)]
    lines = path.read_text().splitlines() if path.exists() else []
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    if len(rows) < len(lines) or (lines and not path.read_text().endswith("\n")):
        write_whole(path, _lines(rows))
    return [row for row in rows if _is_current(row, tables)]


def _lines(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def read_runs(experiment: Experiment, out: Path, tables: Path | None, *, whole: bool) -> list[Row]:
    """Return the runs of an experiment that was finished in the folder and is current; if ``whole``, with all of its spec."""
    if not whole:
        path = out / experiment.name / TABLE
        rows = pq.read_table(path).to_pylist() if path.exists() else []
        return rows if all(_is_current(row, tables) for row in rows) else []
    found = {row["key"]: row for row in read_journal(out / experiment.name, tables)}
    trials = _possible(experiment.trials(), lambda _: None)
    return [found[trial.key] for trial in trials] if all(trial.key in found for trial in trials) else []


def _is_current(row: Row, tables: Path | None) -> bool:
    if row.get("method") not in METHODS or row.get("dataset") not in DATA_SETS or "code" not in row:
        return False
    now = provenance(row["method"], row["measures"], data_set(row["dataset"]), tables)
    return bool(row["code"] == now["code"] and now["data"] in ("", row["data"]))


def write_table(path: Path, rows: list[Row]) -> None:
    """Write the rows as a Parquet file."""
    names = sorted({name for row in rows for name in row})
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    note = {"note": "cost and optimal_cost are computed from all client points: NON-PRIVATE"}
    pq.write_table(table.replace_schema_metadata(note), sink)
    write_whole(path, sink.getvalue().to_pybytes())
