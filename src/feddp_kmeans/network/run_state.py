"""The state of a run at a client, kept on its own disk: the client may be restarted between any two messages.

Marks next to the odometer say which state is the latest. A state that was restored from a backup, copied, changed or emptied is refused.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feddp_kmeans._files import locked, write_whole
from feddp_kmeans._json import check_format, parse_json
from feddp_kmeans.errors import BudgetError, FedDPError, InputError
from feddp_kmeans.network.secure_sum.fields import Plain, parsed
from feddp_kmeans.network.secure_sum.party import Party
from feddp_kmeans.privacy.odometer import Odometer

FORMAT = 4
"""Format of a state file. A run whose state has an earlier one cannot go on."""


@dataclass(frozen=True)
class AskedSum(Plain):
    """A sum that was asked for: the releases of the plan that it is, and its query."""

    release: str
    number: int
    times: int
    statistic: str
    digest: str
    """Of the query: release, statistic and public arguments."""

    @property
    def label(self) -> str:
        """Return the label of the first of its releases."""
        return f"{self.release} {self.number}"

    def meets(self, other: "AskedSum") -> bool:
        """Return whether a release of the plan is in both."""
        return self.release == other.release and self.number < other.number + other.times and other.number < self.number + self.times


@dataclass
class RunState(Plain):
    """One run that this client agreed to."""

    terms: dict[str, Any]
    digest: str
    agreed: str = ""
    """When this client agreed to it."""
    session: str = ""
    """The current session. A server that is restarted opens a new one."""
    sessions: list[str] = field(default_factory=list)
    turn: int = -1
    """Number of the latest request of the session: each request is answered once."""
    sums: list[AskedSum] = field(default_factory=list)
    """The sums that were asked for, which must not change."""
    opened: list[str] = field(default_factory=list)
    """Releases that this client helped to unmask: it helps only once for each."""
    answer: dict[str, Any] = field(default_factory=dict)
    """The latest unmask request and its answer: the same request again gets the same answer."""
    parties: list[str] = field(default_factory=list)
    """The parties with which this client first shared keys: later sessions of the run may have fewer of them, but no others."""
    rounds: dict[str, str] = field(default_factory=dict)
    """For each round of the session, the label of its release."""
    party: Party | None = None
    """The secrets of the session's secure sum."""
    received: bool = False
    """Whether the other parties' shares have come."""

    @property
    def own_party(self) -> Party:
        """Return this client's party of the session's secure sum."""
        if self.party is None:
            raise BudgetError("a session must be open before any request, got none.")
        return self.party


class RunStates:
    """All runs of a client, one file per run."""

    def __init__(self, folder: Path, odometer: Odometer) -> None:
        self._folder = folder
        self._odometer = odometer

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from answering for this client while the block runs."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._folder):
            yield

    def load(self, run: str) -> RunState | None:
        """Return the state of a run, or None if there is none; refuse a state that is not the latest."""
        path = self._path(run)
        if not path.exists():
            return None
        try:
            content = path.read_bytes()
            state = _read(content, path.name)
        except OSError as error:
            raise InputError(f"{path.name} must hold the state of a run, got {error.strerror}.") from None
        except FedDPError as error:
            raise InputError(f"{path.name} must hold the state of a run: {error}") from None
        self._odometer.check(run, _digest(content))
        return state

    def save(self, run: str, state: RunState) -> None:
        """Write the state to disk before this returns, readable by this user only. The folder must be locked."""
        path = self._path(run)
        before = _digest(path.read_bytes()) if path.exists() else ""
        content = json.dumps({"format": FORMAT} | state.to_dict()).encode()
        with self._odometer.step(run, before, _digest(content)):
            write_whole(path, content, mode=0o600)

    def _path(self, run: str) -> Path:
        if not (0 < len(run) <= 64 and run.isalnum()):
            raise InputError(f"run must be 1 to 64 letters and digits, got {run!r:.80}.")
        return self._folder / f"{run}.json"


def _read(content: bytes, name: str) -> RunState:
    given = parsed(dict[str, Any], parse_json(content), name)
    check_format(given, FORMAT, name)
    if (stated := given.pop("format", 1)) < FORMAT:
        raise InputError(f"format of {name} must be {FORMAT}, got {stated}: an older feddp began this run. Start a new one.")
    return RunState.from_dict(given)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
