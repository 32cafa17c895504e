"""Second moments of float32 points on a GPU in a single sweep of its memory, in exact whole numbers. The kernel is ``moments.cu``.

Why no bit differs from the CPU's, with R = 2**16:

- *Encoding* is the same three operations in float64: subtract, multiply, round to even. A row that is longer than R would be shortened; it
  is left to the caller, and nothing of it is added.
- *Scales* are those of a table (``scales.py``). What a square adds is truncated, in the same float64 operations as elsewhere; a product of
  whole numbers that is fused with the difference after it is exact in any case.
- *Products*: an encoded row z has ``|z|**2 <= 2**32``, a scaled one ``|z|**2 <= 4 MOMENT_STEPS`` (``chunks.py``), so no product of two
  coordinates, no weighted square and no weighted trace is larger than 2**32. A block has at most 2**20 rows, so its sums are exact in
  float64, in any order, until they are added to 64-bit integers.
"""

from functools import cache
from typing import Any

import torch

from feddp_kmeans.silos.gpu import rows
from feddp_kmeans.silos.gpu.cuda import Kernel, compiled
from feddp_kmeans.silos.gpu.lloyd import MOST_DIMENSIONS
from feddp_kmeans.statistics.fixed_point import RESOLUTION

_MOST_ROWS = 1 << 20
_MOST_WARPS, _FEWEST_WARPS = 16, 4


def products(
    points: Any, center: Any, radius: float, table: Any = None, weights: tuple[float, float] = (0.0, 0.0)
) -> tuple[Any, Any, Any] | None:
    """Return the products of all pairs of columns, what is added up of squares, and which rows are left out; None where impossible.

    Of a pair of columns the first is the row. Points are scaled by a ``table`` of lengths and scales, if there is one; then each coordinate
    adds its square less the mean one of its row, and each row its trace, both times their weight and truncated.
    """
    if not rows.fits(points) or points.shape[1] > MOST_DIMENSIONS:
        return None
    (n, d), device = points.shape, points.device
    kernel = _kernel(d, device)
    if kernel is None:
        return None
    ball = torch.cat([center.to(torch.float64), torch.tensor([RESOLUTION / radius], dtype=torch.float64, device=device)])
    given = torch.cat([torch.tensor(weights, dtype=torch.float64, device=device), *(() if table is None else table)])
    found, squares = (torch.zeros(shape, dtype=torch.int64, device=device) for shape in ((d, d), (d + 1,)))
    left = torch.zeros(n, dtype=torch.bool, device=device)
    blocks = max(kernel.blocks, -(-n // (_MOST_ROWS // 2)))
    kernel(blocks, points, n, 0 if table is None else len(table[0]), ball, given, found, squares, left)
    return found, squares, left


@cache
def _kernel(d: int, device: Any) -> Kernel | None:
    """Return the kernel for points of d coordinates; None where it cannot be compiled."""
    width = -(-d // 16)
    pairs = width * (width + 1) // 2
    warps = max(-(-pairs // -(-pairs // _MOST_WARPS)), _FEWEST_WARPS)
    warps += warps % 2  # rows are multiplied eight at a time
    return compiled(device, ("moments.cu",), "moment", 8 * 4 * warps * (16 * width + 4), 32 * warps, D=d, WARPS=warps)
