"""Points as integers: a public ball is mapped onto integer vectors of norm at most ``RESOLUTION``.

From here to the released number everything is integer arithmetic. It is carried in float64 where that is exact (whole
numbers below 2**53), so that matrix products run at full speed and give the same bits in any order, on any machine,
and however the points are spread over clients.
"""

from dataclasses import dataclass, field

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.statistics.clipping import LARGEST, clip_rows, within_range
from feddp_kmeans.statistics.engine import compiled

RESOLUTION = 1 << 16
"""The integer norm R that the ball's radius is mapped to."""

MAX_DIMENSION = (1 << 20) - 9
"""Largest dimension for which the arithmetic of ``encode`` is exact."""

LEAST_RADIUS = 1e-140
"""Radius from which squares of longer lengths do not underflow: else long rows would pass for short ones."""

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

        Rows are scaled by R / radius and rounded to the nearest integers; those whose length is then beyond R are shortened to it. Which
        those are is decided exactly: while no coordinate is beyond R, squares add up to whole numbers below 2**53.
        """
        self.check_columns(points)
        if not compiled():
            return _encode(points, self.center, RESOLUTION / self.radius)
        from feddp_kmeans.statistics import encode_kernel

        return encode_kernel.encode(*self.kernel_arguments(points))

    def kernel_arguments(self, points: Array) -> tuple[Array, FloatArray, float, float, int, float]:
        """Return what the compiled form of ``encode`` is called with."""
        self.check_columns(points)
        rows = np.ascontiguousarray(points, dtype=np.float32 if points.dtype == np.float32 else np.float64)
        center = np.ascontiguousarray(self.center, dtype=np.float64)
        return rows, center, RESOLUTION / self.radius, LARGEST, spare_bits(self.dimension), float(RESOLUTION)

    def check_columns(self, points: Points) -> None:
        """Refuse a center of other coordinates: it might still fit, row by row, a table of just so many points."""
        if points.shape[1] != self.dimension:
            raise InputError(f"center of the ball must have {points.shape[1]} coordinates, got {self.dimension}.")

    def decode(self, encoded: FloatArray) -> FloatArray:
        """Return the points that these integer vectors stand for."""
        decoded: FloatArray = self.center + encoded * self.grid
        return decoded

    def clip(self, points: FloatArray) -> FloatArray:
        """Return the points moved to the nearest point of the ball."""
        clipped: FloatArray = self.center + clip_rows(points - self.center, self.radius)
        return clipped


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

    Arithmetic is exact up to the length, so neither the order of the coordinates nor the machine matters: rows are scaled by a power of
    two and rounded to v, whose squares add up to a whole number below 2**53. Proof of the bound: ``y = v (R / |v|)`` has
    ``|y|**2 <= R**2 (1 + 2**-50) < R**2 + 1`` in floating point; where rounding y exceeds R it is truncated instead, which only shortens,
    and ``|z|**2`` is an integer.
    """
    bounded = within_range(rows)
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
