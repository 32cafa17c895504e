"""Points of an array that compiled kernels encode whenever they look at them, and that nobody keeps encoded.

To read a row and to encode it takes less time than to write its whole numbers to memory and to read them again, and no memory.
"""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, IntArray
from feddp_kmeans.statistics import kernels
from feddp_kmeans.statistics.fixed_point import Ball


@dataclass(frozen=True)
class NearestTargets:
    """The nearest target of each point, and its squared distance from it."""

    labels: IntArray
    squares: FloatArray

    @property
    def size(self) -> int:
        """Return how many numbers this holds."""
        return 2 * len(self.labels)


@dataclass(frozen=True)
class BallPoints:
    """Points in the integer coordinates of a ball: what ``Ball.encode`` returns of ``rows``."""

    rows: Array
    ball: Ball

    size = 0
    """Numbers held in addition to the points."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of points and of coordinates."""
        return len(self), self.ball.dimension

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, some: slice) -> "BallPoints":
        return BallPoints(self.rows[some], self.ball)

    def __matmul__(self, matrix: FloatArray) -> FloatArray:
        product: FloatArray = self.dense() @ matrix
        return product

    def dense(self) -> FloatArray:
        """Return the points as one array."""
        return self.ball.encode(self.rows)

    def scaled(self, scales: FloatArray) -> FloatArray:
        """Return the points, each times its scale, rounded to whole numbers."""
        scaled = self.dense()
        scaled *= scales[:, None]
        return np.rint(scaled, out=scaled)

    def gram(self) -> FloatArray:
        """Return ``Z^T Z``, exact for as many rows as the result itself."""
        encoded = self.dense()
        product: FloatArray = encoded.T @ encoded
        return product

    def squared_norms(self) -> FloatArray:
        """Return the squared norm of each point."""
        return self.labelled(np.zeros((1, self.ball.dimension)), 0.0).squares

    def labelled(self, targets: FloatArray, error: float) -> NearestTargets:
        """Return the nearest of these whole targets for each point, given the relative error of a float32 score."""
        return NearestTargets(*kernels.labelled(self.rows, self.ball.for_kernels, targets, error))

    def residual_sums(self, targets: FloatArray, error: float, weights: tuple[float, float, float, float]) -> tuple[IntArray, IntArray]:
        """Return the sums of factor times point for each target, and of factor, weighted square and weighted count.

        The weights are the largest length in steps, the bound, that of a count and that of a square: see POINT_RESIDUALS.
        """
        return kernels.residual_sums(self.rows, self.ball.for_kernels, targets, error, weights)

    def nearest_sums(self, targets: FloatArray, error: float) -> FloatArray:
        """Return the sum of the points nearest to each target."""
        return kernels.nearest_sums(self.rows, self.ball.for_kernels, targets, error)

    def products_with(self, vectors: FloatArray, labels: IntArray) -> FloatArray:
        """Return the product of each point with the vector of its label."""
        return kernels.products_with(self.dense(), vectors, labels)

    def weighted_sums(self, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
        """Return the weighted sum of the points with each label."""
        return kernels.encoded_sums(self.rows, self.ball.for_kernels, weights, labels, k)
