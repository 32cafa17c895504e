"""Output of commands: results on stdout; the log of this package, as plain lines, and a progress bar on stderr."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from rich.console import Console

from feddp_kmeans._logs import JsonLines, TimedLines, about
from feddp_kmeans.privacy.plan import Plan

_COLORS: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
"""With NO_COLOR there is no bold or italic text either: rich would leave out colors only."""
out = Console(color_system=_COLORS)
err = Console(stderr=True, color_system=_COLORS)
log = logging.getLogger(__name__)


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        err.print(self.format(record), highlight=False, markup=False, soft_wrap=True)


_LINES = _Lines()


@contextmanager
def log_shown() -> Iterator[None]:
    """Show the log of this package on stderr while the block runs."""
    package = logging.getLogger("feddp_kmeans")
    before = package.level
    package.addHandler(_LINES)
    package.setLevel(logging.INFO)
    show_log()
    try:
        yield
    finally:
        package.removeHandler(_LINES)
        package.setLevel(before)


def show_log(*, quiet: bool = False, times: bool = False, as_json: bool = False) -> None:
    """Choose how the log is shown: ``quiet`` shows warnings only, ``times`` adds the time of each line, ``as_json`` shows JSON lines."""
    _LINES.setLevel(logging.WARNING if quiet else logging.INFO)
    _LINES.setFormatter(JsonLines() if as_json else TimedLines(times=times))


def complain(why: str) -> None:
    """Print why a command ends, in one line on stderr; as a line of the log where that is shown as JSON."""
    if isinstance(_LINES.formatter, JsonLines):
        record = log.makeRecord(log.name, logging.ERROR, __file__, 0, why, (), None, extra=about("ended", reason=why))
        print(_LINES.format(record), file=sys.stderr)  # noqa: T201
    else:
        print(f"feddp: {why}", file=sys.stderr)  # noqa: T201


def say(line: str) -> None:
    """Print a line of plain text on stdout."""
    out.print(line, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def progress(plan: Plan, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show the releases as they are made: by a transient bar on a terminal, else by one line per release."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("starting", total=sum(release.most_sums for release in plan.releases))

        def on_release(name: str) -> None:
            if not err.is_terminal:
                log.info("release: %s", name)
            bar.update(task, description=name, advance=1)

        yield on_release
