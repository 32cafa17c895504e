"""A federation whose releases are kept on disk: a run that stops goes on later without paying for any of them again.

The server's computations are repeated from their start with the releases that are there; from the first that is not, the federation is
asked. A release is on disk, and marked on the odometer, before anything sees it. So one that was begun and did not get there was seen by
nobody and is made again; one that was kept and has gone is not, and neither does a copy of the record go on that is not the latest.
"""

import hashlib
import io
import json
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from feddp_kmeans._files import locked, npy_bytes, write_whole
from feddp_kmeans._json import check_format, parse_json
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import BudgetError, FedDPError, InputError
from feddp_kmeans.federation.adder import Adder, Asked
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan

RECORD = "releases.json"

FORMAT = 2
"""Of the record. That of 0.1 is of format 1: it has no run id, so it cannot go on."""


class RecordedFederation(Federation):
    """Another federation whose releases are kept in a folder. ``run`` is the id of a run that begins there (default: random)."""

    def __init__(self, inner: Federation, folder: Path, run: str | None = None) -> None:
        self._inner = inner
        self._folder = folder
        self.run_id = run or inner.run_id

    @property
    def trust(self) -> str:  # type: ignore[override]
        """Return who is trusted with what."""
        return self._inner.trust

    @property
    def n_clients(self) -> int:
        """Return the number of clients."""
        return self._inner.n_clients

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return self._inner.dimension

    @property
    def books(self) -> Books | None:
        """Return where runs on the data of the other federation are written down."""
        return self._inner.books

    @books.setter
    def books(self, books: Books | None) -> None:
        self._inner.books = books

    def _adder(self, run: Run) -> Adder:
        """Begin a run in the folder, or go on with the one that the folder holds: its plan must be this one."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with locked(self._folder):
                return self._begun(run)
        except OSError as error:
            raise InputError(f"releases must be kept in a folder that can be written, got {error}.") from None

    def _begun(self, run: Run) -> "RecordingAdder":
        """Write a record without releases and then book the run; or go on with the run of the record, which must be booked.

        In this order nothing is booked that cannot go on: killed in between, the run is booked when it goes on.
        """
        record = read_record(self._folder)
        is_new = not record
        if is_new:
            if any(self._folder.glob("*.npy")):
                raise InputError(f"releases in {self._folder.name!r} must have their record beside them, {RECORD}; it is gone.")
            record = {"format": FORMAT, "run": run.id, "plan": plan_digest(run.plan), "seed": run.seed}
            record |= {"server_seed": run.server_seed, "releases": {}}
        elif record["plan"] != plan_digest(run.plan) or record["seed"] != run.seed:
            raise BudgetError(f"the releases in {self._folder.name!r} must be of this very plan and seed; they are of another run.")
        run.go_on(record["run"], record["server_seed"])
        adder = RecordingAdder(self._inner._adder(run), self._folder, run)  # noqa: SLF001 - a federation's hook, asked by another federation
        if is_new:
            _write(self._folder, record)
        try:
            run.book(_state(record))
        except FedDPError:
            if is_new:
                (self._folder / RECORD).unlink(missing_ok=True)
            raise
        return adder


class RecordingAdder(Adder):
    """Answers a run with the releases on record, and with those of another adder, which it keeps."""

    def __init__(self, inner: Adder, folder: Path, run: Run) -> None:
        self._inner = inner
        self._folder = folder
        self._run = run

    def noisy_sum(self, asked: Asked) -> FloatArray:
        """Return the release on record, or make it and keep it."""
        with locked(self._folder):
            return self._kept_or_made(asked)

    def _kept_or_made(self, asked: Asked) -> FloatArray:
        record = self._record()
        label, digest = asked.label, asked.query.digest
        before, kept = _state(record), record["releases"].get(label)
        path = self._folder / f"{_digest(f'{label} {digest}'.encode())[:16]}.npy"
        if kept is not None and kept["query"] != digest:
            raise BudgetError(f"release {label!r} must answer the same query as the one on record; it does not.")
        if kept is not None and not path.exists():
            raise BudgetError(f"release {label!r} was made before and its result was lost; making it again would spend the budget twice.")
        values = _load(path, None if kept is None else kept["kept"], asked.release) if path.exists() else self._inner.noisy_sum(asked)
        if kept is None:
            content = npy_bytes(values)
            record["releases"][label] = {"query": digest, "kept": _digest(content)}
            with self._step(before, _state(record)):
                write_whole(path, content)
                _write(self._folder, record)
        self._inner.kept(label)
        return values

    def _step(self, before: str, after: str) -> AbstractContextManager[None]:
        return nullcontext() if self._run.books is None else self._run.books.odometer.step(self._run.id, before, after)

    def _record(self) -> dict[str, Any]:
        record = read_record(self._folder)
        if not record:
            raise InputError(f"releases in {self._folder.name!r} must have their record beside them, {RECORD}; it is gone.")
        return record


def plan_digest(plan: Plan) -> str:
    """Return what identifies a plan in a record."""
    return _digest(json.dumps(plan.to_dict(), sort_keys=True, default=str).encode())


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of releases in a folder, empty where there is none; refuse anything else."""
    path = folder / RECORD
    if not path.exists():
        return {}
    try:
        record = parse_json(path.read_bytes())
    except (OSError, ValueError):
        record = None
    if isinstance(record, dict):
        check_format(record, FORMAT, f"{RECORD} in {folder.name!r}")
    if isinstance(record, dict) and set(record) == _FIELDS - {"format", "run"}:
        raise BudgetError(f"{RECORD} in {folder.name!r} must name its run; 0.1 gave runs no id. Start a new run: it is booked in full.")
    if not _is_record(record):
        raise InputError(f"{RECORD} in {folder.name!r} must be the record of a run, got something else.")
    found: dict[str, Any] = record
    return found


_FIELDS = {"format", "run", "plan", "seed", "server_seed", "releases"}


def _write(folder: Path, record: dict[str, Any]) -> None:
    write_whole(folder / RECORD, _content(record))


def _content(record: dict[str, Any]) -> bytes:
    return json.dumps(record, indent=1).encode()


def _state(record: dict[str, Any]) -> str:
    """Return what the odometer marks: a digest of the record, empty as long as no release was made."""
    return _digest(_content(record)) if record["releases"] else ""


def _is_record(given: Any) -> bool:
    if not isinstance(given, dict) or set(given) != _FIELDS or not isinstance(given["run"], str) or not given["run"]:
        return False
    seeds = type(given["server_seed"]) is int and (given["seed"] is None or type(given["seed"]) is int)
    return seeds and isinstance(given["releases"], dict) and all(_is_row(row) for row in given["releases"].values())


def _is_row(given: Any) -> bool:
    return isinstance(given, dict) and set(given) == {"query", "kept"} and all(isinstance(part, str) for part in given.values())


def _load(path: Path, kept: str | None, release: Release) -> FloatArray:
    """Return a release as it was kept; one that was changed since is refused. A crash may come before its digest is on record."""
    content = path.read_bytes()
    values: Any = None
    if kept in {None, _digest(content)}:
        with suppress(ValueError, EOFError, SyntaxError, TokenError):
            values = np.load(io.BytesIO(content), allow_pickle=False)
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.size > release.values:
        raise InputError(f"{path.name} must hold the release {release.name!r} as it was made; it was changed.")
    return values


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
