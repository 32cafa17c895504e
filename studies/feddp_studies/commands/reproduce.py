"""``feddp reproduce``: the paper's figures and tables. What it needs is imported when it runs, so that ``feddp --help`` does not wait."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feddp_kmeans.cli.terminal import err, out
from feddp_kmeans.errors import InputError

if TYPE_CHECKING:
    from feddp_studies.reproduction.spec import Experiment

ALL = "all"


def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment, or all; without it they are listed.")] = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for runs, figures and page; an interrupted run goes on from it.")] = Path(
        "reproduction"
    ),
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Runs of every setting. (default: the experiment's)")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few settings and seeds: a first look in minutes.")] = False,
    processes: Annotated[int, typer.Option("--jobs", min=1, help="Number of parallel processes.")] = 1,
    tables: Annotated[
        Path | None, typer.Option("--tables", envvar="FEDDP_TABLES", help="Folder with the census and Stack Exchange tables.")
    ] = None,
    stackoverflow: Annotated[
        Path | None,
        typer.Option("--stackoverflow", envvar="FEDDP_STACKOVERFLOW", help="TensorFlow Federated's stackoverflow.sqlite, for so-..."),
    ] = None,
    embed: Annotated[
        str, typer.Option("--embed", help="module:function that takes a list of texts and gives a row for each, for so-...")
    ] = "all-MiniLM-L6-v2",
) -> None:
    """Make the paper's figures and tables, and a page that compares them with the paper's words.

    Examples:
      feddp reproduce mixture-point --quick --jobs 2
      feddp reproduce all --jobs 2 --tables tables/ --out reproduction/
      feddp reproduce so-github-pdf --stackoverflow stackoverflow.sqlite

    """
    from feddp_kmeans.report.result import check_folder
    from feddp_studies.datasets.stack_overflow import make_tables
    from feddp_studies.reproduction.figures import draw
    from feddp_studies.reproduction.runner import run_trials

    if name is None:
        _show_experiments()
        return
    check_folder(folder, force=True)
    written: list[Path] = []
    for experiment in _chosen(name, tables, stackoverflow):
        found = tables
        if stackoverflow is not None and _of_stackoverflow(experiment):
            found = make_tables(stackoverflow, folder / "tables", experiment.problems, embed, _say)
        with _progress(experiment.name) as on_run:
            rows = run_trials(experiment, folder, seeds=seeds, quick=quick, processes=processes, tables=found, on_run=on_run, on_skip=_say)
        written.append(folder / experiment.name / "runs.parquet")
        written += draw(experiment, rows, folder / experiment.name)
    for path in [*written, *_write_pages(folder)]:
        out.print(str(path), highlight=False, soft_wrap=True)


def _say(line: str) -> None:
    err.print(line, highlight=False)


def _show_experiments() -> None:
    from rich.table import Column, Table

    from feddp_studies.reproduction.specs import EXPERIMENTS

    table = Table(Column("name", min_width=max(map(len, EXPERIMENTS))), "what", "in the paper", "runs", box=None, padding=(0, 2, 0, 0))
    for experiment in EXPERIMENTS.values():
        table.add_row(experiment.name, experiment.title, experiment.paper, str(len(experiment.trials())))
    out.print(table)
    out.print('Run one with "feddp reproduce NAME --out DIR", all with "feddp reproduce all --out DIR".', highlight=False)


def _chosen(name: str, tables: Path | None, stackoverflow: Path | None) -> Sequence["Experiment"]:
    from feddp_studies.reproduction.problems import FROM_TABLES
    from feddp_studies.reproduction.specs import EXPERIMENTS

    if name != ALL and name not in EXPERIMENTS:
        raise InputError(f"experiment must be {ALL!r} or one of {list(EXPERIMENTS)}, got {name!r}.")
    if name != ALL:
        if stackoverflow is None and _of_stackoverflow(EXPERIMENTS[name]):
            raise InputError(
                f"--stackoverflow must name the file stackoverflow.sqlite for {name} (docs/data.md says how to get it), got nothing."
            )
        return [EXPERIMENTS[name]]
    chosen = []
    skipped: dict[str, list[str]] = {}
    for experiment in EXPERIMENTS.values():
        option, given = ("--stackoverflow", stackoverflow) if _of_stackoverflow(experiment) else ("--tables", tables)
        if given is None and any(problem in FROM_TABLES for problem in experiment.problems):
            skipped.setdefault(option, []).append(experiment.name)
        else:
            chosen.append(experiment)
    for option, names in skipped.items():
        _say(f"{', '.join(names)}: skipped, {option} is not given (docs/data.md says what it is).")
    return chosen


def _of_stackoverflow(experiment: "Experiment") -> bool:
    from feddp_studies.datasets.stack_overflow import SETS

    return any(problem in SETS for problem in experiment.problems)


def _write_pages(folder: Path) -> list[Path]:
    """Write the page and the claims over all experiments that the folder holds."""
    from feddp_kmeans._files import write_whole
    from feddp_studies.reproduction.results_page import claims_markdown, render_page
    from feddp_studies.reproduction.runner import read_journal
    from feddp_studies.reproduction.specs import EXPERIMENTS

    runs = {name: rows for name in EXPERIMENTS if (rows := read_journal(folder / name))}
    page, claims = folder / "index.html", folder / "claims.md"
    write_whole(page, render_page(list(EXPERIMENTS.values()), runs, folder).encode())
    write_whole(claims, claims_markdown(runs).encode())
    return [page, claims]


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal, and a line at the start and the end elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = {"first": True}
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(name)

        def on_run(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if not err.is_terminal and (shown["first"] or done == total):
                _say(f"{name}: {done} of {total} runs done")
            shown["first"] = False

        yield on_run
