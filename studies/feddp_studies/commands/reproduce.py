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
    plugins: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="MODULE", help="A Python module that registers methods or data sets; may be repeated."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="DOCS", help="Also write tables and figures into the pages of this folder.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="List the experiments: where in the paper, how long they take, what they need.")
    ] = False,
) -> None:
    """Make the paper's figures and tables, and a page that compares them with the paper's words.

    Examples:
      feddp reproduce mixture-point --quick --jobs 2
      feddp reproduce all --jobs 2 --tables tables/ --out reproduction/ --page docs/
      feddp reproduce so-github-pdf --stackoverflow stackoverflow.sqlite

    """
    from feddp_kmeans.report.result import check_folder
    from feddp_studies.datasets.stack_overflow import make_tables
    from feddp_studies.reproduction.figures import draw
    from feddp_studies.reproduction.runner import load_plugins, run_trials

    modules = tuple(plugins or ())
    load_plugins(modules)
    if name is None or show:
        _show_experiments()
        return
    if page is not None and not (page / "reproduction.md").exists():
        raise InputError(f"--page must name the folder with reproduction.md, got {str(page)!r}.")
    if page is not None and (quick or seeds is not None):
        raise InputError("--page must be given without --quick and --seeds: pages show whole experiments.")
    check_folder(folder, force=True)
    written: list[Path] = []
    for experiment in _chosen(name, tables, stackoverflow):
        found = tables
        if stackoverflow is not None and _of_stackoverflow(experiment):
            found = make_tables(stackoverflow, folder / "tables", experiment.data_sets, embed, _say)
        with _progress(experiment.name) as on_run:
            rows = run_trials(
                experiment,
                folder,
                seeds=seeds,
                quick=quick,
                processes=processes,
                tables=found,
                plugins=modules,
                on_run=on_run,
                on_skip=_say,
            )
        written.append(folder / experiment.name / "runs.parquet")
        written += draw(experiment, rows, folder / experiment.name, quick=quick)
    for path in [*written, *_write_pages(folder, tables, page, quick=quick)]:
        out.print(str(path), highlight=False, soft_wrap=True)


def _say(line: str) -> None:
    err.print(line, highlight=False)


def _show_experiments() -> None:
    from feddp_studies.reproduction.problems import data_set
    from feddp_studies.reproduction.specs import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        files = dict.fromkeys(name for one in experiment.data_sets for name in data_set(one).files)
        needs = "stackoverflow.sqlite" if _of_stackoverflow(experiment) else ", ".join(files) or "no table"
        out.print(f"{experiment.name}: {experiment.title}", highlight=False)
        took = f", about {experiment.minutes:,} min of one core" if experiment.minutes else ""
        out.print(f"    {experiment.paper}; {len(experiment.trials()):,} runs{took}; needs {needs}", highlight=False, soft_wrap=True)
    out.print('Run one with "feddp reproduce NAME --out DIR", all with "feddp reproduce all --out DIR".', highlight=False)


def _chosen(name: str, tables: Path | None, stackoverflow: Path | None) -> Sequence["Experiment"]:
    from feddp_studies.reproduction.problems import data_set
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
        if given is None and any(data_set(one).files for one in experiment.data_sets):
            skipped.setdefault(option, []).append(experiment.name)
        else:
            chosen.append(experiment)
    for option, names in skipped.items():
        _say(f"{', '.join(names)}: skipped, {option} is not given (docs/data.md says what it is).")
    return chosen


def _of_stackoverflow(experiment: "Experiment") -> bool:
    from feddp_studies.datasets.stack_overflow import SETS

    return any(name in SETS for name in experiment.data_sets)


def _write_pages(folder: Path, tables: Path | None, page: Path | None, *, quick: bool) -> list[Path]:
    """Write the page over all experiments that the folder holds, and the blocks of the documentation if it is named."""
    from feddp_studies.reproduction.printed_pages import blocks, write_docs, write_page
    from feddp_studies.reproduction.runner import read_runs
    from feddp_studies.reproduction.specs import EXPERIMENTS

    every = list(EXPERIMENTS.values())
    runs = {one.name: rows for one in every if (rows := read_runs(one, folder, tables, whole=page is not None))}
    made = blocks(every, runs, quick=quick)
    written = write_page(folder, made)
    return written if page is None else written + write_docs(page, folder, every, made, runs)


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
