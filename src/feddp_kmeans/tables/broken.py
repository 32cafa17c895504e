"""Files that cannot be read: one line that names the file, and nothing that is in it."""

import os
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError

import pyarrow as pa

from feddp_kmeans.errors import FedDPError

_BROKEN = (
    pa.ArrowException,
    zipfile.BadZipFile,
    zlib.error,
    TokenError,
    SyntaxError,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
    MemoryError,
    RuntimeError,
)
"""What readers raise at files that are not what they seem: NumPy reads a header as Python, zipfile knows ciphers and odd packings."""


class UnreadableFileError(FedDPError):
    """A file that cannot be read as what its name says."""


class named_errors:  # noqa: N801 - reads as a function where it is used
    """Turns a reader's exception into one line that names the file, and nothing that is in it: readers quote cells."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _BROKEN) and not isinstance(error, FedDPError):
            number = error.errno if isinstance(error, OSError) else None
            why = os.strerror(number) if number else "it is broken, or not what its name says"
            raise UnreadableFileError(f"{self._path.name} must be a readable {self._path.suffix} table: {why}.") from None
