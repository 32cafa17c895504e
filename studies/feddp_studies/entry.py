"""The commands that this distribution adds to ``feddp``: options only, the work is imported when a command runs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import err, out


def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment, or all; without it they are listed.")] = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for runs, figures and page; an interrupted run goes on from it.")] = Path(
        "reproduction"
    ),
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Runs of every setting. (default: the experiment's)")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few settings and seeds: a first look in minutes.")] = False,
    processes: Annotated[int, typer.Option("--jobs", min=1, help="Runs side by side.")] = 1,
    tables: Annotated[
        Path | None, typer.Option("--tables", envvar="FEDDP_TABLES", help="Folder with the census and Stack Exchange tables.")
    ] = None,
) -> None:
    """Make the paper's figures and tables, and a page that puts them beside the paper's words.

    Examples:
      feddp reproduce mixture-point --quick --jobs 2
      feddp reproduce all --jobs 2 --tables tables/ --out reproduction/

    """
    from feddp_studies.commands.reproduce import list_experiments, run_experiments

    if name is None:
        list_experiments(out)
        return
    for path in run_experiments(name, folder, seeds=seeds, quick=quick, processes=processes, tables=tables, console=err):
        out.print(str(path), highlight=False, soft_wrap=True)


def bench(
    folder: Annotated[Path, typer.Option("--out", help="Where bench.json and the picture go.")] = Path("bench"),
    quick: Annotated[bool, typer.Option("--quick", help="Two problems only: less than a minute.")] = False,
    as_json: options.Json = False,
) -> None:
    """Measure whole private runs on this machine: CPU seconds and memory, and how they grow with points, dimensions, clusters, clients."""
    from feddp_studies.commands.bench import run_bench, show_bench

    found, written = run_bench(folder, quick=quick, console=err)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    show_bench(found, out)
    for path in written:
        out.print(str(path), highlight=False, soft_wrap=True)
