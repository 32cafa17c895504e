"""How the rows of a data set become clients and server data."""

import numpy as np

from feddp_kmeans._typing import Array, IntArray, Points
from feddp_kmeans.errors import InputError


def split_by_owner(points: Points, owners: Array) -> list[Points]:
    """Return the rows of each distinct owner, owners in ascending order, rows in the order they had."""
    _, inverse, counts = np.unique(owners, return_inverse=True, return_counts=True)
    ordered = points[np.argsort(inverse, kind="stable")]
    ends = np.cumsum(counts)
    return [ordered[end - count : end] for end, count in zip(ends, counts, strict=True)]


def draw_rows(rng: np.random.Generator, rows: IntArray, size: int, name: str) -> IntArray:
    """Return ``size`` of these rows, drawn without repetition; ``name`` is what an error calls the size."""
    if not 0 <= size <= len(rows):
        raise InputError(f"{name} must be from 0 to the {len(rows)} rows there are, got {size}.")
    drawn: IntArray = rng.choice(rows, size, replace=False)
    return drawn
