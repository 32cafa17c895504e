"""Runs an experiment: jobs side by side, every finished one on disk at once, so that an interrupted experiment goes on where it stopped."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans._files import write_whole
from feddp_kmeans._processes import side_by_side
from feddp_kmeans.errors import FedDPError
from feddp_studies.reproduction.execute import execute
from feddp_studies.reproduction.spec import Experiment, Job
from feddp_studies.rivals import LIBRARIES

JOURNAL = "runs.jsonl"
TABLE = "runs.parquet"


def reproduce(
    experiment: Experiment,
    out: Path,
    *,
    seeds: int | None = None,
    quick: bool = False,
    processes: int = 1,
    tables: Path | None = None,
    on_run: Callable[[int, int], None] = lambda _done, _all: None,
    on_skip: Callable[[str], None] = lambda _why: None,
) -> list[dict[str, Any]]:
    """Return the rows of all runs; make those that are not on disk yet, and write ``runs.parquet``.

    A run that another experiment in the folder has made is taken from there. ``on_run`` is told how many runs are done, and how many
    there are; ``on_skip`` why a rival whose library is not here is left out. Runs of another version of this code do not count as done.
    """
    folder = out / experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    jobs = _possible(experiment.jobs(seeds, quick=quick), on_skip)
    done = {row["key"]: row for row in read_journal(folder)}
    with (folder / JOURNAL).open("a") as journal:

        def keep(row: dict[str, Any]) -> None:
            journal.write(json.dumps(row) + "\n")
            journal.flush()
            os.fsync(journal.fileno())
            done[row["key"]] = row
            on_run(sum(repr(job.key) in done for job in jobs), len(jobs))

        elsewhere = {row["key"]: row for other in sorted(out.glob(f"*/{JOURNAL}")) for row in read_journal(other.parent)}
        for job in jobs:
            if repr(job.key) not in done and repr(job.key) in elsewhere:
                keep(elsewhere[repr(job.key)])
        missing = [job for job in jobs if repr(job.key) not in done]
        on_run(len(jobs) - len(missing), len(jobs))
        # Jobs of one data set follow one another, so that a process loads it once.
        for row in side_by_side(execute, [(job, tables, out / "optimal") for job in missing], processes):
            keep(row)
    rows = [done[repr(job.key)] for job in jobs]
    write_table(folder / TABLE, rows)
    return rows


def _possible(jobs: list[Job], on_skip: Callable[[str], None]) -> list[Job]:
    """Return the jobs whose rivals can run here."""
    absent = set()
    for name in sorted({job.config.method for job in jobs} & set(LIBRARIES)):
        try:
            LIBRARIES[name]()
        except FedDPError as error:
            absent.add(name)
            on_skip(f"{name}: left out. {error}")
    return [job for job in jobs if job.config.method not in absent]


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """Return the finished runs of this version; a line cut short by a crash is no run, and is removed."""
    from feddp_kmeans import __version__

    path = folder / JOURNAL
    lines = path.read_text().splitlines() if path.exists() else []
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    if len(rows) < len(lines) or (lines and not path.read_text().endswith("\n")):
        write_whole(path, "".join(json.dumps(row) + "\n" for row in rows).encode())
    return [row for row in rows if row["version"] == __version__]


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the rows as a Parquet file."""
    names = sorted({name for row in rows for name in row if name != "key"})
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    note = {"note": "cost and optimal_cost are computed from all client points: NON-PRIVATE"}
    pq.write_table(table.replace_schema_metadata(note), sink)
    write_whole(path, sink.getvalue().to_pybytes())
