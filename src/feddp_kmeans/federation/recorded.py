"""A federation whose releases are kept on disk: a run that was stopped goes on later without paying for any of them again.

The server repeats its computations with the releases on disk; from the first missing one on, the federation is asked. A release is on
disk, and marked on the odometer, before anyone sees it. So a release that was begun but not kept was seen by nobody and is made again. One
that was kept and lost is not made again, and a run does not go on from a copy of its record that is not the latest.
"""

import hashlib
import io
import json
from contextlib import nullcontext, suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from feddp_kmeans._files import locked, npy_bytes, write_whole
from feddp_kmeans._json import check_format, parse_json
from feddp_kmeans.errors import BudgetError, FedDPError, InputError
from feddp_kmeans.federation.adder import Adder, Asked, NoisySum
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan

RECORD = "releases.json"

FORMAT = 2
"""Format of the record. Format 1, of release 0.1, has no run id, so its runs cannot go on."""

_FIELDS = {"format", "run", "plan", "seed", "server_seed", "releases"}


class RecordedFederation(Federation):
    """Another federation whose releases are kept in a folder. ``run`` is the id of a new run (default: random)."""

    def __init__(self, inner: Federation, folder: Path, run: str | None = None) -> None:
        self._inner = inner
        self._folder = folder
        self.n_clients, self.dimension, self.trust, self.books = inner.n_clients, inner.dimension, inner.trust, inner.books
        self.run_id = run or inner.run_id

    def _adder(self, run: Run) -> Adder:
        """Return what answers the run: a new one, or the one of the folder, which must have the same plan and seed."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with locked(self._folder):
                return self._begun(run)
        except OSError as error:
            raise InputError(f"releases must be kept in a folder that can be written, got {error}.") from None

    def _begun(self, run: Run) -> "RecordingAdder":
        """Write a record without releases, then book the run; or go on with the run of the record, which must be booked.

        This order lets every booked run go on: if killed in between, it is booked when it goes on.
        """
        record = read_record(self._folder)
        is_new = not record
        if is_new:
            if any(self._folder.glob("*.npy")):
                raise _without_record(self._folder)
            record = {"format": FORMAT, "run": run.id, "plan": plan_digest(run.plan), "seed": run.seed}
            record |= {"server_seed": run.server_seed, "releases": {}}
        elif record["plan"] != plan_digest(run.plan) or record["seed"] != run.seed:
            raise BudgetError(f"the releases in {self._folder.name!r} must be of this very plan and seed; they belong to another run.")
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

    def noisy_sum(self, asked: Asked) -> NoisySum:
        """Return the release on record, or make it and keep it."""
        with locked(self._folder):
            return self._kept_or_made(asked)

    def _kept_or_made(self, asked: Asked) -> NoisySum:
        record = read_record(self._folder)
        if not record:
            raise _without_record(self._folder)
        label, digest = asked.label, asked.digest
        before, kept = _state(record), record["releases"].get(label)
        path = self._folder / f"{_digest(f'{label} {digest}'.encode())[:16]}.npy"
        if kept is not None and kept["query"] != digest:
            raise BudgetError(f"release {label!r} must answer the same query as the one on record; it does not.")
        if kept is not None and not path.exists():
            raise BudgetError(f"release {label!r} was made before and its result was lost; making it again would spend the budget twice.")
        found = _load(path, None if kept is None else kept["kept"], asked.release) if path.exists() else self._inner.noisy_sum(asked)
        if kept is None:
            content = npy_bytes(found.values) + (npy_bytes(np.array(found.noise_factor)) if found.noise_factor != 1 else b"")
            record["releases"][label] = {"query": digest, "kept": _digest(content)}
            books, after = self._run.books, _state(record)
            with nullcontext() if books is None else books.odometer.step(self._run.id, before, after):
                write_whole(path, content)
                _write(self._folder, record)
        self._inner.kept(label)
        return found


def plan_digest(plan: Plan) -> str:
    """Return what identifies a plan in a record."""
    return _digest(json.dumps(plan.to_dict(), sort_keys=True, default=str).encode())


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of releases in a folder, empty if there is none; refuse anything else."""
    path = folder / RECORD
    if not path.exists():
        return {}
    record: Any = None
    with suppress(OSError, ValueError):
        record = parse_json(path.read_bytes())
    if isinstance(record, dict):
        check_format(record, FORMAT, f"{RECORD} in {folder.name!r}")
        if set(record) == _FIELDS - {"format", "run"}:
            raise BudgetError(f"{RECORD} in {folder.name!r} must name its run; 0.1 gave runs no id. Start a new run: it is booked in full.")
    if not _is_record(record):
        raise InputError(f"{RECORD} in {folder.name!r} must be the record of a run, got something else.")
    return dict(record)


def _without_record(folder: Path) -> InputError:
    return InputError(f"releases in {folder.name!r} must have their record next to them, {RECORD}; it is gone.")


def _write(folder: Path, record: dict[str, Any]) -> None:
    write_whole(folder / RECORD, _content(record))


def _content(record: dict[str, Any]) -> bytes:
    return json.dumps(record, indent=1).encode()


def _state(record: dict[str, Any]) -> str:
    """Return what the odometer marks: a digest of the record, empty before the first release."""
    return _digest(_content(record)) if record["releases"] else ""


def _is_record(given: Any) -> bool:
    if not isinstance(given, dict) or set(given) != _FIELDS or not isinstance(given["run"], str) or not given["run"]:
        return False
    seeds, rows = (given["server_seed"], given["seed"]), given["releases"]
    if type(seeds[0]) is not int or type(seeds[1]) not in {int, type(None)} or not isinstance(rows, dict):
        return False
    return all(isinstance(row, dict) and set(row) == {"query", "kept"} and set(map(type, row.values())) == {str} for row in rows.values())


def _load(path: Path, kept: str | None, release: Release) -> NoisySum:
    """Return a release as it was kept; refuse one that was changed since. ``kept`` is None if a crash came before it was on record.

    The file holds the values and then, if it is not 1, the noise factor.
    """
    content = path.read_bytes()
    values: Any = None
    factor: Any = np.array(1.0)
    if kept in {None, _digest(content)}:
        file = io.BytesIO(content)
        with suppress(ValueError, EOFError, SyntaxError, TokenError):
            values = np.load(file, allow_pickle=False)
            factor = np.load(file, allow_pickle=False) if file.tell() < len(content) else factor
    if not all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in (values, factor)) or values.size > release.values:
        raise InputError(f"{path.name} must hold the release {release.name!r} as it was made; it was changed.")
    return NoisySum(values, float(factor))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
