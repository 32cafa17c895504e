"""A federation whose releases are kept on disk: a run that stops goes on later without paying for any of them again.

The server's computations are repeated from their start with the releases that are there; from the first that is not, the federation is
asked. A release is on disk before anything sees it. So one that was begun and did not get there was seen by nobody and is made again; one
that was kept and has gone is not.
"""

import hashlib
import io
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from feddp_kmeans._errors import BudgetError, FedDPError
from feddp_kmeans._files import locked, npy_bytes, write_whole
from feddp_kmeans._json import parse_json
from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.federation.base import Federation, Statistic, query_digest
from feddp_kmeans.federation.wrapped import WrappedFederation
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan

RECORD = "releases.json"


class RecordedFederation(WrappedFederation):
    """Asks another federation, and keeps every release in a folder."""

    def __init__(self, inner: Federation, folder: Path) -> None:
        super().__init__(inner)
        self._folder = folder
        self._made: dict[str, int] = {}

    def begin(self, plan: Plan, seed: int | None = None, on_release: Callable[[str], None] | None = None) -> None:
        """Fix the plan of a run, or go on with the run that the folder holds: its plan must be this one."""
        super().begin(plan, seed, on_release)
        self._inner.begin(plan, seed)
        self._made = {}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FedDPError(f"releases must be kept in a folder that can be written, got {error}.") from None
        with locked(self._folder):
            self._begin(plan, seed)

    def _begin(self, plan: Plan, seed: int | None) -> None:
        record = self._record()
        plan_digest = _digest(json.dumps(plan.to_dict(), sort_keys=True, default=str).encode())
        if record and (record["plan"] != plan_digest or record["seed"] != seed):
            raise BudgetError(f"the releases in {self._folder.name!r} must be of this very plan and seed; they are of another run.")
        if not record:
            if any(self._folder.glob("*.npy")):
                raise FedDPError(f"releases in {self._folder.name!r} must have their record beside them, {RECORD}; it is gone.")
            self._write({"plan": plan_digest, "seed": seed, "server_seed": self._streams.integer_seed("server k-means"), "releases": {}})

    @property
    def server_seed(self) -> int:
        """Return the seed of the server's own computations, the same whenever the run goes on."""
        return int(self._record()["server_seed"])

    def _noisy_sum(self, statistic: Statistic, release: Release, cohort: BoolArray | None, public: dict[str, Any]) -> FloatArray:
        del cohort  # The federation that is asked draws its own.
        number = self._made.get(release.name, 0)
        self._made[release.name] = number + 1
        with locked(self._folder):
            return self._kept_or_made(f"{release.name} {number}", statistic, release, public)

    def _kept_or_made(self, label: str, statistic: Statistic, release: Release, public: dict[str, Any]) -> FloatArray:
        record, query = self._record(), query_digest(statistic, public)
        begun = record["releases"].setdefault(label, {"query": query, "kept": ""})
        path = self._folder / f"{_digest(label.encode())[:16]}.npy"
        if begun["query"] != query:
            raise BudgetError(f"release {label!r} must answer the same query as the one on record; it does not.")
        if path.exists():
            values = _load(path, begun["kept"], release)
            self._inner.replay(release)
            return values
        if begun["kept"]:
            raise BudgetError(f"release {label!r} was made before and its result was lost; making it again would spend the budget twice.")
        self._write(record)
        values = self._inner.noisy_sum(statistic, release, **public)
        content = npy_bytes(values)
        write_whole(path, content)
        begun["kept"] = _digest(content)
        self._write(record)
        self._inner.kept()
        return values

    def _record(self) -> dict[str, Any]:
        path = self._folder / RECORD
        if not path.exists():
            return {}
        try:
            record = parse_json(path.read_bytes())
        except (OSError, ValueError):
            record = None
        if not _is_record(record):
            raise FedDPError(f"{RECORD} in {self._folder.name!r} must be the record of a run, got something else.")
        found: dict[str, Any] = record
        return found

    def _write(self, record: dict[str, Any]) -> None:
        write_whole(self._folder / RECORD, json.dumps(record, indent=1).encode())


def _is_record(given: Any) -> bool:
    if not isinstance(given, dict) or set(given) != {"plan", "seed", "server_seed", "releases"}:
        return False
    seeds = type(given["server_seed"]) is int and (given["seed"] is None or type(given["seed"]) is int)
    return seeds and isinstance(given["releases"], dict) and all(_is_row(row) for row in given["releases"].values())


def _is_row(given: Any) -> bool:
    return isinstance(given, dict) and set(given) == {"query", "kept"} and all(isinstance(part, str) for part in given.values())


def _load(path: Path, kept: str, release: Release) -> FloatArray:
    """Return a release as it was kept; one that was changed since, or is none, is refused. A crash may come before the digest is kept."""
    content = path.read_bytes()
    values: Any = None
    if not kept or kept == _digest(content):
        with suppress(ValueError, EOFError, SyntaxError, TokenError):
            values = np.load(io.BytesIO(content), allow_pickle=False)
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.size > release.values:
        raise FedDPError(f"{path.name} must hold the release {release.name!r} as it was made; it was changed.")
    return values


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
