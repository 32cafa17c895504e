"""A clustering problem: which data, what is public about them, and the best clustering that can be compared with."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from feddp_kmeans._typing import FloatArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.mixture import FederatedData
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_studies.rivals.optimal import nonprivate_kmeans


@dataclass(frozen=True)
class DataSet:
    """A data set by name: how a draw of it is made, and what a run is told."""

    name: str
    make: Callable[..., FederatedData]
    """Gets the folder of tables if it reads files, then ``seed`` and ``arguments`` by name."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    k: int = 10
    unit: PrivacyUnit = PrivacyUnit.POINT
    client_size: int | None = None
    """Public typical number of points of a client, where clients are protected."""
    files: tuple[str, ...] = ()
    """What it reads in the folder of tables."""
    first_seed: int = 0
    """Data seed of the first run; its noise has seed 0."""
    drawn: bool = True
    """Whether a seed draws other client points; if not, at most some of their rows go to the server."""
    in_box: bool = False
    """Whether there is no server data but a public box, whose two corners stand in for them."""

    def load(self, seed: int, tables: Path | None) -> "Problem":
        """Return one draw."""
        if self.files and tables is None:
            raise InputError(f"--tables must name the folder with the tables of {self.name} (docs/data.md says which), got nothing.")
        where = (tables,) if self.files else ()
        return Problem(self, seed, self.make(*where, seed=self.first_seed + seed, **self.arguments))

    def digest(self, tables: Path | None) -> str:
        """Return a hash of the files it is read from; empty if there are none or they are not here."""
        paths = [tables / name for name in self.files] if tables is not None else []
        return _digest(*paths) if paths and all(path.is_file() for path in paths) else ""


@cache
def _digest(*paths: Path) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


@dataclass(eq=False)
class Problem:
    """One draw of a data set."""

    known: DataSet
    seed: int
    data: FederatedData

    @property
    def box(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the public box, None if there is none."""
        return (self.data.server_points[0], self.data.server_points[1]) if self.known.in_box else None

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
        return nonprivate_kmeans(self.points, self.known.k, 0, start=self.data.means)[0]
