"""Files that are either whole or absent, and folders in which one process works at a time."""

import glob
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from filelock import FileLock, has_fcntl

from feddp_kmeans._typing import FloatArray

_UNFINISHED, _LOCK = ".unfinished", ".feddp.lock"
_LOOK = 0.01
"""Seconds between two attempts to take a lock that somebody else holds."""


def write_whole(path: Path, content: bytes, *, mode: int = 0o644, lasting: bool = True) -> None:
    """Write a file so that readers see the old or the new content and nothing in between, also after a crash; on disk before this returns.

    Leftovers of killed processes are removed. A file that is not ``lasting`` survives a kill, but a power cut may bring back the old one.
    """
    with locked(path.parent, needed=False) as alone:
        if alone:
            for left in path.parent.glob(f".{glob.escape(path.name)}.*{_UNFINISHED}"):
                left.unlink(missing_ok=True)
        _write_whole(path, content, mode, lasting=lasting)
        if lasting:
            _sync(path.parent)


def _write_whole(path: Path, content: bytes, mode: int, *, lasting: bool) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """Write a folder's list of files to disk. Windows cannot open a folder, and writes the list itself when a file is replaced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path, *, needed: bool = True) -> Iterator[bool]:
    """Yield whether the folder is locked: other processes and threads wait until the block ends. A killed process locks nothing.

    May be nested. Some network disks have no locks, which is an error if a lock is needed.
    """
    folder.stat()  # filelock would make a folder that is not there
    lock = FileLock(folder / _LOCK, is_singleton=True, fallback_to_soft=False, poll_interval=_LOOK)
    try:
        lock.acquire()
    except OSError:
        if needed:
            raise
        yield False
        return
    try:
        yield True
    finally:
        if has_fcntl and lock.lock_counter == 1:  # elsewhere filelock does it; who had the deleted file open tries again
            (folder / _LOCK).unlink(missing_ok=True)
        lock.release()


def npy_bytes(array: FloatArray) -> bytes:
    """Return the array as the content of an .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
