"""A silo: where the points of some clients live and are added up. Local federations and sites on a network use it alike."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from feddp_kmeans._typing import BoolArray, IntArray
from feddp_kmeans.statistics.query import Query


class Silo(ABC):
    """One place that may see all its points: arrays, one table, files, a cluster of Dask or Spark, or a GPU. It adds no noise."""

    n_clients: int
    dimension: int
    """Number of coordinates of a point."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates; x0, x1, ... where they have none."""
        return numbered_columns(self.dimension)

    def for_run(self) -> "Silo":
        """Return this silo for one run. It may keep what several queries need until the run ends."""
        return self

    @abstractmethod
    def exact_sum(self, query: Query, cohort: BoolArray | None = None) -> IntArray:
        """Return the sum of a statistic over the clients of the cohort (None: all), without noise: never for release.

        Only statistics of clients have cohorts.
        """

    @abstractmethod
    def as_one_client(self) -> "Silo":
        """Return the same points as those of one client: what a site on a network is."""

    @abstractmethod
    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points, only for comparisons that are not private."""


def numbered_columns(dimension: int) -> tuple[str, ...]:
    """Return names for columns without names."""
    return tuple(f"x{i}" for i in range(dimension))
