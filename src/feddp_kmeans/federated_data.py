"""The one shape of every federated data set, and how rows become clients and server data. Knows no file format."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import Array, FloatArray, IntArray, Points
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.unit import PrivacyUnit


@dataclass(frozen=True)
class FederatedData:
    """Points of many clients, and the server's own."""

    clients: list[Points]
    """One array or CSR matrix a client."""
    server_points: FloatArray
    means: FloatArray | None = None
    """Means of the components, where the data are made up."""
    name: str = "data"
    unit: PrivacyUnit = PrivacyUnit.POINT
    """What the paper protects in data of this kind: a hint, not a setting."""

    @property
    def pooled(self) -> Points:
        """Return all clients' points in one array or CSR matrix: what no federation ever does."""
        if any(sparse.issparse(points) for points in self.clients):
            return sparse.vstack(self.clients, format="csr")
        return np.concatenate(self.clients)

    @property
    def n_points(self) -> int:
        """Return the number of points of all clients."""
        return sum(int(points.shape[0]) for points in self.clients)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return int(self.server_points.shape[1])


def split_by_owner(points: Points, owners: Array) -> list[Points]:
    """Return the rows of each distinct owner, owners in ascending order, rows in the order they had."""
    _, inverse, counts = np.unique(owners, return_inverse=True, return_counts=True)
    ordered = points[np.argsort(inverse, kind="stable")]
    ends = np.cumsum(counts)
    return [ordered[end - count : end] for end, count in zip(ends, counts, strict=True)]


def draw_rows(rng: np.random.Generator, rows: IntArray, size: int, name: str) -> IntArray:
    """Return ``size`` of these rows, drawn without repetition; ``name`` is what an error calls the size."""
    if not 0 <= size <= len(rows):
        raise FedDPError(f"{name} must be from 0 to the {len(rows)} rows there are, got {size}.")
    drawn: IntArray = rng.choice(rows, size, replace=False)
    return drawn
