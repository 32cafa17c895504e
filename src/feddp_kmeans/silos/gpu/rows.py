"""Looks at float32 points on a GPU without a copy of them in float64, in exact whole numbers. The kernels are in ``rows.cu``.

Why no bit differs from the CPU's, with R = 2**16:

- *Encoding* is the same three operations in float64: subtract, multiply, round to even. A row that is longer than R would be shortened; it
  is left to the caller, and what the kernels say of it is not used.
- *Labels and squares*: products and sums of whole numbers below 2**53, so exact in any order. A squared residual is the squared length less
  the best score ``2 z c - |c|**2``; of equal scores the first is the best.
- *A subspace*: products with a whole matrix below 2**53, over a power of two, rounded; the result is below 2**24, so float32 holds it.
- *Origins* are whole numbers below 2**24, so float32 holds them.
- *Sums*: a row adds a whole number of at most BOUNDED_STEPS = 2**30 to any of them; a block has at most 2**22 rows, so its sums are exact
  in float64 until they are added to 64-bit integers.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import torch

from feddp_kmeans.errors import CudaError
from feddp_kmeans.silos.gpu.cuda import Kernel
from feddp_kmeans.statistics.arithmetic import PROJECTION_STEPS
from feddp_kmeans.statistics.fixed_point import RESOLUTION

_THREADS = 128
_MOST_SHARED = 220 * 1024
_MOST_ROWS = 1 << 22
"""Rows of a block whose sums are exact."""

_GROUP = 16
"""Centers at once."""

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

    def in_subspace(self, projection: Any) -> "tuple[Rows, Any] | None":
        """Return the rows' coordinates in a subspace, and which rows would have been shortened; None where that is impossible."""
        (n, d), q, device = self._points.shape, projection.shape[1], self._points.device
        kernel = _kernel("turn", d, min(q, _GROUP), _tile(d, q), device)
        if kernel is None:
            return None
        turned = torch.empty((n, q), dtype=torch.float32, device=device)
        left = torch.empty(n, dtype=torch.bool, device=device)
        whole = (projection * PROJECTION_STEPS).round().T.contiguous()
        _launch(kernel, self._points, n, q, self._ball, whole, turned, left)
        rows = Rows(turned, torch.zeros(q, dtype=torch.float64, device=device), float(RESOLUTION))
        return rows, left

    def labelled(self, targets: Any) -> tuple[Any, Any, Any] | None:
        """Return each row's nearest target, its squared distance from it, and whether the row would have been shortened."""
        (n, d), k, device = self._points.shape, len(targets), self._points.device
        kernel = _kernel("label", d, min(k, _GROUP), _tile(d, k), device)
        if kernel is None:
            return None
        labels = torch.empty(n, dtype=torch.int32, device=device)
        squares = torch.empty(n, dtype=torch.float64, device=device)
        left = torch.empty(n, dtype=torch.bool, device=device)
        given = torch.cat([targets.ravel(), targets.square().sum(dim=1)])
        _launch(kernel, self._points, n, k, self._ball, given, labels, squares, left)
        return labels, squares, left

    def can_weigh(self, k: int) -> bool:
        """Return whether sums for this many labels fit the memory of a block."""
        return self._weigher(k) is not None

    def weighted_sums(self, origins: Any, labels: Any, weights: Any) -> Any:
        """Return for each label the sum of weights times residuals; rows with a label too large do not count."""
        (n, d), k, device = self._points.shape, len(origins), self._points.device
        kernel = self._weigher(k)
        assert kernel is not None
        totals = torch.zeros((_COPIES, k, d), dtype=torch.int64, device=device)
        starts = torch.cat([origins, torch.zeros_like(origins[:1])]).to(torch.float32).contiguous()
        blocks = max(kernel.blocks, -(-n // _MOST_ROWS))
        with torch.cuda.device(device):
            kernel(blocks, self._points, n, k, self._ball, starts, labels, weights, totals)
        return totals.sum(dim=0)

    def _weigher(self, k: int) -> Kernel | None:
        d = self._points.shape[1]
        return _kernel("weigh", d, _GROUP, 8 * (k + 1) * d, self._points.device)


def _tile(d: int, k: int) -> int:
    return 8 * (d + 1 + d * min(k, _GROUP)) + 4 * _THREADS * (d | 1)


def _launch(kernel: Kernel, points: Any, n: int, *given: Any) -> None:
    with torch.cuda.device(points.device):
        kernel(min(-(-n // _THREADS), kernel.blocks), points, n, *given)


@cache
def _kernel(name: str, d: int, group: int, shared: int, device: Any) -> Kernel | None:
    """Return a kernel for points of d coordinates and groups of centers; None where it cannot be compiled, or needs too much memory."""
    if shared > _MOST_SHARED:
        return None
    source = (files("feddp_kmeans.silos.gpu") / "rows.cu").read_text()
    try:
        with torch.cuda.device(device):
            return Kernel(source, name, {"D": d, "G": group, "THREADS": _THREADS, "COPIES": _COPIES}, shared, _THREADS)
    except (OSError, CudaError):
        return None
