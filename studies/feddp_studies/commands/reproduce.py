"""``feddp reproduce``: the paper's figures and tables."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report.result import check_folder
from feddp_studies.reproduction.figures import draw
from feddp_studies.reproduction.problems import FROM_TABLES
from feddp_studies.reproduction.results_page import claims_markdown, render_page
from feddp_studies.reproduction.runner import read_journal, reproduce
from feddp_studies.reproduction.spec import Experiment
from feddp_studies.reproduction.specs import EXPERIMENTS

ALL = "all"


def list_experiments(console: Console) -> None:
    """Print what can be reproduced."""
    table = Table("name", "what", "in the paper", "runs", box=None, padding=(0, 2, 0, 0))
    for experiment in EXPERIMENTS.values():
        table.add_row(experiment.name, experiment.title, experiment.paper, str(len(experiment.jobs())))
    console.print(table)
    console.print('Run one with "feddp reproduce NAME --out DIR", all with "feddp reproduce all --out DIR".', highlight=False)


def run_experiments(
    name: str, out: Path, *, seeds: int | None, quick: bool, processes: int, tables: Path | None, console: Console
) -> list[Path]:
    """Run one experiment, or all; draw the figures, and write the page over everything in the folder. Return the files written."""
    check_folder(out, force=True)
    chosen = _chosen(name, tables, console)
    written: list[Path] = []
    for experiment in chosen:
        with _progress(console, experiment.name) as on_run:
            rows = reproduce(
                experiment,
                out,
                seeds=seeds,
                quick=quick,
                processes=processes,
                tables=tables,
                on_run=on_run,
                on_skip=lambda why: console.print(why, highlight=False),
            )
        written.append(out / experiment.name / "runs.parquet")
        written += draw(experiment, rows, out / experiment.name)
    return [*written, *write_pages(out)]


def write_pages(out: Path) -> list[Path]:
    """Write the page and the claims over all experiments that the folder holds."""
    runs = {name: rows for name in EXPERIMENTS if (rows := read_journal(out / name))}
    page, claims = out / "index.html", out / "claims.md"
    write_whole(page, render_page(list(EXPERIMENTS.values()), runs, out).encode())
    write_whole(claims, claims_markdown(runs).encode())
    return [page, claims]


def _chosen(name: str, tables: Path | None, console: Console) -> Sequence[Experiment]:
    if name != ALL and name not in EXPERIMENTS:
        raise FedDPError(f"experiment must be {ALL!r} or one of {list(EXPERIMENTS)}, got {name!r}.")
    if name != ALL:
        return [EXPERIMENTS[name]]
    chosen = []
    for experiment in EXPERIMENTS.values():
        if tables is None and any(problem in FROM_TABLES for problem in experiment.problems):
            console.print(f"{experiment.name}: skipped, it needs --tables (docs/data.md says which).", highlight=False)
        else:
            chosen.append(experiment)
    return chosen


class _progress:  # noqa: N801 - a context manager, used like a function
    """A bar on a terminal, and a line at the start and the end elsewhere."""

    def __init__(self, console: Console, name: str) -> None:
        columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._console, self._name = console, name

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        task = self._bar.add_task(self._name)
        told = {"first": True}

        def on_run(done: int, total: int) -> None:
            self._bar.update(task, completed=done, total=total)
            if not self._console.is_terminal and (told["first"] or done == total):
                self._console.print(f"{self._name}: {done} of {total} runs done", highlight=False)
            told["first"] = False

        return on_run

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
