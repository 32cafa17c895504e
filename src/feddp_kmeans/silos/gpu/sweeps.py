"""Looks at float32 points on a GPU in a single sweep of its memory, in exact whole numbers.

The kernel is ``sweeps.cu``, with ``tiles.cu`` and ``residuals.cu``; coordinates in a subspace are found by ``turns.cu``.

Why no bit differs from the CPU's, with R = 2**16:

- *Encoding and labels* are those of ``lloyd.py``, for any number of centers: parts in float16, coarse scores with the same bound on their
  error, and for rows whose best score is not ahead by more than twice that, scores in float64, which are exact. No bits of a score
  are replaced, so its error is smaller than stated there.
- *Which rows*: the squared length is added up in float64 and exact up to 2**53. A row that is longer than R would be shortened; it is left
  to the caller. In a subspace coordinates are whole numbers already, their rows may be a little longer, and only such as cannot be
  split into parts (``_WIDEST``) and rows marked as infinite are left.
- *A subspace* (``turns.cu``): products with a whole matrix below 2**53, exact in float64 in any order, over a power of two, rounded; the
  result is below 2**24, so float32 holds it.
- *Squares*: a coordinate less that of its center is a whole number below 2**22 (``_FARTHEST``); its squares are added in 64-bit integers,
  and a sum of 128 of them is below 2**51, so float64 holds it.
- *Factors*: the float64 operations of the statistic in their order; none is fused with another, and division and square root are those of
  IEEE 754, so they are rounded as numpy rounds them. With a bound of at least 1 a factor is at most 2**30.
- *Sums*: a factor times a residual, a weighted square and a weighted count are at most BOUNDED_STEPS = 2**30 in size, since the
  factor makes the whole vector no longer than that. Each is added as ``2**16 high + low``: of 2**16 rows the low parts add up to less than
  2**32, the high ones to at most 2**30. Then both are added to 64-bit integers.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from feddp_kmeans.silos.gpu import halves, lloyd, rows
from feddp_kmeans.silos.gpu.cuda import Kernel, compiled, sent
from feddp_kmeans.silos.gpu.lloyd import MOST_DIMENSIONS
from feddp_kmeans.silos.gpu.tallies import LabelledPoints
from feddp_kmeans.statistics.arithmetic import PROJECTION_STEPS
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.residual_sums import LONGEST_STEPS

_FARTHEST = 2.0**21
"""Limit of a center's coordinates."""

_OFFSET = 0x64660080
"""What an encoded coordinate is stored with; see ``tiles.cu``."""

_WIDEST = 2.0**17 - 128
"""Numbers below this have two parts."""

_LONG = 2.0**40
"""A bound that no residual reaches."""

_NARROW = 32
_MOST_LOOKED, _MOST_SUMMED, _MOST_LABELLED = 1 << 14, 3 << 10, (12 << 10, 9 << 10)
"""Points of so few coordinates, and centers of so many in all, in looks, in plain sums and where only labels are asked for, of up to 64
coordinates and of more, are swept: found by measurement on an H200. Otherwise ``halves.py`` finds labels, and ``tallies.py`` sums."""

_HALVED = 64
"""Coordinates that ``halves.py`` multiplies at once."""

_STAGES, _MOST_WARPS, _FEWEST_WARPS = 2, 16, 8
_MOST_SHARED = 227 * 1024
_MOST_DIRECTIONS = 64
_SPARE = 1 << 31
"""Bytes that are left free beside coordinates in a subspace."""


@dataclass(frozen=True)
class Looked:
    """Each row's nearest center, its squared distance from it, and which rows are left out; those have a label that is no center's."""

    labelled: LabelledPoints
    squares: Any
    left: Any


@dataclass(frozen=True)
class Space:
    """Points that are to be encoded in a ball; or coordinates in a subspace, which are whole numbers already."""

    points: Any
    center: Any
    radius: float
    longest: float

    def looked(self, centers: Any, *, squares: bool = True) -> Looked | None:
        """Return the label of every row, and its square if that is asked for; None where that is impossible."""
        n, d = self.points.shape
        kernel = self._kernel(centers, _MOST_LOOKED if squares else _MOST_LABELLED[d > _HALVED], squares=squares)
        if kernel is not None:
            labels = torch.empty(n, dtype=torch.int32, device=self.points.device)
            found = torch.empty(n if squares else 0, dtype=torch.float64, device=self.points.device)
            left = self._launch(kernel, centers, (0.0,) * 5, labels, labels, found)
            return Looked(self._with(labels), found, left)
        labels = halves.labels(self.points, self.center, self.radius, self.longest, centers)
        if labels is None:
            return None
        there = self._with(labels)
        found = there.squares(centers) if squares else None
        return None if squares and found is None else Looked(there, found, labels == len(centers))

    def _with(self, labels: Any) -> LabelledPoints:
        return LabelledPoints(self.points, self.center, self.radius, labels)

    def residuals(self, centers: Any, bound: float, count_weight: float, square_weight: float | None) -> tuple[Any, Any] | None:
        """Return the sums of weighted residuals, squares and counts of each center, and which rows are left; None where impossible."""
        numbers = bound, count_weight, count_weight**2, square_weight or 0.0, LONGEST_STEPS
        found = self._sums(centers, numbers, _MOST_LOOKED)
        if found is None:
            return None
        sums, numbered, left = found
        return torch.cat([sums, numbered if square_weight is not None else numbered[:, 1:]], dim=1).ravel(), left

    def sums(self, centers: Any) -> tuple[Any, Any] | None:
        """Return the sums of the points nearest to each center, and which rows are left; None where that is impossible.

        They are sums of residuals with a factor of 1, and as many times the center as it has points.
        """
        found = self._sums(centers, (_LONG, 1.0, 1.0, 0.0, _LONG), _MOST_SUMMED)
        if found is None:
            return None
        sums, numbered, left = found
        return (sums + numbered[:, 1:] * centers.to(torch.int64)).ravel(), left

    def _sums(self, centers: Any, numbers: tuple[float, ...], most: int) -> tuple[Any, Any, Any] | None:
        k, d = len(centers), centers.shape[1]
        kernel = self._kernel(centers, most, squares=True, sums=True) if numbers[0] >= 1 else None
        if kernel is None:
            return None
        slots = -(-self.points.shape[1] // 4) + 1
        totals = torch.zeros((k, 4, slots), dtype=torch.int64, device=self.points.device)
        left = self._launch(kernel, centers, numbers, totals, totals, totals)
        columns = totals.transpose(1, 2).reshape(k, 4 * slots)
        return columns[:, :d], columns[:, -4:-2], left

    def _kernel(self, centers: Any, most: int, *, squares: bool, sums: bool = False) -> Kernel | None:
        """Return the kernel of a sweep, if that is the quicker way: where points are narrow, or centers have few coordinates in all."""
        d, k = self.points.shape[1], len(centers)
        return _looker(d, k, squares, sums, self.points.device) if d <= _NARROW or (d <= MOST_DIMENSIONS and d * k <= most) else None

    def _launch(self, kernel: Kernel, centers: Any, numbers: tuple[float, ...], totals: Any, labels: Any, squares: Any) -> Any:
        (n, d), k, device = self.points.shape, len(centers), self.points.device
        wide = np.zeros((-(-k // 16) * 16, -(-d // 16) * 16))
        wide[:k, : centers.shape[1]] = centers.cpu().numpy()
        both, exact = lloyd.halves(wide), np.square(wide).sum(axis=1)
        offsets = np.full(len(wide), lloyd.UNREACHABLE, dtype=np.float32)
        offsets[:k] = exact[:k] / 4096
        starts = np.full((k, 4 * (-(-d // 4) | 1)), _OFFSET, dtype=np.int32)
        starts[:, :d] += wide[:k, :d].astype(np.int32)
        public = np.zeros(9 + wide.shape[1])
        public[:9] = RESOLUTION / self.radius, self.longest, *numbers, *lloyd.slack(wide, both)
        public[9 : 9 + d] = self.center.cpu().numpy()
        left = torch.zeros(n, dtype=torch.bool, device=device)
        there = sent(device, public, lloyd.parts(both), offsets, starts, wide[:k, :d].T, exact[:k])
        kernel(kernel.blocks, self.points, n, k, len(wide) // 16, *there, totals, labels, squares, left)
        return left


def space(points: Any, center: Any, radius: float, projection: Any = None, kept: MutableMapping[Any, Any] | None = None) -> Space | None:
    """Return points in a ball, or their coordinates in a subspace; these are computed once and kept as long as they are asked for."""
    if not points.is_cuda or points.dtype != torch.float32 or not points.is_contiguous() or points.data_ptr() % 16 or not len(points):
        return None
    if projection is None:
        if kept is not None:
            kept.clear()
        return Space(points, center, radius, float(RESOLUTION**2))
    key = tuple(array.cpu().numpy().tobytes() for array in (center, projection)), radius
    if kept is not None and key in kept:
        return Space(*kept[key])
    if kept is not None:
        kept.clear()
    coordinates = _turned(points, center, radius, projection)
    if coordinates is None:
        return None
    found = coordinates, torch.zeros(coordinates.shape[1], dtype=torch.float64, device=points.device), float(RESOLUTION), _WIDEST**2
    if kept is not None:
        kept[key] = found
    return Space(*found)


def in_reach(centers: Any) -> bool:
    """Return whether whole centers are near enough to be looked at in a space."""
    return bool(centers.abs().max() < _FARTHEST)


def _turned(points: Any, center: Any, radius: float, projection: Any) -> Any | None:
    """Return coordinates in a subspace, infinite for rows that would have to be shortened; None where that is impossible."""
    width = -(-projection.shape[1] // 4) * 4
    if not _has_room(points.device, 4 * len(points) * width):
        return None
    kernel = _turner(points.shape[1], width, points.device)
    if kernel is None:
        turned = rows.Rows(points, center, radius).in_subspace(projection) if rows.fits(points) else None
        return turned and turned[0].masked_fill_(turned[1][:, None], torch.inf)
    directions = torch.zeros((-(-points.shape[1] // 4) * 4, -(-width // 8) * 8), dtype=torch.float64, device=points.device)
    directions[: points.shape[1], : projection.shape[1]] = (projection * PROJECTION_STEPS).round()
    ball = torch.cat([center.to(torch.float64), torch.tensor([RESOLUTION / radius], dtype=torch.float64, device=points.device)])
    coordinates = torch.empty((len(points), width), dtype=torch.float32, device=points.device)
    kernel(kernel.blocks, points, len(points), ball, directions, coordinates)
    return coordinates


def _has_room(device: Any, size: int) -> bool:
    free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return bool(size + _SPARE < free)


@cache
def _turner(d: int, width: int, device: Any) -> Kernel | None:
    """Return the kernel that writes so many coordinates in a subspace; None where it cannot be compiled, or needs too much memory."""
    if d > MOST_DIMENSIONS or width > _MOST_DIRECTIONS:
        return None
    chunks, columns = -(-d // 4), -(-width // 8) * 8
    common = 8 * 4 * chunks * (columns + 4) + 32 * chunks
    a_warp = _STAGES * 16 * 16 * (chunks | 1)
    warps = min(_MOST_WARPS, (_MOST_SHARED - common) // a_warp)
    constants = {"D": d, "WIDTH": width, "WARPS": warps, "STAGES": _STAGES, "STEPS_OF_ONE": int(PROJECTION_STEPS)}
    return compiled(device, ("tiles.cu", "turns.cu"), "turn", common + warps * a_warp, 32 * warps, **constants)


@cache
def _looker(d: int, k: int, squares: bool, sums: bool, device: Any) -> Kernel | None:
    """Return the kernel for points of d coordinates and k centers; None where it cannot be compiled, or needs too much memory."""
    chunks, steps, groups = -(-d // 4), -(-d // 16), -(-k // 16)
    a_warp = 16 * (_STAGES * 16 * (chunks | 1) + 16)
    all_parts, all_starts, all_sums = 1024 * groups * steps, 16 * k * (chunks | 1) * squares, 32 * k * (chunks + 1) * sums
    for parts_held, starts_held in ((True, squares), (True, False), (False, False)):
        common = 128 * steps + all_parts * parts_held + all_starts * starts_held + all_sums
        warps = min(_MOST_WARPS if steps == 1 or steps > 4 else 12, (_MOST_SHARED - common) // a_warp)
        if warps >= _FEWEST_WARPS:
            break
    else:
        return None
    constants = {"D": d, "WARPS": warps, "STAGES": _STAGES, "SQUARES": squares, "SUMS": sums}
    numbers = {name: int(value) for name, value in (constants | {"PARTS_HELD": parts_held, "STARTS_HELD": starts_held}).items()}
    sources = "tiles.cu", "residuals.cu", "sweeps.cu"
    return compiled(device, sources, "look", common + warps * a_warp, 32 * warps, **numbers)
