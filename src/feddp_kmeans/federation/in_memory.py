"""Clients as arrays of this process."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import Points
from feddp_kmeans.federation.local import LocalFederation


class ArraySource:
    """One client's points as an array or a sparse matrix, never changed."""

    def __init__(self, points: Any) -> None:
        self._points = points

    @property
    def dimension(self) -> int:
        """Return the number of columns."""
        return int(self._points.shape[1])

    def read(self) -> Any:
        """Return the points as they were given."""
        return self._points

    def pieces(self, rows: int) -> Iterator[Points]:
        """Yield the rows as float64, at most ``rows`` at a time."""
        for start in range(0, max(1, self._points.shape[0]), rows):
            piece = self._points[start : start + rows]
            yield piece.astype(np.float64) if sparse.issparse(piece) else np.asarray(piece, dtype=np.float64)


class InMemoryFederation(LocalFederation):
    """Clients that are arrays in this process: for simulation, and where one place may hold all points."""

    def __init__(self, clients: Sequence[Any]) -> None:
        super().__init__([ArraySource(as_points(c, f"client {i}")) for i, c in enumerate(clients)])

    @classmethod
    def from_groups(cls, points: Any, groups: Any) -> "InMemoryFederation":
        """Return a federation of one table's rows, a client for each distinct value of ``groups``."""
        table = as_points(points, "X")
        labels = np.asarray(groups)
        if labels.shape != (table.shape[0],):
            raise FedDPError(f"groups must hold one value a row of X: X has {table.shape[0]} rows, groups {labels.shape}.")
        _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
        ordered = table[np.argsort(inverse, kind="stable")]
        ends = np.cumsum(counts)
        return cls([ordered[end - count : end] for end, count in zip(ends, counts, strict=True)])


def as_points(points: Any, name: str) -> Any:
    """Return a two-dimensional numeric array or CSR matrix of these points; refuse anything else."""
    if sparse.issparse(points):
        return points.tocsr()
    try:
        array = np.asarray(points)
    except ValueError as error:
        raise FedDPError(f"{name} must be a table of numbers, got {error}.") from None
    if array.dtype.kind not in "biuf":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise FedDPError(f"{name} must hold numbers only, got values of type {array.dtype}.") from None
    if array.ndim != 2:
        raise FedDPError(f"{name} must have two dimensions (points, coordinates), got shape {array.shape}.")
    if array.shape[1] == 0:
        raise FedDPError(f"{name} must have at least one column, got shape {array.shape}.")
    return array
