"""``feddp report``: the page for an existing result."""

from pathlib import Path
from typing import Annotated

import typer

from feddp_kmeans._files import write_whole
from feddp_kmeans.cli.terminal import say
from feddp_kmeans.errors import FedDPError, InputError, kind_and_place


def report(
    made: Annotated[Path, typer.Argument(metavar="RUN", help="A folder with a result.json, or that file.")],
    file: Annotated[Path | None, typer.Option("--out", help="Where the page goes. (default: report.html next to the result)")] = None,
) -> None:
    """Write the report page of a result again, for people who do not read JSON."""
    say(str(write_report(made, file)))


def write_report(run: Path, out: Path | None) -> Path:
    """Return the path of the page written for ``run``, which is a folder with a result.json or that file."""
    from feddp_kmeans.report.about import read_about
    from feddp_kmeans.report.finished_run import read_result
    from feddp_kmeans.report.page import render_page

    target = out or (run if run.is_dir() else run.parent) / "report.html"
    if target.is_dir() or not target.parent.is_dir():
        raise InputError(f"--out must be a file in a folder that exists, got {str(target)!r}.")
    result = read_result(run)
    try:
        page = render_page(result, read_about(run if run.is_dir() else run.parent, result))
    except FedDPError as error:
        raise InputError(f"{str(run)!r} must hold a result as feddp fit writes it: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise InputError(f"{str(run)!r} must hold a result as feddp fit writes it, got one with {kind_and_place(error)}.") from None
    write_whole(target, page.encode(errors="replace"))
    return target
