"""How many rows of files are not whole, told to their holder: one line for each reason, however many files there are."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILLED = "they are used where the run looks at each column (release: columns), which tells what to fill in, and left out elsewhere"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RowCounts:
    """How many rows a file has, and which of them are not whole. It depends on private data: for the data holder only."""

    total: int
    lost: int
    """Rows that do not parse."""
    gaps: int
    """Rows with a cell that is missing or not a number."""
    usable: int
    """Rows that add something to a sum."""
    may_fill: bool
    """Whether a run may fill in what is missing."""
    often: str
    """The column where most cells are missing."""
    strange: str = ""
    """The encoding, if some cells are not text in it."""


def log_counts(files: Mapping[Path, RowCounts]) -> None:
    """Log which rows of these files are not whole."""
    _log(files, {path: each.lost for path, each in files.items()}, "do not parse", "they are left out")
    gaps = {path: each.gaps for path, each in files.items()}
    fate = FILLED if any(each.may_fill for each in files.values()) else "they are left out"
    often = {each.often for each in files.values() if 2 * each.gaps > each.total - each.lost}
    if often:
        fate += f". Cells are missing most often in {min(often)!r:.80}: --ignore keeps rows by leaving out a column"
    _log(files, gaps, "have a cell that is missing or not a number", fate)
    strange = {path: each.strange for path, each in files.items() if each.strange}
    if strange:
        log_not_text(_named(files, strange), next(iter(strange.values())))


def log_not_text(name: str, encoding: str | None) -> None:
    """Log that some cells of a text file are not text in its encoding."""
    told = "%s: some cells hold bytes that are not %s text; --encoding names another, such as cp1252."
    log.warning(told, name, encoding or "UTF-8")


def _log(files: Mapping[Path, RowCounts], rows: Mapping[Path, int], what: str, fate: str) -> None:
    found = {path: number for path, number in rows.items() if number}
    if not found:
        return
    most = max(found, key=lambda path: found[path])
    worst = f" (most in {most.name}, {found[most]:,} of {files[most].total:,})" * (len(found) > 1)
    total = sum(files[path].total for path in found)
    log.warning("%s: %s of %s rows %s%s; %s.", _named(files, found), f"{sum(found.values()):,}", f"{total:,}", what, worst, fate)


def _named(files: Mapping[Path, RowCounts], some: Mapping[Path, object]) -> str:
    return next(iter(some)).name if len(some) == 1 else f"{len(some):,} of {len(files):,} files"
