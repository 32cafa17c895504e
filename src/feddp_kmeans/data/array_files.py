"""Files without column names: NumPy arrays (.npy, .npz), scipy's sparse .npz, and SVMlight. Columns are called x0, x1, ...

An SVMlight file does not state how many features there are, nor whether they are counted from 0 or from 1. The public server file decides
both for all clients; a client's features beyond the server's last one are dropped.
"""

import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.federation.in_memory import ArraySource

ARRAYS = (".npy", ".npz")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
_SVM_ROWS = 10_000


def array_columns(path: Path) -> tuple[str, ...]:
    """Return names for the columns of a file without any."""
    if path.suffix.lower() in SVMLIGHT:
        return _svm_columns(path)
    return tuple(f"x{i}" for i in range(_load(path).shape[1]))


def array_pieces(path: Path, columns: tuple[str, ...], rows: int) -> Iterator[FloatArray]:
    """Yield the rows, at most ``rows`` at a time; all columns of an array, these features of an SVMlight file."""
    if path.suffix.lower() in SVMLIGHT:
        yield from _svm_pieces(path, columns, rows)
        return
    for piece in ArraySource(_load(path)).pieces(rows):
        yield piece.toarray() if sparse.issparse(piece) else piece


def _load(path: Path) -> Any:
    array = np.load(path, mmap_mode="r", allow_pickle=False) if path.suffix.lower() == ".npy" else _load_npz(path)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise FedDPError(f"{path.name} must hold a two-dimensional array of numbers, got {array.dtype} of shape {array.shape}.")
    return array


def _load_npz(path: Path) -> Any:
    with path.open("rb") as file:
        loaded = np.load(file, allow_pickle=False)
        names = list(getattr(loaded, "files", ()))
        if {"format", "shape", "data"} <= set(names):
            return sparse.load_npz(path).tocsr()
        if len(names) != 1:
            raise FedDPError(f"{path.name} must hold one array, got {len(names)}: {', '.join(names[:5])}.")
        return loaded[names[0]]


def _svm_columns(path: Path) -> tuple[str, ...]:
    first, end = 1, 0
    for part in _svm_parts(path, _SVM_ROWS):
        if part.nnz:
            first, end = min(first, int(part.indices.min())), max(end, int(part.indices.max()) + 1)
    return tuple(f"x{i}" for i in range(first, end))


def _svm_pieces(path: Path, columns: tuple[str, ...], rows: int) -> Iterator[FloatArray]:
    if not all(re.fullmatch(r"x\d{1,9}", name) for name in columns):
        raise FedDPError(f"{path.name} must stand beside other SVMlight files: its features have no names like {columns[0]!r}.")
    features = [int(name[1:]) for name in columns]
    for part in _svm_parts(path, rows):
        if min(features) == 1 and part.nnz and part.indices.min() == 0:
            raise FedDPError(f"{path.name} must count features from 1 as the server's file does, got feature 0.")
        part.resize((part.shape[0], max(features) + 1))
        yield part[:, features].toarray().astype(np.float64)


def _svm_parts(path: Path, rows: int) -> Iterator[Any]:
    from sklearn.datasets import load_svmlight_file

    with path.open("rb") as file:
        while lines := list(islice(file, rows)):
            yield load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)[0]
