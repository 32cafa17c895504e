"""Files that are either whole or absent."""

import io
import os
import tempfile
from pathlib import Path

import numpy as np

from feddp_kmeans._typing import FloatArray


def write_whole(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that a reader, or a crash, meets the old one or the new one and nothing in between; on disk before this returns."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def npy_bytes(array: FloatArray) -> bytes:
    """Return the array as the content of an .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
