"""A file with the sum that sites are about to open: a server that is killed meanwhile asks them again and loses nothing.

It is on disk before any site is asked to open the sum. It holds the sum under the masks, and is removed once the release is on record.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._files import write_whole
from feddp_kmeans._typing import Array
from feddp_kmeans.errors import BudgetError, FedDPError, InputError
from feddp_kmeans.network.protocol import label_of, query_bytes
from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.wire import Envelope, pack, unpack


@dataclass(frozen=True)
class Pending:
    """A sum that is ready to be opened."""

    aggregator: Aggregator
    masked: Array
    """The sum of what the survivors sent."""
    request: bytes
    """The unmask request to the survivors. If the same bytes are sent again, the sites give the same answer."""


class Journal:
    """The file with the pending sum of a run. Without a path nothing is kept."""

    def __init__(self, path: Path | None, run: str) -> None:
        self._path = path
        self._run = run

    def write(self, query: Mapping[str, Any], pending: Pending) -> None:
        """Write the sum to disk before this returns."""
        if self._path is None:
            return
        about = {"run": self._run, "label": label_of(query), "query": query_bytes(query)}
        content = pack("pending", **about, aggregator=pending.aggregator.to_dict(), masked=pending.masked, request=pending.request)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._path, content, mode=0o600)

    def read(self, query: Mapping[str, Any]) -> Pending | None:
        """Return the pending sum of this query, or None if there is none."""
        kept = self._kept(label_of(query))
        if kept is None:
            return None
        if kept.get("query", bytes) != query_bytes(query):
            raise BudgetError(f"release {label_of(query)!r} must stay the query that sites were asked to open, got another query.")
        aggregator = Aggregator.from_dict(kept.get("aggregator", dict))
        return Pending(aggregator, kept.get("masked", np.ndarray).astype(np.uint64, copy=False), kept.get("request", bytes))

    def forget(self, label: str) -> None:
        """Remove the file if it holds the release of this label."""
        if self._path is not None and self._kept(label) is not None:
            self._path.unlink()

    def _kept(self, label: str) -> Envelope | None:
        if self._path is None or not self._path.exists():
            return None
        try:
            kept = unpack(self._path.read_bytes())
        except (OSError, FedDPError) as error:
            raise InputError(f"{self._path.name} must hold the sum that a server was about to open: {error}") from None
        return kept if kept.kind == "pending" and (kept.get("run", str), kept.get("label", str)) == (self._run, label) else None
