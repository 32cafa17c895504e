"""Compiled forms of encoding, of the nearest center, and of products and sums by label; their source is the C in ``compiled/``.

The library is built with the package where there is a C compiler (``build_kernels.py``). It holds every function once for each set of
instructions, and the best that the processor has is used. Calls release the interpreter's lock, and start no threads. C checks nothing:
types, shapes and labels are checked here.
"""

import ctypes
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, IntArray

FOLDER = Path(__file__).parent / "compiled"
"""Where the sources and the library are."""

LEVELS = (4, 3, 1)
"""Sets of instructions, the best first: AVX-512, AVX2 with FMA, and what every processor of its kind has."""


@cache
def library() -> ctypes.CDLL | None:
    """Return the library, if there is one that was built from these sources for this kind of machine."""
    try:
        found = ctypes.CDLL(str(FOLDER / "kernels.so"))
        found.built_from.restype = ctypes.c_char_p
    except (OSError, AttributeError):
        return None
    sources = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.[ch]")))
    return found if found.built_from() == sha256(sources).hexdigest().encode() else None


def levels() -> tuple[int, ...]:
    """Return the sets of instructions that this processor has, the best first; none without a library."""
    found = library()
    return () if found is None else tuple(level for level in LEVELS if level <= found.best_level())


def encode(points: Array, ball: tuple[Any, ...]) -> FloatArray:
    """Return what ``Ball.encode`` does, to the last bit."""
    _require(len(ball[0]) == points.shape[1], "one coordinate of the center for each of the points")
    rows, is_single = _rows(points)
    encoded = np.empty(points.shape)
    _call("encode", rows, is_single, *points.shape, *ball, encoded)
    return encoded


def nearest(points: FloatArray, targets: FloatArray, error: float) -> IntArray:
    """Return the nearest target of each point, the first of several."""
    _require(targets.shape[1] == points.shape[1], "as many coordinates of targets as of points")
    labels = np.empty(len(points), dtype=np.int64)
    _call("nearest", _doubles(points), len(points), *_described(targets), *targets.shape, error, labels)
    return labels


def labelled(points: Array, ball: tuple[Any, ...], targets: FloatArray, error: float) -> tuple[IntArray, FloatArray]:
    """Return the nearest target of each encoded point, and its squared distance from it, in one sweep."""
    _require(len(ball[0]) == points.shape[1] == targets.shape[1], "as many coordinates of center and targets as of points")
    rows, is_single = _rows(points)
    labels, distances = np.empty(len(points), dtype=np.int64), np.empty(len(points))
    _call("labelled", rows, is_single, *points.shape, *ball, *_described(targets), len(targets), error, labels, distances)
    return labels, distances


def encoded_sums(points: Array, ball: tuple[Any, ...], weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the weighted sum of the encoded points with each label, in one sweep."""
    _require(len(ball[0]) == points.shape[1], "one coordinate of the center for each of the points")
    labels = _checked(labels, points, k)
    _require(len(weights) == len(points), "one weight per row")
    rows, is_single = _rows(points)
    sums = np.zeros((k, points.shape[1]))
    _call("encoded_sums", rows, is_single, *points.shape, *ball, _doubles(weights), labels, sums)
    return sums


def nearest_sums(points: Array, ball: tuple[Any, ...], targets: FloatArray, error: float) -> FloatArray:
    """Return the sum of the encoded points nearest to each target, in one sweep in which encoded points never leave the cache."""
    _require(len(ball[0]) == points.shape[1] == targets.shape[1], "as many coordinates of center and targets as of points")
    rows, is_single = _rows(points)
    sums = np.zeros(targets.shape)
    _call("nearest_sums", rows, is_single, *points.shape, *ball, *_described(targets), len(targets), error, sums)
    return sums


def residual_sums(
    points: Array, ball: tuple[Any, ...], targets: FloatArray, error: float, weights: tuple[float, float, float, float]
) -> tuple[IntArray, IntArray]:
    """Return the sums of factor times encoded point for each target, and of factor, weighted square and weighted count, in one sweep."""
    _require(len(ball[0]) == points.shape[1] == targets.shape[1], "as many coordinates of center and targets as of points")
    rows, is_single = _rows(points)
    sums, numbers = np.zeros(targets.shape, dtype=np.int64), np.zeros((len(targets), 3), dtype=np.int64)
    _call("residual_sums", rows, is_single, *points.shape, *ball, *_described(targets), len(targets), error, *weights, sums, numbers)
    return sums, numbers


def weighted_sums(encoded: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the weighted sum of the rows with each label."""
    labels = _checked(labels, encoded, k)
    _require(len(weights) == len(encoded), "one weight per row")
    sums = np.zeros((k, encoded.shape[1]))
    _call("weighted_sums", _doubles(encoded), *encoded.shape, _doubles(weights), labels, sums)
    return sums


def products_with(encoded: FloatArray, vectors: FloatArray, labels: IntArray) -> FloatArray:
    """Return the product of each row with the vector of its label."""
    labels = _checked(labels, encoded, len(vectors))
    _require(vectors.shape[1] == encoded.shape[1], "as many coordinates of vectors as of rows")
    products = np.empty(len(encoded))
    _call("products_with", _doubles(encoded), *encoded.shape, _doubles(vectors), labels, products)
    return products


def finite_copy(points: Array, starts: IntArray) -> tuple[Array, IntArray]:
    """Return a copy of the rows without a NaN or an infinity, and where clients start; the time does not depend on how many there are."""
    _require(starts[0] == 0 and starts[-1] == len(points) and bool((np.diff(starts) >= 0).all()), "the starts of all rows' clients")
    rows, is_single = _rows(points)
    copied, places = np.empty_like(rows), np.empty(len(starts), dtype=np.int64)
    _call("finite_copy", rows, is_single, rows.shape[1], np.ascontiguousarray(starts, dtype=np.int64), len(starts) - 1, copied, places)
    return copied[: places[-1]], places


def column_shares(points: Array, starts: IntArray, columns: IntArray, edges: FloatArray, steps: int) -> IntArray:
    """Return how the cells of each client share so many steps over the classes of some columns, each with edges of its own."""
    _require(starts[0] == 0 and starts[-1] == len(points) and bool((np.diff(starts) >= 0).all()), "the starts of all rows' clients")
    _require(len(columns) == len(edges) and 0 <= columns.min() <= columns.max() < points.shape[1], "edges for each of the points' columns")
    _require(edges.shape[1] > 0, "an edge")
    rows, is_single = _rows(points)
    shares = np.zeros((len(edges), edges.shape[1] + 2), dtype=np.int64)
    clients = np.ascontiguousarray(starts, dtype=np.int64), len(starts) - 1
    chosen = np.ascontiguousarray(columns, dtype=np.int64), len(columns)
    _call("column_shares", rows, is_single, rows.shape[1], *clients, *chosen, _doubles(edges), edges.shape[1], steps, shares)
    return shares[:, :-1]


def _rows(points: Array) -> tuple[Array, int]:
    """Return points in float32 or float64, and whether it is float32."""
    is_single = points.dtype == np.float32
    return np.ascontiguousarray(points, dtype=np.float32 if is_single else np.float64), int(is_single)


def _doubles(numbers: Array) -> FloatArray:
    return np.ascontiguousarray(numbers, dtype=np.float64)


def _described(targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return targets and their squared lengths."""
    return _doubles(targets), np.square(targets).sum(axis=1)


def _checked(labels: IntArray, rows: Array, k: int) -> IntArray:
    """Return the labels of rows as the library takes them."""
    _require(len(labels) == len(rows) and labels.dtype.kind in "iu", "one whole label per row")
    _require(not len(labels) or 0 <= labels.min() <= labels.max() < k, f"labels from 0 to {k - 1}")
    return np.ascontiguousarray(labels, dtype=np.int64)


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(f"a compiled kernel needs {rule}.")


def _call(name: str, *arguments: float | Array) -> None:
    """Call the library: numbers are passed as doubles and 64-bit integers, arrays as their addresses."""
    if getattr(library(), f"{name}_{levels()[0]}")(*map(_passed, arguments)):
        raise MemoryError(f"a compiled kernel ({name}) found no memory.")


def _passed(argument: float | Array) -> Any:
    if not isinstance(argument, np.ndarray):
        return ctypes.c_int64(argument) if isinstance(argument, int) else ctypes.c_double(argument)
    _require(argument.flags.c_contiguous, "arrays in one piece")
    return ctypes.c_void_p(argument.ctypes.data)
