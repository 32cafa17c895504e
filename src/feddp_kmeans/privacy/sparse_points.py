"""Encoded points that are alike in most coordinates: a few bases and, for each point, where it differs. Never made dense as a whole.

A sparse row minus a center is dense; but nearly all of its coordinates are those of the point zero. All numbers are whole, so every product
below has the bits of the dense one.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.fixed_point import RESOLUTION, Ball

_DENSE_ROWS = 1 << 9
"""Rows made dense at a time, where they must be shortened."""


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

    def __len__(self) -> int:
        """Return the number of points."""
        return self.shape[0]

    def __getitem__(self, members: IntArray | slice) -> "SparsePoints":
        """Return some of the points."""
        return SparsePoints(self.bases, self.which[members], self.differences[members])

    def __matmul__(self, matrix: FloatArray) -> FloatArray:
        """Return the product with a matrix, a row a point."""
        product: FloatArray = self.differences @ matrix + (self.bases @ matrix)[self.which]
        return product

    def dense(self) -> FloatArray:
        """Return the points as one array."""
        points: FloatArray = self.differences.toarray() + self.bases[self.which]
        return points

    def squared_norms(self) -> FloatArray:
        """Return the squared norm of each point."""
        rows, owners = self.differences, self._owners()
        changed = rows.data * (rows.data + 2 * self._under(owners))
        own: FloatArray = np.bincount(owners, changed, minlength=len(self)).astype(np.float64)
        of_base: FloatArray = np.square(self.bases).sum(axis=1)
        return own + of_base[self.which]

    def products_with(self, vectors: FloatArray, labels: IntArray) -> FloatArray:
        """Return the product of each point with the vector of its label."""
        rows, owners = self.differences, self._owners()
        changed = rows.data * vectors[labels[owners], rows.indices]
        own: FloatArray = np.bincount(owners, changed, minlength=len(self)).astype(np.float64)
        return own + (self.bases @ vectors.T)[self.which, labels]

    def weighted_sums(self, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
        """Return the weighted sum of the points with each label."""
        sums = np.asarray((self.differences.T @ _chosen(weights, labels, k)).todense()).T
        of_base = np.zeros((k, len(self.bases)))
        np.add.at(of_base, (labels, self.which), weights)
        total: FloatArray = sums + of_base @ self.bases
        return total

    def scaled(self, scales: FloatArray) -> "SparsePoints":
        """Return the points, each times its scale, rounded to whole numbers. The fewer scales there are, the fewer bases."""
        pairs, which = np.unique(np.stack([self.which.astype(np.float64), scales]), axis=1, return_inverse=True)
        bases = np.rint(self.bases[pairs[0].astype(np.int64)] * pairs[1][:, None])
        rows, owners = self.differences, self._owners()
        there = np.rint((rows.data + self._under(owners)) * scales[owners]) - bases[which[owners], rows.indices]
        return SparsePoints(bases, which, sparse.csr_matrix((there, rows.indices, rows.indptr), shape=rows.shape))

    def gram(self) -> FloatArray:
        """Return ``Z^T Z``."""
        rows, bases = self.differences, self.bases
        sums = np.asarray((rows.T @ _chosen(np.ones(len(self)), self.which, len(bases))).todense()).T
        crossed = bases.T @ sums
        counts = np.bincount(self.which, minlength=len(bases)).astype(np.float64)
        product: FloatArray = np.asarray((rows.T @ rows).todense()) + crossed + crossed.T + bases.T @ (counts[:, None] * bases)
        return product

    def _owners(self) -> IntArray:
        return np.repeat(np.arange(len(self)), np.diff(self.differences.indptr))

    def _under(self, owners: IntArray) -> FloatArray:
        """Return the base's number beneath each difference."""
        beneath: FloatArray = self.bases[self.which[owners], self.differences.indices]
        return beneath


def _chosen(weights: FloatArray, labels: IntArray, k: int) -> sparse.csr_matrix:
    """Return the matrix that has each point's weight in the column of its label."""
    return sparse.csr_matrix((weights, labels, np.arange(len(labels) + 1)), shape=(len(labels), k))


def encode_sparse(ball: Ball, points: sparse.csr_matrix) -> SparsePoints:
    """Return what ``Ball.encode`` gives, bit by bit.

    Coordinates are scaled and rounded each by itself, so zeros give the same in every row. Rows that must be shortened are made dense, a
    few at a time.
    """
    rows = points.astype(np.float64)
    scale, n = RESOLUTION / ball.radius, rows.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        base = np.rint((0.0 - ball.center) * scale)
        there = np.rint((rows.data - ball.center[rows.indices]) * scale) - base[rows.indices]
        which = np.zeros(n, dtype=np.int64)
        encoded = SparsePoints(base[None], which, sparse.csr_matrix((there, rows.indices, rows.indptr), shape=rows.shape))
        inside = encoded.squared_norms() <= RESOLUTION**2
    if inside.all():
        return encoded
    outside = rows[~inside]
    starts = range(0, outside.shape[0], _DENSE_ROWS)
    shortened = [sparse.csr_matrix(ball.encode(outside[start : start + _DENSE_ROWS].toarray()) - base) for start in starts]
    order = np.argsort(np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)]), kind="stable")
    return SparsePoints(base[None], which, sparse.vstack([encoded.differences[inside], *shortened], format="csr")[order])
