"""Points on a Dask cluster: data that fit no one machine are summed up where they lie. Needs the extra "dask".

Statistics are sums, so every partition computes its own, and the sums are added in a tree: sums travel, and points never do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import IntArray
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.batches import SourceClients, exact_sum
from feddp_kmeans.silos.memory import ArraySource, as_points
from feddp_kmeans.statistics.query import Query

_ADDED_AT_ONCE = 8
"""Sums that one task adds up."""


@dataclass(frozen=True)
class ClusterData:
    """One data holder whose points are partitions on its own Dask cluster: stands where ``SiteData`` stands.

    A partition is a delayed value or a future, of an array, a sparse matrix or a data frame of numbers.
    """

    partitions: Sequence[Any]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, collection: Any) -> "ClusterData":
        """Return the points of a Dask data frame, or of a Dask array whose chunks hold whole rows."""
        parts = np.asarray(collection.to_delayed(), dtype=object)
        if parts.ndim == 2 and parts.shape[1] != 1:
            raise FedDPError(f"chunks of a Dask array must hold whole rows, got {parts.shape[1]} chunks a row.")
        names = getattr(collection, "columns", None)
        columns = tuple(f"x{i}" for i in range(collection.shape[1])) if names is None else tuple(map(str, names))
        return cls(list(parts.ravel()), columns)

    def total(self, query: Query) -> IntArray:
        """Return this holder's own sum, without noise. A statistic of clients must see the holder's points in one place."""
        if query.statistic.whole_clients and len(self.partitions) > 1:
            raise FedDPError(
                f"a client must be in one partition for the statistic {query.statistic.name!r} of clients, "
                f"got {len(self.partitions)} partitions."
            )
        return cluster_sum(self.partitions, query)


def cluster_sum(partitions: Sequence[Any], query: Query) -> IntArray:
    """Return the sum of a statistic over the partitions without noise: for whoever holds their points, and never for release.

    Runs on the Dask client under way, or where there is none on threads of this process. Public arguments travel once to each worker.
    """
    try:
        from dask.delayed import delayed
    except ImportError:
        raise FedDPError("points on a cluster need Dask: pip install 'feddp-kmeans[dask]'.") from None

    sent = delayed(query, traverse=False)
    sums = [delayed(_partition_sum)(sent, part) for part in partitions]
    while len(sums) > 1:
        sums = [delayed(_added)(sums[start : start + _ADDED_AT_ONCE]) for start in range(0, len(sums), _ADDED_AT_ONCE)]
    total: IntArray = sums[0].compute() if sums else np.zeros(query.size, dtype=np.int64)
    return total


def _partition_sum(query: Query, part: Any) -> IntArray:
    points = as_points(part, "a partition")
    if points.shape[1] != query.dimension:
        raise FedDPError(f"a partition must have {query.dimension} columns, got {points.shape[1]}.")
    return exact_sum(SourceClients([ArraySource(points)]), query)


def _added(sums: Sequence[IntArray]) -> IntArray:
    total: IntArray = np.sum(sums, axis=0)
    return total
