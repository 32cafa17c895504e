"""Points as integers: a public ball is mapped onto integer vectors of norm at most ``RESOLUTION``.

From here to the released number everything is integer arithmetic. It is carried in float64 where that is exact (whole
numbers below 2**53), so that matrix products run at full speed and give the same bits in any order, on any machine,
and however the points are spread over clients.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from feddp_kmeans._errors import FedDPError
from feddp_kmeans._typing import FloatArray, Points
from feddp_kmeans.privacy.clipping import clip_rows

if TYPE_CHECKING:
    from feddp_kmeans.privacy.sparse_points import SparsePoints

RESOLUTION = 1 << 16
"""The integer norm R that the ball's radius is mapped to."""

MAX_DIMENSION = (1 << 20) - 9
"""Largest dimension for which the bound in ``encode`` is proved."""

_LEAST_RADIUS = 1e-140
"""Radius from which squares of longer lengths do not underflow: else long rows would pass for short ones."""

EXACT_ROWS = 1 << 18
"""Rows whose products may be added in float64 and stay exact: rows * (2 R)**2 < 2**53."""


@dataclass(frozen=True)
class Ball:
    """A public ball that points are clipped to before any statistic."""

    center: FloatArray = field(repr=False)
    radius: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.radius) and self.radius >= _LEAST_RADIUS):
            raise FedDPError(f"radius must be positive and finite, at least {_LEAST_RADIUS:g}, got {self.radius}.")
        if not np.isfinite(self.center).all():
            raise FedDPError("center of the ball must be finite, got a NaN or an infinity.")
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise FedDPError(f"dimension must be from 1 to {MAX_DIMENSION}, got {self.dimension}.")

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.center)

    @property
    def grid(self) -> float:
        """Return the length of one integer step."""
        return self.radius / RESOLUTION

    def encode_any(self, points: Points) -> "FloatArray | SparsePoints":
        """Return the points as integer vectors: an array's as an array, a CSR matrix's without making it dense. The bits are the same."""
        if not hasattr(points, "tocsr"):
            return self.encode(points)
        from feddp_kmeans.privacy.sparse_points import encode_sparse

        return encode_sparse(self, points.tocsr())

    def encode(self, points: FloatArray) -> FloatArray:
        """Return the points, clipped to the ball, as integer vectors z with ``|z| <= RESOLUTION`` exactly.

        Rows are scaled by R / radius and rounded to the nearest integers; the few that this pushes beyond R are truncated towards
        zero instead. Proof that these obey the bound: a clipped and scaled row y has ``|y|**2 <= R**2 (1 + (d + 8) 2**-52)`` in
        floating point, which is below ``R**2 + 1`` for d < 2**20 - 8; truncation only shortens; ``|z|**2`` is an integer.
        """
        scaled = clip_rows(points - self.center, self.radius) * (RESOLUTION / self.radius)
        encoded: FloatArray = np.rint(scaled)
        outside = np.square(encoded).sum(axis=1) > RESOLUTION**2
        encoded[outside] = np.trunc(scaled[outside])
        return encoded

    def decode(self, encoded: FloatArray) -> FloatArray:
        """Return the points that these integer vectors stand for."""
        decoded: FloatArray = self.center + encoded * self.grid
        return decoded

    def clip(self, points: FloatArray) -> FloatArray:
        """Return the points moved to the nearest point of the ball."""
        clipped: FloatArray = self.center + clip_rows(points - self.center, self.radius)
        return clipped
