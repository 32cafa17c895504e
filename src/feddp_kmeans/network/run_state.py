"""What a client remembers of a run, on its own disk: it may be stopped and started between any two messages.

Its odometer marks which state is the latest: one that was set back, copied, changed or emptied answers nothing.
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

FORMAT = 2
"""Of a state's file. Format 1, without a number, did not always say who the parties of a run are: such a run cannot go on."""


@dataclass
class RunState(Plain):
    """One run that this client agreed to."""

    terms: dict[str, Any]
    digest: str
    session: str = ""
    """The session under way: a server that starts again opens a new one."""
    sessions: list[str] = field(default_factory=list)
    turn: int = -1
    """Number of the latest request of the session: a request is answered once."""
    queries: dict[str, str] = field(default_factory=dict)
    """For each release that was asked for, the digest of the query: it may not change."""
    opened: list[str] = field(default_factory=list)
    """Releases that this client helped to unmask: it helps once for each."""
    answer: dict[str, Any] = field(default_factory=dict)
    """Its latest help, and with what: asked for the very same again, it says the very same again."""
    parties: list[str] = field(default_factory=list)
    """Who was there when this client first shared its keys: later sessions of the run may have fewer of them and no others."""
    rounds: dict[str, str] = field(default_factory=dict)
    """For each round of the session, the release that it is for."""
    party: Party | None = None
    """The secrets of the session's secure sum."""
    received: bool = False
    """Whether the other parties' shares have come."""

    @property
    def own_party(self) -> Party:
        """Return this client's part in the session's secure sum."""
        if self.party is None:
            raise BudgetError("a session must be open before anything is asked for.")
        return self.party


class RunStates:
    """All runs of a client, a file each."""

    def __init__(self, folder: Path, odometer: Odometer) -> None:
        self._folder = folder
        self._odometer = odometer

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let no other process answer for this client meanwhile: each would act on what it knew before the other did."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._folder):
            yield

    def load(self, run: str) -> RunState | None:
        """Return what is known of a run; None where nothing is. Refuse what is not the latest that was known."""
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
        """Keep the state, on disk before this returns, for this user's eyes only. The folder must be locked."""
        path = self._path(run)
        before = _digest(path.read_bytes()) if path.exists() else ""
        content = json.dumps({"format": FORMAT} | state.to_dict()).encode()
        with self._odometer.step(run, before, _digest(content)):
            write_whole(path, content, mode=0o600)

    def _path(self, run: str) -> Path:
        if not (0 < len(run) <= 64 and run.isalnum()):
            raise InputError(f"run must be a name of letters and digits, got {run!r:.80}.")
        return self._folder / f"{run}.json"


def _read(content: bytes, name: str) -> RunState:
    given = parsed(dict[str, Any], parse_json(content), name)
    check_format(given, FORMAT, name)
    if (stated := given.pop("format", 1)) < FORMAT:
        raise InputError(f"format of {name} must be {FORMAT}, got {stated}: an older feddp began this run, and it cannot go on.")
    return RunState.from_dict(given)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
