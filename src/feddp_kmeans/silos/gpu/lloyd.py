"""One Lloyd pass over float32 points on a GPU in a single sweep of its memory, in exact whole numbers.

The kernel is ``lloyd.cu``, with ``tiles.cu``.

Why no bit differs from the CPU's, with R = 2**16 and d coordinates:

- *Encoding* is the same three operations in float64: subtract, multiply, round (by adding 1.5 * 2**52, ties to even). A row is used
  where its length, summed in float32, is below R (1 - 2**-7): rounding moves that by less than R * 2**-10, so the row is not clipped.
  The other rows are left to the caller.
- *Sums*: z = 256 high + low with ``|high| <= 256``, ``|low| <= 128``, so 16 high and low / 16 are exact in float16, and the sum of 2**16
  rows is exact in float32, in which tensor cores add. Then it is added to 64-bit integers.
- *Labels*: a center over 128 is exactly a sum of two float16 numbers, a large and a small one. The error of a score ``z c - |c|**2 / 2``
  is the product of the low parts and the small numbers, which is left out, and the rounding of sums: w products of high parts and large
  numbers (w: d rounded up to 16), 2 w smaller ones, three last operations and four bits that the center's index replaces. Neither order
  nor direction of a tensor core's rounding is specified, only float32's precision: 2**-23 per addition. ``slack`` bounds twice all that.
  A row whose best score is not ahead by more is scored in float64, which is exact.
"""

import math
from functools import cache
from typing import Any

import numpy as np
import torch

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.silos.gpu.cuda import Kernel, compiled, sent
from feddp_kmeans.statistics.fixed_point import RESOLUTION

MOST_DIMENSIONS, MOST_CENTERS = 128, 16
_WARPS, _STAGES, _BLOCKS = 4, 2, 3
"""Warps per block, tiles that a block holds, and blocks per multiprocessor: found by measurement."""

_SURE = (1 - 2.0**-7) ** 2
"""Rows whose squared length is below this fraction of R**2 are not clipped."""

_FARTHEST = 2.0**22
"""Limit of coordinates that are a sum of two float16 numbers of 11 bits."""

_MOST_SHIFT = 2.0**8
"""Largest coordinate of the ball's center, in radii, for lengths in float32."""

_LONGEST_RADIUS = 2.0**80
"""Up to this radius, scales and lengths stay far from the ends of float32's range."""

UNREACHABLE = 3e38
"""Half the square of a center that no point is near: it fills up the 16."""

TENSOR_ROUNDOFF = 2.0**-23
"""Precision with which tensor cores add, whatever the order and the direction of their rounding."""

_TO_SPARE = 1.01
"""Factor for the rounding of the bounds themselves, of what is compared with them, and of a length's square root."""


def fits(points: Any, center: Any, radius: float, targets: Any) -> bool:
    """Return whether one sweep can make a pass over these points."""
    if not points.is_cuda or points.dtype != torch.float32 or not points.is_contiguous() or points.data_ptr() % 16:
        return False
    small = 1 <= points.shape[1] <= MOST_DIMENSIONS and 1 <= len(targets) <= MOST_CENTERS
    if not small or not len(points) or not 1 / _LONGEST_RADIUS < radius < _LONGEST_RADIUS:
        return False
    in_reach = bool(targets.abs().max() < _FARTHEST) and bool(center.abs().max() <= _MOST_SHIFT * radius)
    return in_reach and _kernel(points.shape[1], points.device) is not None


def lloyd_pass(points: Any, center: Any, radius: float, targets: Any) -> tuple[Any, Any, Any]:
    """Return sums and counts of the points nearest to each integer target, and which rows are left out since they may be clipped."""
    (n, d), k, device = points.shape, len(targets), points.device
    kernel = _kernel(d, device)
    assert kernel is not None
    given = sent(device, _public(center.cpu().numpy(), RESOLUTION / radius, targets.cpu().numpy()))
    sums = torch.zeros((MOST_CENTERS, d), dtype=torch.int64, device=device)
    counts = torch.zeros(MOST_CENTERS, dtype=torch.int64, device=device)
    left = torch.zeros(n, dtype=torch.bool, device=device)
    kernel(min(-(-n // (16 * _WARPS)), kernel.blocks), points, n, *given, sums, counts, left)
    return sums[:k], counts[:k], left


@cache
def _kernel(d: int, device: Any) -> Kernel | None:
    """Return the kernel for points of d coordinates; None where it cannot be compiled."""
    rows, chunks, steps = 16 * _WARPS, -(-d // 4), -(-d // 16)
    shared = _STAGES * rows * 16 * (chunks | 1) + 2 * rows * 48 + steps * 1024 + 64
    constants = {"D": d, "WARPS": _WARPS, "STAGES": _STAGES, "BLOCKS": _BLOCKS}
    return compiled(device, ("tiles.cu", "lloyd.cu"), "lloyd", shared, 32 * _WARPS, **constants)


def _public(center: FloatArray, scale: float, targets: FloatArray) -> Any:
    """Return everything but the points, in the bytes of the kernel's ``Public``."""
    k, d = targets.shape
    wide = np.zeros((MOST_CENTERS, -(-d // 16) * 16))
    wide[:k, :d] = targets
    squares = np.full(MOST_CENTERS, np.inf)
    squares[:k] = np.square(targets).sum(axis=1)
    middle = np.zeros(wide.shape[1])
    middle[:d] = center
    both = halves(wide)
    offsets = np.minimum(squares / 4096, UNREACHABLE)  # Scores are in units of 2048: a center over 128, a point over 16.
    exact = np.concatenate([[scale], squares, middle, wide.T.ravel()])
    coarse = np.concatenate([[scale, RESOLUTION**2 * _SURE, *slack(wide, both)], offsets, middle * scale])
    return np.frombuffer(b"".join(array.tobytes() for array in (parts(both), exact, coarse.astype(np.float32))), dtype=np.uint8)


def slack(wide: FloatArray, both: Any) -> tuple[float, float]:
    """Return how far ahead the best score must be: a number, and what is added to it per unit of a point's length.

    Centers are given, and the ``halves`` that they are the sum of.
    """
    width, longest, small = wide.shape[1], _longest(wide), 128 * _longest(both[1].astype(np.float64))
    low, last = 128 * math.sqrt(width), 2.0**-18
    high_sum, low_sum = width * TENSOR_ROUNDOFF, 2 * width * TENSOR_ROUNDOFF
    of_length = longest * (high_sum + low_sum / 1024 + last)
    fixed = of_length * (low + RESOLUTION / 1024) + longest * (low_sum * low + last * (low + longest / 2)) + low * small
    unit = _TO_SPARE**2 * 2 / 2048
    return unit * fixed + 1e-30, unit * of_length


def _longest(vectors: FloatArray) -> float:
    return math.sqrt(np.square(vectors).sum(axis=1).max())


def halves(wide: FloatArray) -> Any:
    """Return the centers over 128 as the two float16 numbers that they are the sum of, the large and the small one."""
    exact = torch.from_numpy(wide / 128)  # In numpy the conversion takes three times as long.
    large = exact.to(torch.float16)
    return torch.stack([large, (exact - large).to(torch.float16)]).numpy()


def parts(both: Any) -> Any:
    """Return those numbers in the order in which the lanes of a warp read them."""
    ordered = both.reshape(2, -1, 2, 8, both.shape[2] // 16, 4, 2, 2)  # part, 16 centers, half, group, step, lane, pair, coordinate
    return ordered.transpose(1, 4, 0, 3, 5, 6, 2, 7)
