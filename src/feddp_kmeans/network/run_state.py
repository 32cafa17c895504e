"""What a client remembers of a run, on its own disk: it may be stopped and started between any two messages.

Its odometer marks which state is the latest: one that was set back, copied or emptied answers nothing.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from feddp_kmeans._files import locked, write_whole
from feddp_kmeans._json import check_fields, parse_json
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.privacy.odometer import Odometer


@dataclass
class RunState:
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
    party: dict[str, Any] | None = None
    """The secrets of the session's secure sum."""
    received: bool = False
    """Whether the other parties' shares have come."""


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
            state = RunState(**parse_json(content))
        except OSError as error:
            raise InputError(f"{path.name} must hold the state of a run, got {error.strerror}.") from None
        except FedDPError as error:
            raise InputError(f"{path.name} must hold the state of a run: {error}") from None
        except TypeError:
            raise InputError(f"{path.name} must hold the state of a run, got other fields.") from None
        check_fields(state, path.name)
        self._odometer.check(run, _digest(content))
        return state

    def save(self, run: str, state: RunState) -> None:
        """Keep the state, on disk before this returns, for this user's eyes only."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(run)
        before = _digest(path.read_bytes()) if path.exists() else ""
        content = json.dumps({f.name: getattr(state, f.name) for f in fields(state)}).encode()
        with self._odometer.step(run, before, _digest(content)):
            write_whole(path, content, mode=0o600)

    def _path(self, run: str) -> Path:
        if not (0 < len(run) <= 64 and run.isalnum()):
            raise InputError(f"run must be a name of letters and digits, got {run!r:.80}.")
        return self._folder / f"{run}.json"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
