"""Points that do not lie on the device: they are copied to it in pieces, and the next piece while one is worked on."""

import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from feddp_kmeans.errors import InputError

PIECE_BYTES = 1 << 28
"""Bytes of a piece: its copy takes some milliseconds, far longer than to start the work on it."""

_COPY_BYTES = 1 << 24
"""Bytes copied at once: what the work on a piece needs, such as centers, is copied in between."""

_WORTH_BYTES = 1 << 26
"""Bytes from which an array is pinned."""

_READERS = 8
"""Row groups of a Parquet file that are read at once."""

T = TypeVar("T")


class ParquetPoints:
    """One client's points in Parquet files, read again for each sum: columns of numbers, these ones or all.

    Columns of float32 stay float32 if all are; other numbers become float64. A row with a null is left out.
    """

    def __init__(self, paths: str | PathLike[str] | Sequence[str | PathLike[str]], columns: Sequence[str] | None = None) -> None:
        given = [paths] if isinstance(paths, str | PathLike) else list(paths)
        places = [Path(place) for place in given]
        named = [path for place in places for path in (sorted(place.glob("*.parquet")) if place.is_dir() else [place])]
        if not named:
            raise InputError(f"paths must name Parquet files, got {given!r:.200}.")
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            footers = [pq.ParquetFile(path) for path in named]
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"paths must name Parquet files: {error}") from None
        self.columns = tuple(footers[0].schema_arrow.names if columns is None else columns)
        for path, footer in zip(named, footers, strict=True):
            _check_columns(path, footer.schema_arrow, self.columns)
            footer.close()
        single = all(pa.types.is_float32(footer.schema_arrow.field(name).type) for footer in footers for name in self.columns)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._files = [(path, footer.metadata) for path, footer in zip(named, footers, strict=True)]
        self.shape = (sum(footer.num_rows for _, footer in self._files), len(self.columns))

    def pieces(self, rows: int) -> Iterator[Any]:
        """Yield at most ``rows`` points at a time, one column after the other in memory, as files hold them.

        A few row groups are read at once.
        """
        groups = ((path, footer, group) for path, footer in self._files for group in range(footer.num_row_groups))
        with ThreadPoolExecutor(_READERS) as pool:
            waiting = deque(pool.submit(self._read, *group) for group in islice(groups, _READERS))
            while waiting:
                numbers = waiting.popleft().result()
                waiting.extend(pool.submit(self._read, *group) for group in islice(groups, 1))
                yield from (numbers[:, start : start + rows].T for start in range(0, numbers.shape[1], rows))

    def _read(self, path: Path, footer: Any, group: int) -> Any:
        """Return a row group, one column after the other."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(path, metadata=footer) as file:
            table = file.read_row_group(group, list(self.columns))
        numbers = np.empty((len(self.columns), table.num_rows), dtype=self.dtype)
        for place, name in enumerate(self.columns):
            numbers[place] = _numbers(table.column(name))
        return numbers


def _check_columns(path: Path, schema: Any, columns: Sequence[str]) -> None:
    from pyarrow import types

    are_numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    for name in columns:
        if len(schema.get_all_field_indices(name)) != 1:
            raise InputError(f"columns must be in {path.name}, each once, got {name!r:.80}.")
        if not any(is_one(schema.field(name).type) for is_one in are_numbers):
            raise InputError(f"columns must hold numbers, got {schema.field(name).type} in column {name!r:.80} of {path.name}.")
    if not columns:
        raise InputError(f"columns must be at least one, got none in {path.name}.")


def _numbers(cells: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.int8())
    if not pa.types.is_float32(cells.type):
        cells = cells.cast(pa.float64(), safe=False)
    return cells.to_numpy(zero_copy_only=False)


def pinned(points: Any, device: Any) -> Any:
    """Return a tensor of host memory pinned where it lies as long as it exists, if the driver can: a GPU then reads it much faster."""
    if torch.device(device).type != "cuda" or points.nbytes < _WORTH_BYTES or not points.is_contiguous() or points.is_pinned():
        return points
    runtime = torch.cuda.cudart()
    with torch.cuda.device(device):
        if int(runtime.cudaHostRegister(points.data_ptr(), points.nbytes, 0)) == 0:
            weakref.finalize(points, runtime.cudaHostUnregister, points.data_ptr())
        else:
            with suppress(RuntimeError):  # the driver's refusal, which torch finds by its next call
                torch.zeros(1, device=device)
    return points


def on_device(pieces: Iterable[tuple[Any, T]], device: Any) -> Iterator[tuple[Any, T]]:
    """Yield pieces on the device, each with what comes with it; the next one is read and copied while one is worked on."""
    if torch.device(device).type != "cuda":
        yield from _ahead((torch.as_tensor(piece).to(device), tag) for piece, tag in pieces)
        return
    there = torch.cuda.current_stream(device)
    for piece, copied, tag in _ahead(_copied(pieces, device)):
        there.wait_event(copied)
        piece.record_stream(there)
        yield piece, tag


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items; another thread makes the next one."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


def _copied(pieces: Iterable[tuple[Any, T]], device: Any) -> Iterator[tuple[Any, Any, T]]:
    """Yield pieces that are being copied to a GPU, with an event for when they will be there; no longer in order by columns."""
    stream = torch.cuda.Stream(device)
    for given, tag in pieces:
        piece = torch.as_tensor(given)
        by_columns = piece.T.is_contiguous() and not piece.is_contiguous()
        rows = piece.T if by_columns else piece
        if not (rows.is_contiguous() and rows.is_pinned()):
            # torch keeps pinned memory for the next piece, and waits for what is still copied from it.
            rows = torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True).copy_(rows)
        with torch.cuda.stream(stream):
            there = torch.empty(rows.shape, dtype=rows.dtype, device=device)
            numbers = _COPY_BYTES // rows.element_size()
            for source, target in zip(rows.view(-1).split(numbers), there.view(-1).split(numbers), strict=True):
                target.copy_(source, non_blocking=True)
            there = there.T.contiguous() if by_columns else there
            copied = stream.record_event()
        yield there, copied, tag
