"""Marks beside an odometer: for each run that can be stopped and go on, which of its states is the latest.

They can only refuse. So they need not outlast a power cut, which costs time at every step: one that is set back by it refuses a run that
could have gone on. The state itself, and the line of the odometer, are on disk before anything is shown.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_fields, check_format, parse_json
from feddp_kmeans.errors import FedDPError

FORMAT = 1


@dataclass(frozen=True)
class Mark:
    """The latest state whose answer may have been shown, and the one that was begun after it: the same if none was.

    States are digests of what a run remembers; empty before its first step.
    """

    done: str = ""
    begun: str = ""


class Marks:
    """The marks of all runs on one odometer, in one file. Whoever uses them holds the odometer's lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, run: str) -> Mark | None:
        """Return the mark of a run; None where it has none."""
        return self._read().get(run)

    def set(self, run: str, mark: Mark) -> None:
        """Mark a run: whoever reads the marks from now on sees it, also after a kill."""
        runs = {name: asdict(found) for name, found in (self._read() | {run: mark}).items()}
        write_whole(self._path, json.dumps({"format": FORMAT, "runs": runs}, indent=1).encode(), lasting=mark == Mark())

    def _read(self) -> dict[str, Mark]:
        if not self._path.exists():
            return {}
        try:
            given: Any = parse_json(self._path.read_bytes())
            marks = {run: Mark(**row) for run, row in given["runs"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = str(error) if isinstance(error, FedDPError) else "something else is there."
            raise FedDPError(f"{self._path.name} must hold the marks of runs: {why} Without it no run that was stopped goes on.") from None
        check_format(given, FORMAT, self._path.name)
        for mark in marks.values():
            check_fields(mark, self._path.name)
        return marks
