"""``--from``: a run that goes on from a finished one, whose clusters keep their numbers and names."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feddp_kmeans.algorithm.last_run import LastRun
from feddp_kmeans.errors import InputError
from feddp_kmeans.report.about import WORDS, read_told
from feddp_kmeans.report.changes import changes_since
from feddp_kmeans.report.finished_run import read_last
from feddp_kmeans.tables.inputs import LikeBefore
from feddp_kmeans.tables.schema import Schema


@dataclass(frozen=True)
class Start:
    """The run that another goes on from."""

    folder: Path
    last: LastRun
    result: dict[str, Any]
    like: LikeBefore
    new_people: bool

    @classmethod
    def read(cls, folder: Path | None, client_column: str | None = None, *, new_people: bool = False) -> "Start | None":
        """Return the run in this folder; None if no folder is given."""
        if folder is None:
            if new_people:
                raise InputError("--new-people must be given together with --from: it is about the people of that run.")
            return None
        last, result = read_last(folder)
        if result.get("rehearsal"):
            raise InputError(f"--from must be a run on the clients' data, got a rehearsal, {str(folder)!r}.")
        left_out = tuple(str(row["name"]) for row in result.get("left_out") or () if row["name"] != client_column)
        schema = None if result.get("schema") is None else Schema.from_dict(result["schema"])
        return cls(folder, last, result, LikeBefore(tuple(result["columns"]), schema, left_out), new_people)

    def told(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return the result with what changed, and with the names of the clusters that are still there."""
        changes = changes_since(self.result, result)
        states = [cluster["state"] for cluster in changes["clusters"]]
        names = [None if state == "new" else name for name, state in zip(self.names, states, strict=True)]
        return result | {"changes": changes | {"new_people": self.new_people}, "names": names if any(names) else None}

    @property
    def names(self) -> list[str | None]:
        """Return the names of the clusters: those that feddp words found for the earlier run, or those that it had itself."""
        kept = self.result.get("names")
        told = read_told(self.folder / WORDS, self.result)
        with suppress(KeyError, TypeError):
            kept = kept if told is None else [cluster["name"] for cluster in told["clusters"]]
        names = [name if isinstance(name, str) else None for name in kept] if isinstance(kept, list) else []
        return names if len(names) == self.last.k else [None] * self.last.k
