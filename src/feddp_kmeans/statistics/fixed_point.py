"""Points as integers: a public ball is mapped onto integer vectors of norm at most ``RESOLUTION``.

From here to the released number all arithmetic is on integers. They are carried in float64 where that is exact (below 2**53), so matrix
products run at full speed and give the same bits in any order and on any machine. Each row is encoded by itself, to the last bit: a
changed last bit in *other* rows would be a contribution of the row that is removed.
"""

from dataclasses import dataclass, field

import numpy as np

from feddp_kmeans._typing import Array, FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.statistics import kernels
from feddp_kmeans.statistics.engine import compiled

RESOLUTION = 1 << 16
"""The integer norm R that the ball's radius is mapped to."""

MAX_DIMENSION = (1 << 20) - 9
"""Largest dimension for which the arithmetic of ``encode`` is exact."""

LEAST_RADIUS = 1e-140
"""Smallest radius. Below it, squares of lengths beyond the radius could underflow, and long rows would count as short."""

LARGEST = 1e150
"""Coordinates beyond this are cut to it, so that squares of norms stay finite."""

EXACT_ROWS = 1 << 18
"""Rows whose products may be added in float64 and stay exact: rows * (2 R)**2 < 2**53."""


@dataclass(frozen=True)
class Ball:
    """A public ball that points are clipped to before any statistic."""

    center: FloatArray = field(repr=False)
    radius: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.radius) and self.radius >= LEAST_RADIUS):
            raise InputError(f"radius must be positive and finite, at least {LEAST_RADIUS:g}, got {self.radius}.")
        if np.ndim(self.center) != 1:
            raise InputError(f"center of the ball must be one point, got an array of shape {np.shape(self.center)}.")
        if not np.isfinite(self.center).all():
            raise InputError("center of the ball must be finite, got a NaN or an infinity.")
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise InputError(f"dimension must be from 1 to {MAX_DIMENSION}, got {self.dimension}.")

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.center)

    @property
    def grid(self) -> float:
        """Return the length of one integer step."""
        return self.radius / RESOLUTION

    def encode(self, points: Array) -> FloatArray:
        """Return the points, clipped to the ball, as integer vectors z with ``|z| <= RESOLUTION`` exactly.

        Rows are scaled by R / radius and rounded to the nearest integers; rows that are then longer than R are shortened to it. Which
        rows are is decided exactly: while no coordinate is beyond R, squares add up to whole numbers below 2**53.
        """
        if points.shape[1] != self.dimension:  # numpy might still broadcast it
            raise InputError(f"center of the ball must have {points.shape[1]} coordinates, got {self.dimension}.")
        if not compiled():
            return _encode(points, self.center, RESOLUTION / self.radius)
        return kernels.encode(points, self.for_kernels)

    @property
    def for_kernels(self) -> tuple[FloatArray, float, float, float, int]:
        """Return the ball as compiled kernels take it."""
        center = np.ascontiguousarray(self.center, dtype=np.float64)
        return center, RESOLUTION / self.radius, LARGEST, float(RESOLUTION), spare_bits(self.dimension)

    def decode(self, encoded: FloatArray) -> FloatArray:
        """Return the points that these integer vectors stand for."""
        decoded: FloatArray = self.center + encoded * self.grid
        return decoded

    def clip(self, points: FloatArray) -> FloatArray:
        """Return a copy in which points outside the ball are moved to its edge: ``min(1, radius / |x|) x``, seen from the center."""
        shifted = np.clip(points - self.center, -LARGEST, LARGEST)
        with np.errstate(divide="ignore", over="ignore"):
            factors = np.minimum(1.0, self.radius / row_norms(shifted))
        clipped: FloatArray = self.center + shifted * factors[:, None]
        return clipped


def row_norms(rows: FloatArray) -> FloatArray:
    """Return the Euclidean norm of each row. No other row and no layout in memory changes a bit of it."""
    norms: FloatArray = np.sqrt(np.square(np.ascontiguousarray(rows)).sum(axis=1))
    return norms


def _encode(points: Array, center: FloatArray, scale: float) -> FloatArray:
    with np.errstate(over="ignore"):
        encoded: FloatArray = np.subtract(points, center, dtype=np.float64)
        encoded *= scale
        np.rint(encoded, out=encoded)
        outside = np.einsum("ij,ij->i", encoded, encoded) > RESOLUTION**2
        # Also where no row is outside: an answer must not take longer for the first that is.
        encoded[outside] = _shortened(np.subtract(points[outside], center, dtype=np.float64))
    return encoded


def _shortened(rows: FloatArray) -> FloatArray:
    """Return rows longer than the ball's radius as integer vectors of length R, less what rounding takes.

    Proof. Rows are scaled by a power of two and rounded to v, whose squares add up to a whole number below 2**53: up to the length all is
    exact, so neither the order of the coordinates nor the machine matters. ``y = v (R / |v|)`` has ``|y|**2 <= R**2 (1 + 2**-50) <
    R**2 + 1`` in floating point. Where rounding y exceeds R it is truncated instead, which only shortens, and ``|z|**2`` is an integer.
    """
    bounded = np.clip(rows, -LARGEST, LARGEST)
    _, exponents = np.frexp(np.abs(bounded).max(axis=1))
    whole = np.rint(bounded * np.ldexp(1.0, spare_bits(rows.shape[1]) - exponents)[:, None])
    scaled = whole * (RESOLUTION / np.sqrt(np.einsum("ij,ij->i", whole, whole)))[:, None]
    rounded = np.rint(scaled)
    beyond = np.einsum("ij,ij->i", rounded, rounded) > RESOLUTION**2
    shortened: FloatArray = np.where(beyond[:, None], np.trunc(scaled), rounded)
    return shortened


def spare_bits(dimension: int) -> int:
    """Return b such that the squares of this many numbers up to 2**b add up to less than 2**53."""
    return (52 - dimension.bit_length()) // 2
