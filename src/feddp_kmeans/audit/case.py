"""What is audited: settings, and a small made-up problem that they are run on."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clusterer, Clustering, run
from feddp_kmeans.algorithm.prepare import Prepared, prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.watch import Known, MakeFederation, Watch, Watched
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

_COMPANY, _POINTS = 4, 6
"""Clients next to the one that is looked at, and points of each."""

_CROWD = 500, 20
"""The same for runs that show what is asked: with fewer clients the refined method sees only noise, and leaves releases out."""

_SERVER = 20
"""Public points for each cluster."""

_SPREAD = 3.0

Clients = list[FloatArray]


@dataclass(frozen=True)
class AuditCase:
    """Settings on a small made-up problem: the guarantee must hold for any."""

    settings: Settings
    dimension: int = 3
    with_server: bool = True
    seed: int | None = None
    """Noise of the runs: cryptographic where it is None."""
    federation: MakeFederation = field(default=InMemoryFederation, repr=False)
    clusterer: Clusterer | None = field(default=None, repr=False)
    """Who makes the runs, where it is not the method of the settings: a rival, or the algorithm of the appendix."""

    def __post_init__(self) -> None:
        if not np.isfinite(self.settings.epsilon):
            raise InputError(f"epsilon must be finite to be audited, got {self.settings.epsilon}.")
        if self.dimension < 1:
            raise InputError(f"dimension must be at least 1, got {self.dimension}.")

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: the fields, and nothing that was worked out from them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def server_points(self) -> FloatArray | None:
        """Return public points around as many places as there are clusters; None where there are none."""
        if not self.with_server:
            return None
        rng = np.random.default_rng(0)
        places = _SPREAD * rng.standard_normal((self.settings.largest_k, self.dimension))
        points: FloatArray = (places + 0.1 * rng.standard_normal((_SERVER, *places.shape))).reshape(-1, self.dimension)
        return points

    @cached_property
    def prepared(self) -> Prepared:
        """Return the plan, made as for any run."""
        return prepare(self.settings, self.server_points, _COMPANY + 1, self.dimension)

    @cached_property
    def plan(self) -> Plan:
        """Return the plan of every run: it is made from public facts alone."""
        if self.clusterer is None:
            return self.prepared.plan
        return self.outcome(self.federation(self.clients(self.company, None)), seed=0).plan

    @property
    def is_point_level(self) -> bool:
        """Return whether a unit is a point."""
        return self.settings.unit is PrivacyUnit.POINT

    @property
    def company(self) -> Clients:
        """Return ordinary clients, near the server points where there are any."""
        return self._ordinary(_COMPANY, _POINTS)

    @property
    def crowd(self) -> Clients:
        """Return enough ordinary clients that all planned releases are made; in memory only, where each costs little."""
        return self._ordinary(*_CROWD) if self.federation is InMemoryFederation else self.company

    def _ordinary(self, clients: int, points: int) -> Clients:
        rng = np.random.default_rng(1)
        middles = np.zeros((1, self.dimension)) if self.server_points is None else self.server_points
        return [middles[rng.integers(len(middles), size=points)] + rng.standard_normal((points, self.dimension)) for _ in range(clients)]

    @property
    def nobody(self) -> Clients:
        """Return as many clients, none of whom holds a point."""
        return [np.empty((0, self.dimension)) for _ in range(_COMPANY)]

    def clients(self, others: Sequence[FloatArray], unit: FloatArray | None) -> Clients:
        """Return all clients, the last of them with the unit or without it.

        The last client holds the first others' points too where the unit is a point, and nothing else where it is a client.
        """
        own = np.empty((0, self.dimension)) if unit is None else np.asarray(unit)
        if self.is_point_level:
            return [np.empty((0, self.dimension)), *others[1:], np.concatenate([others[0], own])]
        return [*others, own]

    def known(self, clients: Sequence[FloatArray]) -> Known:
        """Return the exact sums of these clients: of arrays, wherever their points live in the runs."""
        return Known(InMemoryFederation(clients), self.settings.unit)

    def run(self, clients: Sequence[FloatArray], number: int = 0) -> tuple[Watch, Clustering]:
        """Return one real run on these clients, and what was seen of it; every number has its own noise."""
        watch = Watch(self.federation(clients))
        return watch, self.outcome(watch, self.seed_of(number))

    def outcome(self, federation: Federation, seed: int | None) -> Clustering:
        """Return what a run on this federation gives."""
        if self.clusterer is None:
            return run(federation, self.prepared, seed=seed)
        assert self.server_points is not None
        return self.clusterer(federation, self.settings, self.server_points, seed=seed)

    def open(self, federation: Federation, number: int) -> Run:
        """Return a run, with the noise of this number."""
        return federation.open(self.plan, self.seed_of(number))

    def seed_of(self, number: int) -> int | None:
        """Return the seed of a run; None where noise is cryptographic."""
        return None if self.seed is None else self.seed + number

    @cached_property
    def queries(self) -> list[Watched]:
        """Return what a real run in a crowd asks, in order."""
        watch, _ = self.run(self.clients(self.crowd, None))
        return [answered.query for answered in watch.seen]
