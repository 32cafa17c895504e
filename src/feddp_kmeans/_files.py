"""Files that are either whole or absent, and folders that one process works in at a time."""

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
"""Seconds between two looks at a lock that somebody else holds."""


def write_whole(path: Path, content: bytes, *, mode: int = 0o644, lasting: bool = True) -> None:
    """Write a file so that a reader, or a crash, meets the old one or the new one and nothing in between; on disk before this returns.

    What a process that was killed at this has left behind is removed. What need not be ``lasting`` survives a kill, but a power cut may
    bring the old one back.
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
    """Put a folder's list of files on disk. Windows opens no folder, and writes the list itself when a file is replaced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path, *, needed: bool = True) -> Iterator[bool]:
    """Keep other processes and threads that lock this folder out for as long as the block runs; a killed process locks nothing.

    What is read, changed and written back inside the block is not lost to anybody else's doing the same. May be nested. Yields whether
    the folder is locked: some disks on a network know no locks, which is an error where one is needed.
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
        if has_fcntl and lock.lock_counter == 1:  # elsewhere filelock does it; whoever has opened the file that is gone tries again
            (folder / _LOCK).unlink(missing_ok=True)
        lock.release()


def npy_bytes(array: FloatArray) -> bytes:
    """Return the array as the content of an .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
