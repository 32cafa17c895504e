"""Coordinates in a subspace, and scaled rows, of float32 points on a GPU, in exact whole numbers. The kernels are in ``rows.cu``.

Why no bit differs from the CPU's, with R = 2**16:

- *Encoding* is the same three operations in float64: subtract, multiply, round to even. A row that is longer than R would be shortened; it
  is left to the caller, and what the kernels say of it is not used.
- *A subspace*: products with a whole matrix below 2**53, over a power of two, rounded; the result is below 2**24, so float32 holds it.
  So are its directions, and encoded rows that are not left out.
- *Second moments*: rows are scaled by a table, and what a square adds is truncated, in the same float64 operations as elsewhere; a product
  of whole numbers that is fused with the difference after it is exact in any case.
- *Sums*: a row adds a whole number; of as many rows as a caller takes at once (``chunks.py``) their sums are exact in float64. Then they
  are added to 64-bit integers.
"""

from functools import cache
from typing import Any

import torch

from feddp_kmeans.silos.gpu.cuda import Kernel, compiled
from feddp_kmeans.statistics.arithmetic import PROJECTION_STEPS
from feddp_kmeans.statistics.fixed_point import RESOLUTION

_THREADS = 128
_MOST_SHARED = 220 * 1024
_GROUP, _LARGE_GROUP = 16, 32
"""Directions at once, where they are few and where they are many."""

_COPIES = 16
"""Totals that blocks add their sums to: one alone would be waited for."""


def fits(points: Any) -> bool:
    """Return whether these points can be looked at here: on a GPU, in float32, one row after the other, a tile of them in shared memory."""
    there = bool(points.is_cuda and points.dtype == torch.float32 and points.is_contiguous() and len(points))
    return there and _tile(points.shape[1], _GROUP) <= _MOST_SHARED


class Rows:
    """Points with the ball that they are encoded in; or coordinates in a subspace, which are whole numbers already."""

    def __init__(self, points: Any, center: Any, radius: float) -> None:
        self._points = points
        scale = torch.tensor([RESOLUTION / radius, float(PROJECTION_STEPS)], dtype=torch.float64, device=points.device)
        self._ball = torch.cat([center.to(torch.float64), scale])

    def in_subspace(self, projection: Any) -> tuple[Any, Any] | None:
        """Return the rows' coordinates in a subspace, and which rows would have been shortened; None where that is impossible."""
        (n, d), q, device = self._points.shape, projection.shape[1], self._points.device
        kernel = _turner(d, q, device)
        if kernel is None:
            return None
        turned = torch.empty((n, q), dtype=torch.float32, device=device)
        left = torch.empty(n, dtype=torch.bool, device=device)
        whole = (projection * PROJECTION_STEPS).round().T.contiguous()
        _launch(kernel, self._points, n, q, self._ball, whole, turned, left)
        return turned, left

    def scaled(self, table: Any = None, weights: tuple[float, float] = (0.0, 0.0)) -> tuple[Any, Any, Any] | None:
        """Return the rows as whole numbers in float64, what is added up of their squares, and which would have been shortened.

        Those are zero. The others are scaled by a ``table`` of lengths and scales, if there is one; then each coordinate adds its square
        less the mean one of its row, and each row its trace, both times their weight and truncated. None where that is impossible.
        """
        (n, d), device = self._points.shape, self._points.device
        shared = 8 * (2 * d + 1 + 2 * _THREADS) + 4 * _THREADS * (d | 1)
        kernel = _kernel("scale", d, _GROUP, shared, device)
        if kernel is None:
            return None
        whole = torch.empty((n, d), dtype=torch.float64, device=device)
        left = torch.empty(n, dtype=torch.bool, device=device)
        totals = torch.zeros((_COPIES, d + 1), dtype=torch.int64, device=device)
        given = torch.cat([torch.tensor(weights, dtype=torch.float64, device=device), *(() if table is None else table)])
        _launch(kernel, self._points, n, 0 if table is None else len(table[0]), self._ball, given, whole, totals, left)
        return whole, totals.sum(dim=0), left


def _tile(d: int, group: int, held: int = 1) -> int:
    """Return the shared memory of a kernel in bytes, as ``rows.cu`` divides it: the ball, a tile of rows, and groups of directions."""
    width = -(-d // 4) * 4
    stride = width if width % 8 else width + 4
    return 8 * (d + 1) + 4 * (_THREADS * stride + held * width * (group + 8))


def _turner(d: int, k: int, device: Any) -> Kernel | None:
    """Return a kernel that multiplies rows with k directions: all of them are held at once, if several blocks have room for them."""
    group = _LARGE_GROUP if k > 3 * _GROUP else _GROUP
    all_held = _tile(d, group, -(-k // group))
    fits_twice = all_held <= _MOST_SHARED // 2
    return _kernel("turn", d, group, all_held if fits_twice else _tile(d, group), device, held=fits_twice)


def _launch(kernel: Kernel, points: Any, n: int, *given: Any) -> None:
    kernel(min(-(-n // _THREADS), kernel.blocks), points, n, *given)


@cache
def _kernel(name: str, d: int, group: int, shared: int, device: Any, *, held: bool = False) -> Kernel | None:
    """Return a kernel for points of d coordinates and groups of centers; None where it cannot be compiled, or needs too much memory."""
    if shared > _MOST_SHARED:
        return None
    constants = {"D": d, "G": group, "ALL": int(held), "THREADS": _THREADS, "COPIES": _COPIES}
    return compiled(device, ("rows.cu",), name, shared, _THREADS, **constants)
