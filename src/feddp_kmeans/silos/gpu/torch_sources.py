"""Where the points of clients lie: on the device, or in host memory or files, from where they are streamed to it."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, groupby
from typing import Any

import numpy as np
import torch
from scipy import sparse

from feddp_kmeans._typing import BoolArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.batches import as_floats, runs_of
from feddp_kmeans.silos.gpu.streams import PIECE_BYTES, on_device, pinned
from feddp_kmeans.silos.memory import as_points

_FEW_NUMBERS, _MOST_COPIED = 1 << 22, 1 << 32
"""Clients of fewer numbers than this are small: a sum over one takes milliseconds, whatever it holds. And the most bytes of their copy."""


@dataclass
class Source:
    """The points of some clients: client j holds rows ``starts[j]:starts[j + 1]`` of a tensor; or of what yields ``pieces``, one client.

    Rows are *present* if they are finite; where missing cells are to be filled, if any cell is.
    """

    points: Any
    starts: IntArray
    device: Any
    finite: Any = field(init=False, default=None)
    """The rows that are finite, where the points are on the device."""
    kept: dict[Any, Any] = field(init=False, default_factory=dict)
    """Coordinates in a subspace, for the next sum."""

    def __post_init__(self) -> None:
        if self.is_there:
            rows = present(self.points, filled=False)
            self.finite = self.points if bool(rows.all()) else self.points[rows]

    @property
    def is_there(self) -> bool:
        """Return whether the points are on the device."""
        return bool(torch.is_tensor(self.points) and self.points.device == self.device)

    @property
    def sizes(self) -> IntArray:
        """Return how many rows each client has."""
        return np.diff(self.starts)

    def pieces(self, device: Any) -> Iterator[Any]:
        """Yield all rows on this device, in pieces."""
        yield from (piece for piece, _ in self._moved(((piece, None) for piece in self._pieces()), device))

    def clients(self, rows: int, most: int, cohort: BoolArray | None, device: Any) -> Iterator[tuple[Any, IntArray]]:
        """Yield the rows of the clients of the cohort (None: all) on this device, each whole, and how many each has; so many at a time."""
        if not torch.is_tensor(self.points):
            if cohort is None or cohort[0]:
                none = torch.empty((0, self.points.shape[1]), dtype=torch.float32, device=device)
                yield torch.cat([none, *self.pieces(device)]), self.sizes
            return
        for piece, (sizes, taken) in self._moved(self._runs(rows, most, cohort), device):
            if taken is None:
                yield piece, sizes
            else:
                yield piece[torch.as_tensor(np.repeat(taken, sizes), device=piece.device)], sizes[taken]

    def _runs(self, rows: int, most: int, cohort: BoolArray | None) -> Iterator[tuple[Any, tuple[IntArray, BoolArray | None]]]:
        for begin, stop in runs_of(self.starts, rows):
            for first in range(begin, stop, most):
                end = min(first + most, stop)
                taken = None if cohort is None else cohort[first:end]
                if taken is None or taken.any():
                    yield self.points[int(self.starts[first]) : int(self.starts[end])], (self.sizes[first:end], taken)

    def _pieces(self) -> Iterator[Any]:
        width = max(1, self.points.shape[1])
        if not torch.is_tensor(self.points):
            yield from self.points.pieces(max(1, PIECE_BYTES // (8 * width)))
        else:
            yield from self.points.split(max(1, PIECE_BYTES // (self.points.element_size() * width)))

    def _moved(self, pieces: Any, device: Any) -> Any:
        return pieces if torch.is_tensor(self.points) and self.points.device == device else on_device(pieces, device)


def sources_of(clients: Sequence[Any], device: Any) -> list[Source]:
    """Return where the points of clients lie. Small tensors that follow one another become one table, a copy, if there is room."""
    few = [torch.is_tensor(client) and client.numel() < _FEW_NUMBERS for client in clients]
    room = torch.cuda.mem_get_info(device)[0] // 4 if device.type == "cuda" else _MOST_COPIED
    if sum(client.nbytes for client in compress(clients, few)) > min(room, _MOST_COPIED):
        few = [False] * len(clients)
    kinds = [(client.device, client.dtype) if small else place for place, (client, small) in enumerate(zip(clients, few, strict=True))]
    groups = [[clients[index] for index in run] for _, run in groupby(range(len(clients)), kinds.__getitem__)]
    return [Source(_one_table(group, device), np.cumsum([0, *(client.shape[0] for client in group)]), device) for group in groups]


def _one_table(group: Sequence[Any], device: Any) -> Any:
    if len(group) == 1:
        return group[0]
    table = torch.cat(group)
    return pinned(table, device) if table.device.type == "cpu" else table


def points_of(client: Any, name: str, device: Any = None) -> Any:
    """Return a client's points as they are, as a tensor or with ``pieces``; or an array as a tensor in host memory, float32 or float64.

    One that is no file's is pinned for a GPU.
    """
    if torch.is_tensor(client) or hasattr(client, "pieces"):
        return client
    array = as_points(client, name)
    if sparse.issparse(array):
        raise InputError(f"{name} must be a dense array or a tensor, got a sparse matrix.")
    floats = as_floats(array)
    if not floats.dtype.isnative or min(floats.strides) < 0:
        floats = np.array(floats, dtype=floats.dtype.newbyteorder("="))
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that nobody may write to a mapped file: nobody does
        points = torch.from_numpy(floats)
    return pinned(points, device) if device is not None and _has_memory(floats) else points


def _has_memory(array: Any) -> bool:
    """Return whether the numbers lie in memory that numpy holds, and not in a file that may be larger."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return bool(array.flags.owndata)


def device_of(points: Sequence[Any], device: Any) -> Any:
    """Return the device that is meant, with its number: that of the first tensor where none is given."""
    tensors = [client for client in points if torch.is_tensor(client)]
    chosen = torch.device(device) if device is not None else tensors[0].device if tensors else torch.device("cpu")
    return torch.empty(0, device=chosen).device


def present(rows: Any, *, filled: bool) -> Any:
    """Return which rows have only finite cells; where missing ones are filled, which have any."""
    cells = torch.isfinite(rows)
    return cells.any(dim=1) if filled else cells.all(dim=1)


def present_rows(rows: Any, *, filled: bool) -> Any:
    """Return the rows that are present."""
    there = present(rows, filled=filled)
    return rows if bool(there.all()) else rows[there]


def present_clients(rows: Any, sizes: IntArray, *, filled: bool) -> tuple[Any, IntArray]:
    """Return the rows that are present, and how many of them each client has."""
    there = present(rows, filled=filled)
    if bool(there.all()):
        return rows, sizes
    before = np.concatenate([[0], there.cumsum(0).cpu().numpy()])
    return rows[there], np.diff(before[np.concatenate([[0], np.cumsum(sizes)])])


def joined(clients: Iterable[tuple[Any, IntArray]], rows: int, most: int) -> Iterator[tuple[Any, IntArray]]:
    """Yield clients joined to so many rows and so many clients; more are joined no further."""
    held: list[tuple[Any, IntArray]] = []
    n_rows, count = 0, 0
    for points, sizes in clients:
        n_rows, count = n_rows + len(points), count + len(sizes)
        if held and (n_rows > rows or count > most):
            yield _together(held)
            held, n_rows, count = [], len(points), len(sizes)
        held.append((points, sizes))
        if n_rows >= rows or count >= most:
            yield _together(held)
            held, n_rows, count = [], 0, 0
    if held:
        yield _together(held)


def _together(held: list[tuple[Any, IntArray]]) -> tuple[Any, IntArray]:
    parts = [part for part, _ in held]
    if len({part.dtype for part in parts}) > 1:  # torch would make float32 of these and whole numbers
        parts = [part.to(torch.float64) for part in parts]
    points = parts[0] if len(parts) == 1 else torch.cat(parts)
    return points, np.concatenate([sizes for _, sizes in held])
