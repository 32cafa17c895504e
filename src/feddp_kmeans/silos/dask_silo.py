"""Points on a Dask cluster: every partition computes its own sum where it lies, and the sums are added in a tree. Points never travel.

Needs the extra "dask".
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.memory import ArraySilo, as_points
from feddp_kmeans.silos.silo import Silo, numbered_columns
from feddp_kmeans.statistics.query import Query

_ADDED_AT_ONCE = 8
"""Number of sums that one task adds up."""


class DaskSilo(Silo):
    """Points as partitions on a Dask cluster, one per client: delayed values or futures of arrays, sparse matrices or data frames.

    Runs on the current Dask client, without one on threads of this process. Public arguments travel once to each worker.
    """

    def __init__(self, partitions: Sequence[Any], columns: Sequence[str]) -> None:
        if not partitions:
            raise InputError("clients must be at least one, got none.")
        self._partitions = partitions
        self._columns = tuple(columns)
        self.n_clients, self.dimension = len(partitions), len(columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return self._columns

    @classmethod
    def of(cls, collection: Any) -> "DaskSilo":
        """Return the points of a Dask data frame, or of a Dask array whose chunks hold whole rows."""
        parts = np.asarray(collection.to_delayed(), dtype=object)
        if parts.ndim == 2 and parts.shape[1] != 1:
            raise InputError(f"chunks of a Dask array must hold whole rows, got {parts.shape[1]} chunks per row.")
        names = getattr(collection, "columns", None)
        return cls(list(parts.ravel()), numbered_columns(collection.shape[1]) if names is None else tuple(map(str, names)))

    def exact_sum(self, query: Query, cohort: BoolArray | None = None) -> IntArray:
        """Return the sum of a statistic over the clients of the cohort (None: all), without noise: never for release.

        A statistic of clients must see all points of a client in one place.
        """
        if query.statistic.whole_clients and self.n_clients < len(self._partitions):
            raise InputError(
                f"a client must be in one partition for the statistic {query.statistic.name!r} of clients, "
                f"got {len(self._partitions)} partitions."
            )
        parts = self._partitions if cohort is None else [part for part, taken in zip(self._partitions, cohort, strict=True) if taken]
        delayed = _delayed()
        sent = delayed(query, traverse=False)
        sums = [delayed(_partition_sum)(sent, part) for part in parts]
        while len(sums) > 1:
            sums = [delayed(np.sum)(sums[start : start + _ADDED_AT_ONCE], axis=0) for start in range(0, len(sums), _ADDED_AT_ONCE)]
        total: IntArray = sums[0].compute() if sums else query.nothing()
        return total

    def as_one_client(self) -> "DaskSilo":
        """Return the same points as those of one client, whose statistics of clients need it to be one partition."""
        one = copy(self)
        one.n_clients = 1
        return one

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points, which are brought here for this."""
        return (as_points(_delayed()(part).compute(), "a partition") for part in self._partitions)


def _delayed() -> Any:
    try:
        from dask.delayed import delayed
    except ImportError:
        raise InputError("points on a cluster need Dask: pip install 'feddp-kmeans[dask]'.") from None
    return delayed


def _partition_sum(query: Query, part: Any) -> IntArray:
    points = as_points(part, "a partition")
    if points.shape[1] != query.dimension:  # also where it has no rows: no error may depend on their number
        raise InputError(f"a partition must have {query.dimension} columns, got {points.shape[1]}.")
    return ArraySilo([points]).exact_sum(query)
