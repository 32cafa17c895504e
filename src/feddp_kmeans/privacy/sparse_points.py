"""Encoded points that are alike in most coordinates: one base and, for each point, where it differs. Never made dense as a whole.

A sparse row minus a center is dense; but nearly all of its coordinates are those of the point zero. All numbers are whole, so every product
below has the bits of the dense one.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.privacy.clipping import within_range
from feddp_kmeans.privacy.fixed_point import RESOLUTION, Ball


@dataclass(frozen=True)
class SparsePoints:
    """Whole-number points ``base + differences[i]``."""

    base: FloatArray
    differences: sparse.csr_matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of points and of coordinates."""
        n, d = self.differences.shape
        return int(n), int(d)

    def __len__(self) -> int:
        """Return the number of points."""
        return self.shape[0]

    def __matmul__(self, matrix: FloatArray) -> FloatArray:
        """Return the product with a matrix, a row a point."""
        product: FloatArray = self.differences @ matrix + self.base @ matrix
        return product

    def dense(self) -> FloatArray:
        """Return the points as one array."""
        points: FloatArray = self.differences.toarray() + self.base
        return points

    def squared_norms(self) -> FloatArray:
        """Return the squared norm of each point."""
        rows = self.differences
        changed = rows.data * (rows.data + 2 * self.base[rows.indices])
        own: FloatArray = np.bincount(self._owners(), changed, minlength=len(self)).astype(np.float64)
        return own + float(self.base @ self.base)

    def products_with(self, vectors: FloatArray, labels: IntArray) -> FloatArray:
        """Return the product of each point with the vector of its label."""
        rows, owners = self.differences, self._owners()
        changed = rows.data * vectors[labels[owners], rows.indices]
        products: FloatArray = np.asarray(
            np.bincount(owners, changed, minlength=len(self)) + (vectors @ self.base)[labels], dtype=np.float64
        )
        return products

    def weighted_sums(self, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
        """Return the weighted sum of the points with each label."""
        n = len(self)
        chosen = sparse.csr_matrix((weights, labels, np.arange(n + 1)), shape=(n, k))
        sums: FloatArray = np.asarray((self.differences.T @ chosen).todense()).T + np.outer(
            np.bincount(labels, weights, minlength=k), self.base
        )
        return sums

    def scaled(self, factor: float) -> "SparsePoints":
        """Return the points times a factor, rounded to whole numbers."""
        base = np.rint(self.base * factor)
        rows = self.differences
        there = np.rint((rows.data + self.base[rows.indices]) * factor) - base[rows.indices]
        return SparsePoints(base, sparse.csr_matrix((there, rows.indices, rows.indptr), shape=rows.shape))

    def __getitem__(self, members: IntArray | slice) -> "SparsePoints":
        """Return some of the points."""
        return SparsePoints(self.base, self.differences[members])

    def gram(self) -> FloatArray:
        """Return ``Z^T Z``."""
        rows = self.differences
        total = np.asarray(rows.sum(axis=0)).ravel()
        crossed = np.outer(self.base, total)
        product: FloatArray = np.asarray((rows.T @ rows).todense()) + crossed + crossed.T + len(self) * np.outer(self.base, self.base)
        return product

    def _owners(self) -> IntArray:
        return np.repeat(np.arange(len(self)), np.diff(self.differences.indptr))


def encode_sparse(ball: Ball, points: sparse.csr_matrix) -> SparsePoints:
    """Return what ``Ball.encode`` gives, bit by bit. Rows that may have to be clipped go through it; the others are never dense.

    A row of norm below ``radius (1 - d / R)`` is not clipped, and rounding cannot push it beyond R; so each of its coordinates is scaled
    and rounded by itself, and those that are zero give the same number in every row.
    """
    rows = points.astype(np.float64)
    scale = RESOLUTION / ball.radius
    base = np.rint(within_range(-ball.center) * scale)
    shifted = within_range(rows.data - ball.center[rows.indices])
    owners = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    changed = np.square(shifted) - np.square(ball.center[rows.indices])
    squared = float(np.square(within_range(ball.center)).sum()) + np.bincount(owners, changed, minlength=rows.shape[0])
    safe = ball.radius * max(0.0, 1 - ball.dimension / RESOLUTION)
    inside = squared < safe * safe * (1 - 1e-9)
    encoded = sparse.csr_matrix((np.rint(shifted * scale) - base[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
    if inside.all():
        return SparsePoints(base, encoded)
    clipped = sparse.csr_matrix(ball.encode(rows[~inside].toarray()) - base)
    order = np.argsort(np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)]), kind="stable")
    return SparsePoints(base, sparse.vstack([encoded[inside], clipped], format="csr")[order])
