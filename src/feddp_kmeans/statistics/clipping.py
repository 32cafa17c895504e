"""Bounding what one row may weigh. Every function returns a copy and treats each row by itself.

A row's result depends on that row alone, to the last bit: sums over a row run in an order that neither its neighbours
nor its place in memory can change. A stray last bit in *other* rows would be a contribution of the removed one.
"""

import numpy as np

from feddp_kmeans._typing import FloatArray

LARGEST = 1e150
"""Coordinates beyond this are cut to it, so that squares of norms stay finite."""


def within_range(rows: FloatArray) -> FloatArray:
    """Return a copy with huge coordinates cut, so that squares of norms stay finite."""
    cut: FloatArray = np.clip(rows, -LARGEST, LARGEST)
    return cut


def row_norms(rows: FloatArray) -> FloatArray:
    """Return the Euclidean norm of each row."""
    norms: FloatArray = np.sqrt(np.square(np.ascontiguousarray(rows)).sum(axis=1))
    return norms


def clip_rows(rows: FloatArray, radius: float) -> FloatArray:
    """Return a copy in which each row longer than ``radius`` is scaled down to it: ``min(1, radius/|x|) x``."""
    bounded = within_range(rows)
    norms = row_norms(bounded)
    with np.errstate(divide="ignore", over="ignore"):
        factor = np.minimum(1.0, radius / norms)
    clipped: FloatArray = bounded * factor[:, None]
    return clipped
