"""A federation whose releases are kept on disk: a run that stops goes on later without paying for any of them again.

The server's computations are repeated from their start with the releases that are there; from the first that is not, the federation is
asked. A release is on disk before anything sees it. So one that was begun and did not get there was seen by nobody and is made again; one
that was kept and has gone is not.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._errors import BudgetError, FedDPError
from feddp_kmeans._files import npy_bytes, write_whole
from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.federation.base import Federation, Statistic, query_digest
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan

RECORD = "releases.json"


class RecordedFederation(Federation):
    """Asks another federation, and keeps every release in a folder."""

    def __init__(self, inner: Federation, folder: Path) -> None:
        self._inner = inner
        self._folder = folder
        self._made: dict[str, int] = {}

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

    def begin(self, plan: Plan, seed: int | None = None, on_release: Callable[[str], None] | None = None) -> None:
        """Fix the plan of a run, or go on with the run that the folder holds: its plan must be this one."""
        super().begin(plan, seed, on_release)
        self._inner.begin(plan, seed)
        self._made = {}
        record = self._record()
        plan_digest = _digest(json.dumps(plan.to_dict(), sort_keys=True, default=str).encode())
        if record and (record["plan"] != plan_digest or record["seed"] != seed):
            raise BudgetError(f"the releases in {self._folder.name!r} must be of this very plan and seed; they are of another run.")
        if not record:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._write({"plan": plan_digest, "seed": seed, "server_seed": self._streams.integer_seed("server k-means"), "releases": {}})

    @property
    def server_seed(self) -> int:
        """Return the seed of the server's own computations, the same whenever the run goes on."""
        return int(self._record()["server_seed"])

    def _noisy_sum(self, statistic: Statistic, release: Release, cohort: BoolArray | None, public: dict[str, Any]) -> FloatArray:
        del cohort  # The federation that is asked draws its own.
        number = self._made.get(release.name, 0)
        self._made[release.name] = number + 1
        label, query = f"{release.name} {number}", query_digest(statistic, public)
        record = self._record()
        begun = record["releases"].setdefault(label, {"query": query, "kept": False})
        path = self._folder / f"{_digest(label.encode())[:16]}.npy"
        if begun["query"] != query:
            raise BudgetError(f"release {label!r} must answer the same query as the one on record; it does not.")
        if path.exists():
            self._inner.replay(release)
            return _load(path)
        if begun["kept"]:
            raise BudgetError(f"release {label!r} was made before and its result was lost; making it again would spend the budget twice.")
        self._write(record)
        values = self._inner.noisy_sum(statistic, release, **public)
        write_whole(path, npy_bytes(values))
        begun["kept"] = True
        self._write(record)
        return values

    def _record(self) -> dict[str, Any]:
        path = self._folder / RECORD
        if not path.exists():
            return {}
        try:
            record = json.loads(path.read_text())
        except ValueError:
            record = None
        if not isinstance(record, dict) or not {"plan", "seed", "server_seed", "releases"} <= set(record):
            raise FedDPError(f"{RECORD} in {self._folder.name!r} must be the record of a run, got something else.")
        return record

    def _write(self, record: dict[str, Any]) -> None:
        write_whole(self._folder / RECORD, json.dumps(record, indent=1).encode())


def _load(path: Path) -> FloatArray:
    values: FloatArray = np.load(path, allow_pickle=False)
    return values


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
