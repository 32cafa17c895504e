"""Files without column names: NumPy arrays (.npy, .npz), scipy's sparse .npz, and SVMlight. Columns are called x0, x1, ...

An SVMlight file states neither the number of features nor whether they are counted from 0 or from 1. The public server file decides both
for all clients; features of a client beyond the server's last one are dropped.
"""

import io
import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.memory import ArraySource
from feddp_kmeans.silos.silo import numbered_columns
from feddp_kmeans.statistics.fixed_point import MAX_DIMENSION
from feddp_kmeans.tables.cells import listed
from feddp_kmeans.tables.csv_files import Count, line_blocks, silent

ARRAYS = (".npy", ".npz")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
_SVM_ROWS = 10_000
_UNPACKED_BYTES, _MOST_PACKED = 1 << 28, 200
"""An archive may unpack to this many bytes, or to this many times its own size, whichever is more."""
_SPARSE_ROWS = 1 << 24
"""A sparse matrix may have this many rows, or 1,000 rows per value, whichever is more."""
_SPARSE = ("csr", "csc", "coo")
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def array_columns(path: Path) -> tuple[str, ...]:
    """Return made-up names for the columns of a file that has none."""
    if path.suffix.lower() in SVMLIGHT:
        return _svm_columns(path)
    return numbered_columns(_load(path).shape[1])


def array_pieces(path: Path, columns: tuple[str, ...], rows: int, left_out: Count = silent) -> Iterator[FloatArray]:
    """Yield at most ``rows`` rows at a time: all columns of an array, or these features of an SVMlight file."""
    if path.suffix.lower() in SVMLIGHT:
        yield from _svm_pieces(path, columns, rows, left_out)
        return
    for piece in ArraySource(_load(path)).pieces(rows):
        yield piece.toarray() if sparse.issparse(piece) else piece


def _load(path: Path) -> Any:
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # NumPy's advice on headers that Python 2 wrote
        array = _load_npz(path) if path.suffix.lower() == ".npz" else _load_npy(path)
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.shape[1] > MAX_DIMENSION:
        rule = f"a two-dimensional array of numbers with at most {MAX_DIMENSION} columns"
        raise InputError(f"{path.name} must hold {rule}, got {array.dtype} of shape {array.shape}.")
    return array


def _load_npy(path: Path) -> Any:
    with path.open("rb") as file:
        _check_header(path, file, path.stat().st_size)
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _check_header(path: Path, file: IO[bytes], size: int) -> None:
    """Refuse an array whose header does not fit its size in bytes: NumPy would allocate what the header states."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise InputError(f"{path.name} must hold plain arrays of numbers, got one of format {version}.")
    shape, _, dtype = _HEADERS[version](file)
    if dtype.hasobject or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - file.tell():
        raise InputError(f"{path.name} must hold whole arrays of numbers, got {dtype} of shape {shape} in {size} bytes.")


def _load_npz(path: Path) -> Any:
    check_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        if {"format", "shape", "data"} <= set(arrays):
            return _sparse(path)
        if len(arrays) != 1:
            raise InputError(f"{path.name} must hold one array, got {len(arrays)}: {listed(list(arrays), 5)}.")
        return next(iter(arrays.values()))


def check_npz(path: Path) -> None:
    """Refuse an .npz file that would unpack to far more than its own size, or that states more than it holds."""
    with zipfile.ZipFile(path) as archive:
        check_unpacked(path, archive)
        for member in archive.infolist():
            with archive.open(member) as file:
                _check_header(path, file, member.file_size)


def check_unpacked(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse an archive that states that it unpacks to far more than its own size."""
    size = sum(member.file_size for member in archive.infolist())
    if size > max(_UNPACKED_BYTES, _MOST_PACKED * path.stat().st_size):
        advice = "use an .npy or .csv file instead"
        raise InputError(f"{path.name} must not unpack to far more than its own size, got {size} bytes; {advice}.")


def _sparse(path: Path) -> Any:
    """Return a matrix saved by scipy. Its indices are checked: scipy would follow wrong ones outside its arrays."""
    matrix = sparse.load_npz(path)
    if matrix.format not in _SPARSE or matrix.shape[0] > max(_SPARSE_ROWS, 1000 * matrix.nnz):
        rule = f"a sparse matrix of format {', '.join(_SPARSE)} whose rows are not nearly all empty"
        raise InputError(f"{path.name} must hold {rule}, got {matrix.format} of shape {matrix.shape}.")
    if matrix.format != "coo":
        matrix.check_format(full_check=True)
    return sparse.csr_matrix(matrix)


def _svm_columns(path: Path) -> tuple[str, ...]:
    first, end = 1, 0
    for part in _svm_parts(path, _SVM_ROWS, silent):
        if part.nnz:
            first, end = min(first, int(part.indices.min())), max(end, int(part.indices.max()) + 1)
    if end > MAX_DIMENSION:
        raise InputError(f"{path.name} must have at most {MAX_DIMENSION} columns, got {end}.")
    return tuple(f"x{i}" for i in range(first, end))


def _svm_pieces(path: Path, columns: tuple[str, ...], rows: int, left_out: Count) -> Iterator[FloatArray]:
    """Yield these features. If the server's file counts from 1, a line with a feature 0 counts as not parsed."""
    if not all(re.fullmatch(r"x\d{1,9}", name) for name in columns):
        raise InputError(f"{path.name} must be used with SVMlight files only: it has no feature named {columns[0]!r:.80}.")
    features = [int(name[1:]) for name in columns]
    for part in _svm_parts(path, rows, left_out):
        part.resize((part.shape[0], max(features) + 1))
        if min(features) == 1:
            counted = np.diff(part[:, [0]].indptr) == 0
            left_out(int((~counted).sum()))
            part = part[counted]  # noqa: PLW2901
        yield part[:, features].toarray().astype(np.float64)


def _svm_parts(path: Path, rows: int, left_out: Count) -> Iterator[Any]:
    with path.open("rb") as file:
        for block in line_blocks(file, left_out=left_out):
            lines = io.BytesIO(block).readlines()
            for start in range(0, len(lines), rows):
                yield from _svm_parsed(lines[start : start + rows], left_out)


def _svm_parsed(lines: list[bytes], left_out: Count) -> Iterator[Any]:
    """Yield the lines that parse. If they do not parse together, each half is tried by itself, down to single lines."""
    from sklearn.datasets import load_svmlight_file

    try:
        yield load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)[0]
    except (ValueError, TypeError, OverflowError, IndexError):
        if len(lines) == 1:
            left_out(1)
            return
        half = len(lines) // 2
        yield from _svm_parsed(lines[:half], left_out)
        yield from _svm_parsed(lines[half:], left_out)
