"""Marks next to an odometer: for each run that can be stopped and go on, which of its states is the latest.

A step does not wait for its mark to be on disk (5 ms, not 13). A power cut may set a mark back, which refuses a run that could have gone
on; it lets nothing through unless an old copy of the state comes back too. The state itself, and the odometer's line, are on disk before
anything is shown.
"""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_format, field_of, parse_json
from feddp_kmeans.errors import FedDPError, InputError

FORMAT = 1


@dataclass(frozen=True)
class Mark:
    """The latest state whose answer may have been shown, and the one that was begun after it: the same if none was.

    States are digests of what a run remembers; empty before its first step.
    """

    done: str = ""
    begun: str = ""


class Marks:
    """The marks of all runs on one odometer, in one file. Used only while the odometer's lock is held."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, run: str) -> Mark | None:
        """Return the mark of a run; None where it has none."""
        row, name = self._rows.get(run), self._path.name
        return None if row is None else Mark(field_of(row, "done", str, name), field_of(row, "begun", str, name))

    def set(self, run: str, mark: Mark) -> None:
        """Mark a run. The mark survives a kill of this process."""
        self._rows[run] = asdict(mark)
        write_whole(self._path, json.dumps({"format": FORMAT, "runs": self._rows}).encode(), lasting=mark == Mark())

    @cached_property
    def _rows(self) -> dict[str, Any]:
        if not self._path.exists():
            return {}
        try:
            given = parse_json(self._path.read_bytes())
        except FedDPError as error:
            raise InputError(f"{self._path.name} must hold the marks of runs: {error} Without it no stopped run goes on.") from None
        rows: dict[str, Any] = field_of(given, "runs", dict, self._path.name)
        check_format(given, FORMAT, self._path.name)
        return rows
