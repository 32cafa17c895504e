"""The clustering problems of the paper by name: data, k, and the best clustering that can be compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from feddp_kmeans._typing import FloatArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.mixture import FederatedData, gaussian_mixture
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_studies.datasets import stack_overflow
from feddp_studies.datasets.census import census
from feddp_studies.datasets.central import digits, load_central
from feddp_studies.datasets.stack_exchange import stack_exchange
from feddp_studies.rivals.optimal import nonprivate_kmeans

MIXTURE_SEED = 1000
"""Seed of the first mixture drawn; the noise of run s has seed s."""

CLIENT_SIZES = {"clients-1000": 50, "clients-2000": 50, "clients-5000": 50, "stackoverflow": 4, "travel": 1} | {
    name: stack_overflow.CLIENT_SIZES[chosen.reading] for name, chosen in stack_overflow.SETS.items()
}
"""Public typical number of points of a client, where clients are protected."""


@dataclass
class Problem:
    """One draw of a data set."""

    name: str
    seed: int
    data: FederatedData
    k: int = 10

    box: tuple[FloatArray, FloatArray] | None = None
    """The public box of a central data set."""

    @property
    def unit(self) -> PrivacyUnit:
        """Return what is protected: clients where clients are people, points otherwise."""
        return PrivacyUnit.CLIENT if self.name in CLIENT_SIZES else PrivacyUnit.POINT

    @property
    def client_size(self) -> int | None:
        """Return the public hint on the size of a client."""
        return CLIENT_SIZES.get(self.name)

    @cached_property
    def points(self) -> Points:
        """Return all clients' points."""
        return self.data.pooled

    @cached_property
    def federation(self) -> InMemoryFederation:
        """Return the clients as a federation."""
        return InMemoryFederation(self.data.clients)

    def optimal_centers(self) -> FloatArray:
        """Return the best clustering known: k-means from the planted means, or the best of ten restarts. NON-PRIVATE."""
        if self.data.means is not None:
            return nonprivate_kmeans(self.points, self.k, 0, start=self.data.means)[0]
        return nonprivate_kmeans(self.points, self.k, 0)[0]


def _mixture(seed: int, *, n_clients: int = 100, client_size: int = 1000, missing: int = 0, uniform: int = 100) -> FederatedData:
    return gaussian_mixture(
        MIXTURE_SEED + seed, n_clients=n_clients, client_size=client_size, missing_on_server=missing, server_uniform=uniform
    )


def _paper_pair(name: str, seed: int, tables: Path) -> FederatedData:
    return stack_exchange(tables, name, topics=stack_overflow.SETS[name].topics, seed=seed)


LOADERS: dict[str, Callable[[int, Path], FederatedData]] = {
    "mixture": lambda seed, _: _mixture(seed),
    "mixture-clean": lambda seed, _: _mixture(seed, uniform=0),
    "missing-1": lambda seed, _: _mixture(seed, missing=1),
    "missing-2": lambda seed, _: _mixture(seed, missing=2),
    "missing-5": lambda seed, _: _mixture(seed, missing=5),
    "clients-1000": lambda seed, _: _mixture(seed, n_clients=1000, client_size=50),
    "clients-2000": lambda seed, _: _mixture(seed, n_clients=2000, client_size=50),
    "clients-5000": lambda seed, _: _mixture(seed, n_clients=5000, client_size=50),
    "census-2": lambda seed, tables: census(tables, 2, seed=seed),
    "census-5": lambda seed, tables: census(tables, 5, seed=seed),
    "census-6": lambda seed, tables: census(tables, 6, seed=seed),
    "stackoverflow": lambda seed, tables: stack_exchange(tables, "stackoverflow", seed=seed),
    "travel": lambda seed, tables: stack_exchange(tables, "travel", seed=seed),
    **{name: partial(_paper_pair, name) for name in stack_overflow.SETS},
}
"""Data sets by name: from a seed and the folder of tables."""

FROM_TABLES = ("census-2", "census-5", "census-6", "stackoverflow", "travel", "gas", "letter", "s1", *stack_overflow.SETS)
"""Data sets that must be read from the folder of tables; a seed changes at most 20 of their rows."""


CENTRAL = ("gas", "letter", "s1", "digits")
"""Central data sets: all rows one client, no server data, a public box."""


def _central(name: str, seed: int, tables: Path | None) -> Problem:
    data = digits() if name == "digits" else load_central((tables or Path()) / "central" / f"{name}.npz")
    # The box spans the server data that rivals need; nothing else of the data is public.
    corners = np.array([data.low, data.high])
    return Problem(name, seed, FederatedData([data.points], corners, name=name), data.k, (data.low, data.high))


def load_problem(name: str, seed: int, tables: Path | None) -> Problem:
    """Return one draw of a data set."""
    if name not in LOADERS and name not in CENTRAL:
        raise InputError(f"data set must be one of {sorted([*LOADERS, *CENTRAL])}, got {name!r}.")
    if name in FROM_TABLES and tables is None:
        raise InputError(f"--tables must name the folder with the tables of {name} (docs/data.md says which), got nothing.")
    if name in CENTRAL:
        return _central(name, seed, tables)
    return Problem(name, seed, LOADERS[name](seed, tables or Path()))
