"""Nearest centers of float32 points on a GPU by products of float16 numbers, for any number of coordinates and centers.

The kernels are in ``halves.cu``, with ``fours.cu``.

Why no label differs from the CPU's, with R = 2**16:

- *Encoding* is the same three operations in float64: subtract, multiply, round to even. The squared length is added up in float64 and exact
  up to 2**53; a row that is longer than it may be is left to the caller.
- *Shift*: the centers' rounded mean m, of coordinates up to R, is subtracted from rows z and centers c. That adds to the score
  ``z c - |c|**2 / 2`` what is the same for all centers, and makes both shorter.
- *Halves*: a = (z - m) / 16 and b = (c - m) / 128 are whole numbers over a power of two, far from both ends of float16's range
  (``|a| < 2**14``, ``|b| < 2**15``). What they lose as float16 numbers is known: ``a - half(a)`` exactly for each coordinate, of which a
  row's length is measured; and ``b - half(b)`` for each center. A center may have two parts, whose sum it is: then it loses nothing.
- *Scores*: how far a score half(a) half(b) is ahead of another differs from how far a b is, by what a loses times the difference of the two
  centers, and half(a) times the difference of what these lose. Neither is more than the product of two lengths, and the longest difference
  of any two centers is computed. The products of a score are exact in float32, in which tensor cores add them: neither order nor direction
  of their rounding is specified, only float32's precision, 2**-23 per addition of w (w: coordinates with those that fill up the tiles).
  Then half the squared length of c - m, in these units 4 |b|**2, is rounded and subtracted.
- *Proof*: if the best score is ahead of the second by more than the sum of these bounds (``slack``), then it is in exact arithmetic
  strictly ahead of every other. All other rows are scored in float64: products and sums of whole numbers below 2**53, exact in any order;
  of equal centers the first is taken.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.nn.functional import pad

from feddp_kmeans.silos.gpu.cuda import Kernel, compiled
from feddp_kmeans.silos.gpu.lloyd import TENSOR_ROUNDOFF, UNREACHABLE
from feddp_kmeans.statistics.fixed_point import RESOLUTION

_MOST_COLUMNS = 1 << 12
"""Coordinates for which a row's lengths in float32 are as good as ``_TO_SPARE`` says."""

_SOURCES = "fours.cu", "halves.cu"
_ROW_TILE, _DEPTH, _STAGES = 128, 64, 3
_MOST_HELD = 3
"""Steps of ``_DEPTH`` coordinates up to which a tile of rows stays in shared memory for all centers."""

_MOST_PAIRED = 1 << 12
"""Centers of which all pairs are looked at."""

_PAIR_ROUNDOFF = 2.0**-36
"""Error of a squared distance that is computed from products, in squared lengths: more than 2**12 additions make in float64."""

_THREADS = 256
_BUFFERED = 1 << 25
"""Coordinates that are written as float16 numbers before they are scored: 64 MiB, about the device's cache."""

_SCORED = 1 << 26
"""Exact scores at once: 512 MiB."""

_TO_SPARE = 1.01**2
"""Factor for the rounding of the bounds themselves, and of what is compared with them; and that a half may be longer than its number."""


@dataclass(frozen=True)
class Halves:
    """Centers as float16 numbers, as many as fill up the tiles, and what is needed to score rows against them."""

    centers: Any
    offsets: Any
    shift: Any
    slack: Any
    """How far ahead the best score must be: a number, and what is added to it per unit of a row's length and of its rounding error."""


def halves(targets: Any, width: int, tile: int, parts: int = 1) -> Halves:
    """Return whole centers as float16 numbers of so many coordinates, each in so many parts one after the other, in tiles of so many."""
    (k, d), rest = targets.shape, -len(targets) % tile
    shift = targets.mean(dim=0).round().clamp(-RESOLUTION, RESOLUTION)
    exact = pad((targets - shift) / 128, (0, width - d, 0, rest))
    columns, lost = [], exact
    for _ in range(parts):
        columns.append(lost.to(torch.float16))
        lost = lost - columns[-1]
    vectors = torch.stack([exact, lost])[:, :k]
    squares = vectors.square().sum(dim=2)
    offsets = pad(4 * squares[0], (0, rest), value=UNREACHABLE)  # Scores are in units of 2048: a center over 128, a point over 16.
    longest = squares.amax(dim=1)
    if k > _MOST_PAIRED:
        farthest = 2 * longest.sqrt()
    else:
        apart = torch.baddbmm(squares[:, :, None] + squares[:, None], vectors, vectors.mT, alpha=-2).amax(dim=(1, 2))
        farthest = (apart + _PAIR_ROUNDOFF * longest).sqrt()
    of_length = farthest[1] + 2 * (parts * width + 1) * TENSOR_ROUNDOFF * longest[0].sqrt()
    slack = _TO_SPARE * torch.stack([8 * TENSOR_ROUNDOFF * longest[0], of_length, farthest[0] + of_length])
    return Halves(torch.cat(columns, dim=1), offsets.to(torch.float32), pad(shift, (0, width - d)).to(torch.int32), slack)


def labels(points: Any, center: Any, radius: float, longest: float, targets: Any) -> Any | None:
    """Return each row's nearest whole target, the first of equal ones, and for a row that is too long their number; None where impossible.

    Points are on a GPU, and no target has a coordinate of 2**21 or more.
    """
    (n, d), k, device = points.shape, len(targets), points.device
    width = -(-d // _DEPTH) * _DEPTH
    tile, blocks, parts = _tiling(k, width)
    kernels = _kernels(d, width, tile, blocks, parts, device)
    if kernels is None:
        return None
    halve, nearest = kernels
    there = halves(targets, width, tile, parts)
    numbers = torch.tensor([RESOLUTION / radius, longest], dtype=torch.float64, device=device)
    given = torch.cat([numbers, there.slack, pad(center, (1, width - d))])
    found = torch.empty(n, dtype=torch.int32, device=device)
    wave = nearest.blocks * _ROW_TILE
    held = width <= _MOST_HELD * _DEPTH
    at_once = n if held else max(1, _BUFFERED // (wave * width)) * wave
    buffer = torch.empty((0 if held else min(at_once, -(-n // _ROW_TILE) * _ROW_TILE), width), dtype=torch.float16, device=device)
    slacks = torch.empty(len(buffer), dtype=torch.float32, device=device)
    for start in range(0, n, at_once):
        part = points[start : start + at_once]
        if not held:
            halve(halve.blocks, part, len(part), given, there.shift, buffer, slacks)
        tiles = len(there.centers) // tile, given, there.shift, there.centers, there.offsets
        nearest(-(-len(part) // _ROW_TILE), part, buffer, len(part), k, *tiles, slacks, found[start:])
    for part in (found < 0).nonzero().ravel().split(max(1, _SCORED // max(k, d))):
        found[part] = exact_labels(points[part], center, RESOLUTION / radius, targets).to(torch.int32)
    return found


def exact_labels(points: Any, center: Any, scale: float, targets: Any) -> Any:
    """Return the nearest whole target of each point, the first of equal ones; a coordinate more, of 1, brings in the targets' lengths."""
    d = targets.shape[1]
    encoded = torch.zeros((len(points), d + 2 - d % 2), dtype=torch.float64, device=points.device)
    torch.sub(points[:, :d], center[:d], out=encoded[:, :d])
    encoded[:, :d].mul_(scale).round_()
    encoded[:, d] = 1
    doubled = torch.zeros((len(targets), encoded.shape[1]), dtype=torch.float64, device=points.device)
    doubled[:, :d], doubled[:, d] = 2 * targets, -targets.square().sum(dim=1)
    return (encoded @ doubled.T).argmax(dim=1)


def _tiling(k: int, width: int) -> tuple[int, int, int]:
    """Return how many centers are scored at once, how many blocks of a multiprocessor have registers for that, and a center's parts.

    Where few centers have few coordinates, two parts, which leave half as many doubtful rows, cost hardly more than these.
    """
    tile = 32 if k <= 32 else 64 if k <= (256 if width <= 2 * _DEPTH else 64) else 128
    return tile, 2 if tile == 128 or width > 2 * _DEPTH else 3, 2 if width == _DEPTH and k <= 128 else 1


@cache
def _kernels(d: int, width: int, tile: int, blocks: int, parts: int, device: Any) -> tuple[Kernel, Kernel] | None:
    """Return the kernels for points of d coordinates; None where they cannot be compiled."""
    if d > _MOST_COLUMNS:
        return None
    steps = width // _DEPTH
    shared = 2 * _DEPTH * (_ROW_TILE * (steps if steps <= _MOST_HELD else _STAGES) + tile * _STAGES)
    constants = {"D": d, "WIDTH": width, "PARTS": parts, "TILE": tile, "BLOCKS": blocks}
    halve = compiled(device, _SOURCES, "halve", 12 * width, _THREADS, **constants)
    nearest = compiled(device, _SOURCES, "nearest", shared, _THREADS, **constants)
    return None if halve is None or nearest is None else (halve, nearest)
