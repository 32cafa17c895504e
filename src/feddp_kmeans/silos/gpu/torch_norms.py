"""Lengths of vectors that are not whole numbers, or whose squares exceed 2**53: added up in numpy's order, so that no bit differs.

numpy adds up a contiguous row by halves of it, each a multiple of eight numbers, down to at most 128; of these, every eighth number
together, then the eight sums in pairs, then what is left at the end one by one. Squares are not negative, so zeros added to them change
nothing, and rows of any length fit one table of halves.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import torch

from feddp_kmeans._typing import IntArray
from feddp_kmeans.silos.gpu.torch_arithmetic import root
from feddp_kmeans.statistics.arithmetic import LARGEST_TOGETHER
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS

_BLOCK, _LANES = 128, 8
_AT_ONCE = 1 << 25
"""Numbers that are squared at once: 256 MiB, and a few times that while they are added."""


def row_norms(rows: Any) -> Any:
    """Return the Euclidean norm of each row: the bits of ``statistics.fixed_point.row_norms``."""
    return root(squares_of(rows))


def squares_of(rows: Any) -> Any:
    """Return the sum of the squares of each row, added up in numpy's order."""
    step = max(1, _AT_ONCE // max(1, rows.shape[1]))
    found = [_added(rows[start : start + step].square()) for start in range(0, len(rows), step)]
    return torch.cat(found) if found else torch.zeros(0, dtype=torch.float64, device=rows.device)


def _added(squares: Any) -> Any:
    n, width = squares.shape
    places, tail = (torch.as_tensor(table, device=squares.device) for table in _places(width))
    padded = torch.nn.functional.pad(squares, (0, 1))
    eights = padded[:, places.ravel()].reshape(n, len(places), _BLOCK // _LANES, _LANES)
    total = eights[:, :, 0]
    for index in range(1, eights.shape[2]):
        total = total + eights[:, :, index]
    for _ in range(3):
        total = total[..., 0::2] + total[..., 1::2]
    total = total[..., 0]
    last = padded[:, tail.ravel()].reshape(n, *tail.shape)
    for index in range(_LANES - 1):
        total = total + last[:, :, index]
    while total.shape[1] > 1:
        total = total[:, 0::2] + total[:, 1::2]
    return total[:, 0]


@lru_cache(maxsize=256)
def _places(width: int) -> tuple[IntArray, IntArray]:
    """Return for each block of a row the places of its eights and of the rest; ``width`` is the place of a zero."""
    blocks = _blocks(0, width, _depth(width))
    places, tail = np.full((len(blocks), _BLOCK), width), np.full((len(blocks), _LANES - 1), width)
    for index, (start, count) in enumerate(blocks):
        whole = count - count % _LANES
        places[index, :whole] = np.arange(start, start + whole)
        tail[index, : count - whole] = np.arange(start + whole, start + count)
    return places, tail


def _depth(count: int) -> int:
    return 0 if count <= _BLOCK else 1 + max(_depth(_half(count)), _depth(count - _half(count)))


def _blocks(start: int, count: int, depth: int) -> list[tuple[int, int]]:
    """Return start and length of 2**depth blocks, of which some may be empty."""
    if count <= _BLOCK:
        return [(start, count)] + [(start, 0)] * (2**depth - 1)
    half = _half(count)
    return _blocks(start, half, depth - 1) + _blocks(start + half, count - half, depth - 1)


def _half(count: int) -> int:
    return count // 2 - count // 2 % _LANES


def outer_product_norms(encoded: Any, sizes: IntArray) -> Any:
    """Return ``|Z_j^T Z_j|_F`` of every client, whose rows follow one another: the bits of ``arithmetic.outer_product_norms``."""
    norms = torch.zeros(len(sizes), dtype=torch.float64, device=encoded.device)
    starts, dimension = np.cumsum(sizes) - sizes, encoded.shape[1]
    for size in np.unique(sizes[sizes > 0]).tolist():
        members = np.flatnonzero(sizes == size)
        step = max(1, _AT_ONCE // (size * dimension)) if size <= LARGEST_TOGETHER else 1
        for first in range(0, len(members), step):
            some = torch.as_tensor(members[first : first + step], device=encoded.device)
            begins = torch.as_tensor(starts[members[first : first + step]], device=encoded.device)
            norms[some] = _norms_of(encoded, begins, size)
    return norms


def _norms_of(encoded: Any, begins: Any, size: int) -> Any:
    """Return the norms of clients of one size, given where they begin."""
    if size > LARGEST_TOGETHER:
        rows = encoded[int(begins) : int(begins) + size]
        total = torch.zeros((rows.shape[1],) * 2, dtype=torch.float64, device=rows.device)
        for start in range(0, size, EXACT_ROWS):
            part = rows[start : start + EXACT_ROWS]
            total = total + part.T @ part
        return row_norms(total.reshape(1, -1))
    points = encoded[begins[:, None] + torch.arange(size, device=encoded.device)]
    turned = points.transpose(1, 2)
    return row_norms((points @ turned if size < points.shape[2] else turned @ points).reshape(len(begins), -1))
