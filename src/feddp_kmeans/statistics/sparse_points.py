"""Encoded points that are alike in most coordinates: a few bases and, for each point, where it differs. Never made dense as a whole.

A sparse row minus a center is dense, but nearly all of its coordinates are those of the point zero. All numbers are whole, so every product
below has the bits of the dense one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS, RESOLUTION, Ball

_DENSE_VALUES = 1 << 20
"""Numbers made dense at a time, where rows must be shortened."""

_DENSE_SHARE = 1 / 16
"""Share of numbers that differ above which an array is faster than a sparse matrix."""

_GRAM_ROWS = EXACT_ROWS // 4
"""Rows multiplied at a time: points and bases are at most 2 R, so what a row adds to any partial sum is at most (4 R)**2."""


@dataclass(frozen=True)
class SparsePoints:
    """Whole-number points ``bases[which[i]] + differences[i]``."""

    bases: FloatArray
    which: IntArray
    differences: sparse.csr_matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of points and of coordinates."""
        n, d = self.differences.shape
        return int(n), int(d)

    @property
    def size(self) -> int:
        """Return how many numbers are stored."""
        return int(self.bases.size + self.differences.nnz)

    def __len__(self) -> int:
        """Return the number of points."""
        return self.shape[0]

    def __getitem__(self, members: IntArray | slice) -> "SparsePoints":
        """Return some of the points."""
        return SparsePoints(self.bases, self.which[members], self.differences[members])

    def __matmul__(self, matrix: FloatArray) -> FloatArray:
        """Return the product with a matrix, one row per point."""
        product: FloatArray = self.differences @ matrix + (self.bases @ matrix)[self.which]
        return product

    def dense(self) -> FloatArray:
        """Return the points as one array."""
        points: FloatArray = self.differences.toarray() + self.bases[self.which]
        return points

    def squared_norms(self) -> FloatArray:
        """Return the squared norm of each point."""
        rows, owners = self.differences, _owners(self.differences)
        changed = rows.data * (rows.data + 2 * self._under(owners))
        of_base: FloatArray = np.square(self.bases).sum(axis=1)
        return np.bincount(owners, changed, minlength=len(self)) + of_base[self.which]

    def products_with(self, vectors: FloatArray, labels: IntArray) -> FloatArray:
        """Return the product of each point with the vector of its label."""
        rows, owners = self.differences, _owners(self.differences)
        changed = rows.data * vectors[labels[owners], rows.indices]
        of_base: FloatArray = (self.bases @ vectors.T)[self.which, labels]
        return np.bincount(owners, changed, minlength=len(self)) + of_base

    def weighted_sums(self, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
        """Return the weighted sum of the points with each label."""
        of_base = np.zeros((k, len(self.bases)))
        np.add.at(of_base, (labels, self.which), weights)
        total: FloatArray = _sums(self.differences, weights, labels, k) + of_base @ self.bases
        return total

    def scaled(self, scales: FloatArray) -> "SparsePoints":
        """Return the points, each times its scale, rounded to whole numbers. The fewer scales there are, the fewer bases.

        Scales must keep all coordinates within 2 R. So where a scaled base is beyond, all points of that scale store a number, and the base
        may be zero there: otherwise a long base under a short point would cancel beyond 2**53.
        """
        pairs, which = np.unique(np.stack([self.which.astype(np.float64), scales]), axis=1, return_inverse=True)
        bases = np.rint(self.bases[pairs[0].astype(np.int64)] * pairs[1][:, None])
        bases[np.abs(bases) > 2 * RESOLUTION] = 0.0
        rows, owners = self.differences, _owners(self.differences)
        there = np.rint((rows.data + self._under(owners)) * scales[owners]) - bases[which[owners], rows.indices]
        return SparsePoints(bases, which, _like(rows, there))

    def gram(self) -> FloatArray:
        """Return ``Z^T Z``, exact for as many rows as the result itself."""
        total = np.zeros((self.shape[1], self.shape[1]))
        for start in range(0, len(self), _GRAM_ROWS):
            rows, which = self.differences[start : start + _GRAM_ROWS], self.which[start : start + _GRAM_ROWS]
            crossed = self.bases.T @ _sums(rows, np.ones(len(which)), which, len(self.bases))
            counts = np.bincount(which, minlength=len(self.bases)).astype(np.float64)
            total += (rows.T @ rows).toarray() + crossed + crossed.T + self.bases.T @ (counts[:, None] * self.bases)
        return total

    def _under(self, owners: IntArray) -> FloatArray:
        """Return the base's number beneath each difference."""
        beneath: FloatArray = self.bases[self.which[owners], self.differences.indices]
        return beneath


def encode_sparse(ball: Ball, points: sparse.csr_matrix) -> FloatArray | SparsePoints:
    """Return what ``Ball.encode`` gives, bit by bit, for any center.

    Coordinates are scaled and rounded each by itself, so zeros give the same in every row: the encoded origin. Where that is beyond R, a
    row within the ball stores a number, so the base may be zero there. Hence bases are at most R and differences at most 2 R, squares add
    up to whole numbers below 2**53, and which rows are outside is decided exactly. Those are made dense, a few at a time, and shortened;
    where they are many, all rows.
    """
    rows = without_duplicates(points.astype(np.float64, copy=False))
    n, scale = rows.shape[0], RESOLUTION / ball.radius
    with np.errstate(over="ignore"):
        base = np.rint((0.0 - ball.center) * scale)
        stored = np.rint((rows.data - ball.center[rows.indices]) * scale)
    far = np.abs(base) > RESOLUTION
    base[far] = 0.0
    differences = np.clip(stored, -RESOLUTION - 1, RESOLUTION + 1) - base[rows.indices]
    encoded = SparsePoints(base[None], np.zeros(n, dtype=np.int64), _like(rows, differences))
    has_all_far = np.bincount(_owners(rows), far[rows.indices], minlength=n) == far.sum()
    inside = has_all_far & (encoded.squared_norms() <= RESOLUTION**2)
    if np.count_nonzero(~inside) * np.count_nonzero(ball.center) > _DENSE_SHARE * n * ball.dimension:
        return np.concatenate(list(_dense_pieces(ball, rows)))
    # Also where no row is outside: an answer must not take longer for the first that is.
    shortened = [sparse.csr_matrix(piece - base) for piece in _dense_pieces(ball, rows[~inside])]
    order = np.argsort(np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)]), kind="stable")
    together = sparse.vstack([encoded.differences[inside], *shortened], format="csr")[order]
    return SparsePoints(encoded.bases, encoded.which, together)


def _dense_pieces(ball: Ball, rows: sparse.csr_matrix) -> Iterator[FloatArray]:
    step = max(1, _DENSE_VALUES // ball.dimension)
    return (ball.encode(rows[start : start + step].toarray()) for start in range(0, rows.shape[0], step))


def without_duplicates(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the same matrix of float64 with at most one number stored per place.

    Numbers of one place are added in the order in which they are stored, as ``toarray`` does, so the sums have the same bits.
    """
    if rows.has_canonical_format:
        return rows
    width = rows.shape[1]
    places, inverse = np.unique(_owners(rows) * width + rows.indices, return_inverse=True)
    sums = np.bincount(inverse, rows.data, minlength=len(places))
    return sparse.csr_matrix((sums, (places // width, places % width)), shape=rows.shape)


def _sums(rows: sparse.csr_matrix, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the weighted sum of the rows with each label."""
    chosen = sparse.csr_matrix((weights, labels, np.arange(len(labels) + 1)), shape=(len(labels), k))
    sums: FloatArray = (rows.T @ chosen).toarray().T
    return sums


def _owners(rows: sparse.csr_matrix) -> IntArray:
    """Return the row of each stored number."""
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))


def _like(rows: sparse.csr_matrix, data: FloatArray) -> sparse.csr_matrix:
    """Return a matrix that stores these numbers in the same places as the other matrix."""
    return sparse.csr_matrix((data, rows.indices, rows.indptr), shape=rows.shape)
