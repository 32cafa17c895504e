"""How many rows are added at once on a device, so that no sum of float64 numbers exceeds 2**53. Needs no torch."""

from collections.abc import Mapping

from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, MOMENT_STEPS
from feddp_kmeans.statistics.spreads import TOTAL_STEPS

_CHUNK_VALUES = 1 << 26
"""Numbers in a chunk: 512 MiB of float64, and a few times that while it is worked on."""

LARGEST_ADDED: Mapping[str, float] = {
    "cluster-counts": 1.0,
    "cluster-sums": float(RESOLUTION),
    "outer-product": float(RESOLUTION) ** 2,
    "point-costs": float(BOUNDED_STEPS),
    "point-residual-norms": 1.0,
    "point-residuals": float(BOUNDED_STEPS),
    "point-second-moment": 8.0 * MOMENT_STEPS,
    "point-spreads": float(TOTAL_STEPS),
    "point-swaps": float(BOUNDED_STEPS),
}
"""The most that one row adds, in size, to any number that a statistic sums in float64, from the proofs of the sensitivities.

An encoded row has length at most R; a residual and its count, times their factor, at most BOUNDED_STEPS; a scaled row z of a second moment
has ``|z|**2 sqrt(1 - 15 / (16 d)) <= MOMENT_STEPS``, hence ``|z|**2 <= 4 MOMENT_STEPS``, and its products are doubled.
"""


def chunk_rows(name: str, dimension: int, values: int = _CHUNK_VALUES) -> int:
    """Return how many rows of a statistic are added at once: as many as stay exact in float64 and have at most so many values."""
    return max(1, min(values // dimension, int(2.0**53 / LARGEST_ADDED[name])))
