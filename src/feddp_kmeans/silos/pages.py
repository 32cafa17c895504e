"""Arrays in memory-mapped files: pages that were read are released, so that a table larger than memory can stream through it."""

import mmap
from typing import Any

import numpy as np

_HELD_BYTES = 1 << 25
"""Bytes that are read before their pages are released."""


class ReadPages:
    """Counts what was read of one array and releases its pages. Does nothing for an array in memory."""

    def __init__(self, array: Any) -> None:
        self._file = _mapped_file(array)
        self._held = 0

    def add(self, piece: Any) -> None:
        """Note that a piece was read. It may still be in use: its pages then come back from the file."""
        if self._file is None:
            return
        self._held += piece.nbytes
        if self._held >= _HELD_BYTES:
            self._file.madvise(mmap.MADV_DONTNEED)
            self._held = 0


def _mapped_file(array: Any) -> mmap.mmap | None:
    """Return the file map of an array or a view; None where pages may hold changes that are in no file."""
    shared = False
    while isinstance(array, np.ndarray):
        shared = shared or (isinstance(array, np.memmap) and array.mode != "c")
        array = array.base
    can_drop = isinstance(array, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED")
    return array if shared and can_drop else None
