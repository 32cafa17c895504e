"""One Lloyd pass over float32 points on a GPU in a single sweep of its memory, in exact whole numbers. Needs Triton.

Tensor cores multiply exactly where numbers are small. So an encoded coordinate (17 bits) is split into two parts of 8 and 9 bits, and a
center's into three of 8: products of such parts add up in float32 without any rounding, over 128 coordinates and over 32,768 points.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from feddp_kmeans.privacy.fixed_point import RESOLUTION

MOST_DIMENSIONS, MOST_CENTERS = 128, 16
_ROWS, _LOOPS = 32, 1024
"""Rows of a tile, and tiles of a program: 2**15 rows, whose parts of 9 bits add up below 2**24."""

_SURE = (1 - 2.0**-7) ** 2
"""Rows of a squared norm below this part of R**2 are not clipped; the others are left to the caller."""

_FARTHEST = 2.0**22
"""Centers that three parts of 8 bits can tell."""

_ROUND = 6755399441055744.0
"""1.5 * 2**52: a number added to it is rounded to the nearest whole one, which stands in its last 32 bits."""


@triton.jit
def _sweep(
    points, center, scales, targets, offsets, sums, counts, left, n, largest,  # noqa: ANN001
    d: tl.constexpr, ROWS: tl.constexpr, LOOPS: tl.constexpr, D: tl.constexpr, K: tl.constexpr, ROUND: tl.constexpr,
) -> None:  # fmt: skip
    columns, ks = tl.arange(0, D), tl.arange(0, K)
    inside = columns < d
    scale = tl.load(scales)
    middle = tl.load(center + columns, mask=inside, other=0.0)
    # Side by side the centers' low, middle and high parts, and a fourth of zeros.
    parts = tl.load(targets + columns[:, None] * (4 * K) + tl.arange(0, 4 * K)[None, :])
    which = tl.arange(0, 4 * K) // K
    weights = tl.where(which == 0, 2.0, tl.where(which == 1, 512.0, tl.where(which == 2, 131072.0, 0.0))).to(tl.float64)
    offset = tl.load(offsets + ks)
    sum_low = tl.zeros((D, K), dtype=tl.float32)
    sum_high = tl.zeros((D, K), dtype=tl.float32)
    count = tl.zeros((K,), dtype=tl.int32)
    first = tl.program_id(0).to(tl.int64) * (ROWS * LOOPS)
    for loop in tl.range(0, LOOPS, num_stages=1):
        rows = first + loop * ROWS + tl.arange(0, ROWS)
        there = rows < n
        x = tl.load(points + rows[:, None] * d + columns[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        shifted = (x.to(tl.float64) - middle[None, :]) * scale + ROUND
        z = tl.where(inside[None, :], shifted.to(tl.int64, bitcast=True).to(tl.int32), 0)
        exact = z.to(tl.float32)
        norms = tl.sum(exact * exact, axis=1)
        sure = there & (norms < largest)
        tl.store(left + rows, (there & (norms >= largest)).to(tl.int8), mask=there)
        upper = (z + 128) >> 8
        z_high = upper.to(tl.bfloat16)
        z_low = (z - (upper << 8)).to(tl.bfloat16)
        products = tl.dot(z_low, parts).to(tl.float64) + 256.0 * tl.dot(z_high, parts).to(tl.float64)
        scores = tl.sum(tl.reshape(products * weights[None, :], (ROWS, 4, K)), axis=1) - offset[None, :]
        label = tl.argmax(scores, axis=1, tie_break_left=True)
        chosen = (label[:, None] == ks[None, :]) & sure[:, None]
        count += tl.sum(chosen.to(tl.int32), axis=0)
        marked = chosen.to(tl.bfloat16)
        sum_low = tl.dot(tl.trans(z_low), marked, sum_low)
        sum_high = tl.dot(tl.trans(z_high), marked, sum_high)
    total = sum_low.to(tl.int64) + 256 * sum_high.to(tl.int64)
    tl.atomic_add(sums + ks[None, :] * D + columns[:, None], total)
    tl.atomic_add(counts + ks, count.to(tl.int64))


def fits(points: Any, targets: Any) -> bool:
    """Return whether a pass over these points can be made by the one sweep."""
    in_reach = points.shape[1] <= MOST_DIMENSIONS and len(targets) <= MOST_CENTERS and bool(targets.abs().max() < _FARTHEST)
    return in_reach and bool(points.is_cuda and points.dtype == torch.float32 and points.is_contiguous())


def lloyd_pass(points: Any, center: Any, radius: float, targets: Any) -> tuple[Any, Any, Any]:
    """Return sums and counts of the points nearest to each integer target, and the rows that may have to be clipped, left out of both."""
    n, d = points.shape
    k, device = len(targets), points.device
    wide = torch.zeros((MOST_DIMENSIONS, MOST_CENTERS), dtype=torch.int64, device=device)
    wide[:d, :k] = targets.T.to(torch.int64)
    low = ((wide + 128) & 255) - 128
    rest = (wide - low) >> 8
    mid = ((rest + 128) & 255) - 128
    parts = torch.cat([low, mid, (rest - mid) >> 8, torch.zeros_like(low)], dim=1).to(torch.bfloat16).contiguous()
    offsets = torch.full((MOST_CENTERS,), float("inf"), dtype=torch.float64, device=device)
    offsets[:k] = targets.to(torch.float64).square().sum(dim=1)
    sums = torch.zeros((MOST_CENTERS, MOST_DIMENSIONS), dtype=torch.int64, device=device)
    counts = torch.zeros(MOST_CENTERS, dtype=torch.int64, device=device)
    left = torch.empty(n, dtype=torch.int8, device=device)
    # A number given to a kernel is float32; this one must be float64.
    scales = torch.full((1,), RESOLUTION / radius, dtype=torch.float64, device=device)
    grid = (triton.cdiv(n, _ROWS * _LOOPS),)
    _sweep[grid](
        points, center.to(torch.float64), scales, parts, offsets, sums, counts, left, n, RESOLUTION**2 * _SURE,
        d=d, ROWS=_ROWS, LOOPS=_LOOPS, D=MOST_DIMENSIONS, K=MOST_CENTERS, ROUND=_ROUND, num_warps=2,
    )  # fmt: skip
    return sums[:k, :d], counts[:k], left.bool()
