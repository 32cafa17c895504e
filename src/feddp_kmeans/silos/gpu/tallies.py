"""Exact sums and squares of labelled float32 points on a GPU, for any number of coordinates and labels.

The kernels are in ``tallies.cu``, with ``fours.cu``.

Why no bit differs from the CPU's, with R = 2**16:

- *Encoding* is the same three operations in float64: subtract, multiply, round to even. Rows whose label is no center's are not added.
- *Sums*: an encoded coordinate is at most R in size, so the sum of 2**14 rows fits 32 bits. A weight times a residual is at most
  BOUNDED_STEPS = 2**30 in size, and so is the weight, unless the residual is zero. It is added as ``2**16 high + low``: of 2**16 rows the
  low parts add up to less than 2**32, the high ones to at most 2**30. Then both are added to 64-bit integers.
- *Squares*: a coordinate less that of its center is a whole number below 2**22; its squares are added in 64-bit integers. A row is not
  longer than 2**18 and a center, as queries may have it, not longer than 2**24, so their sum is below 2**49, and float64 holds it.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from feddp_kmeans.silos.gpu.cuda import Kernel, compiled
from feddp_kmeans.statistics.fixed_point import RESOLUTION

_MOST_SHARED = 227 * 1024
_THREADS, _FEW_THREADS = 1024, 256
_COLUMNS = 32, 16, 8
"""Columns of a block: 128 bytes of a row, or fewer where there are many centers."""

_TURNS = 4
"""Blocks per place where one can run: few, since each gives its sums, but enough to end at one time."""


@dataclass(frozen=True)
class LabelledPoints:
    """Points of a ball, each with the label of a center; or coordinates in a subspace, which are whole numbers already."""

    points: Any
    center: Any
    radius: float
    labels: Any

    def part(self, rows: slice) -> "LabelledPoints":
        """Return some of the rows."""
        return LabelledPoints(self.points[rows], self.center, self.radius, self.labels[rows])

    def sums(self, k: int) -> Any | None:
        """Return the sum of the points of each of k labels; None where that is impossible."""
        return self._sums(k, None, None)

    def weighted_sums(self, origins: Any, weights: Any) -> Any | None:
        """Return the sum of whole weights times residuals around the origin of each label; None where that is impossible."""
        sums = self._sums(len(origins), self._whole(origins), weights)
        return None if sums is None else sums[:, : origins.shape[1]]

    def _sums(self, k: int, starts: Any, weights: Any) -> Any | None:
        (n, d), device, bytes_of_one = self.points.shape, self.points.device, 4 if weights is None else 8
        columns = next((number for number in _COLUMNS if k * number * bytes_of_one <= _MOST_SHARED), _COLUMNS[-1])
        at_once = min(k, _MOST_SHARED // (columns * bytes_of_one))
        kernel = _kernel("tally", d, device, columns, 0 if weights is None else 1, at_once * columns * bytes_of_one)
        if kernel is None:
            return None
        slices, totals = -(-d // columns), torch.zeros((k, d), dtype=torch.int64, device=device)
        parts = max(1, min(_TURNS * kernel.blocks // slices, -(-n // _THREADS)))
        for first in range(0, k, at_once):
            own = self.labels - first if first else self.labels
            sums, origins = totals[first : first + at_once], totals if starts is None else starts[first:]
            given = self._ball(), own, origins, totals if weights is None else weights, sums
            kernel(parts * slices, self.points, n, len(sums), parts, *given)
        return totals

    def squares(self, origins: Any) -> Any | None:
        """Return each point's squared distance from the origin of its label; anything where it has none. None where that is impossible."""
        n, d = self.points.shape
        kernel = _kernel("distances", d, self.points.device)
        if kernel is None:
            return None
        squares = torch.empty(n, dtype=torch.float64, device=self.points.device)
        kernel(kernel.blocks, self.points, n, len(origins), self._ball(), self.labels, self._whole(origins), squares)
        return squares

    def _ball(self) -> Any:
        scale = torch.full((1,), RESOLUTION / self.radius, dtype=torch.float64, device=self.points.device)  # waits for nothing
        return torch.cat([self.center.to(torch.float64), scale])

    def _whole(self, origins: Any) -> Any:
        """Return origins of as many coordinates as the points have, and up to three more, all four of which are read at once."""
        starts = torch.zeros((len(origins), -(-self.points.shape[1] // 4) * 4), dtype=torch.int32, device=self.points.device)
        starts[:, : origins.shape[1]] = origins.to(torch.int32)
        return starts


@cache
def _kernel(name: str, d: int, device: Any, columns: int = _COLUMNS[0], weighted: int = 0, shared: int = 0) -> Kernel | None:
    """Return a kernel for points of d coordinates; None where it cannot be compiled."""
    threads = _THREADS if name == "tally" else _FEW_THREADS
    return compiled(device, ("fours.cu", "tallies.cu"), name, shared, threads, D=d, COLUMNS=columns, WEIGHTED=weighted)
