"""What an earlier run released, as the start of the next one: its centers, how well each is known, and how far its points lie."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.closing import CLOSING, Closing
from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.unit import PrivacyUnit

_CLEAR = 3.0
"""Standard deviations above which the sum of all squared distances is believed."""


def check_useful(useless: str | None) -> None:
    """Refuse to go on from a run that is useless, for this reason."""
    if useless:
        why = f"the earlier run must say something about the clusters, got a useless one: {useless:.200}"
        raise InputError(f"{why}. Go on from the one before it.")


@dataclass(frozen=True)
class LastRun:
    """The released numbers of an earlier run that a later one goes on from. All of it is public."""

    centers: FloatArray
    """In the data's own units, as are the errors."""
    place_stddev: FloatArray
    """Error of each coordinate, as a filter goes on from it; as it was stated if there was no filter."""
    counts: FloatArray
    count_stddev: float
    closing: Closing
    """In the units of the columns."""
    unit: PrivacyUnit
    units: ColumnUnits | None = None

    def __post_init__(self) -> None:
        shape = self.centers.shape
        if self.place_stddev.shape != shape or len(self.counts) != shape[0] or len(self.closing.spread) != shape[0]:
            raise InputError(f"the earlier run must state an error for each of its {shape[0]} x {shape[1]} coordinates, got other shapes.")

    @property
    def k(self) -> int:
        """Return the number of clusters."""
        return len(self.centers)

    @property
    def n_points(self) -> float:
        """Return the noisy number of all points, at least one."""
        return max(float(self.counts.sum()), 1.0)

    @property
    def weights(self) -> FloatArray:
        """Return the share of each cluster: no negative one."""
        sizes = np.maximum(self.counts, self.count_stddev if self.count_stddev > 0 else 1.0)
        shares: FloatArray = sizes / sizes.sum()
        return shares

    @property
    def within(self) -> FloatArray:
        """Return the mean squared distance of each cluster's points; where noise hid it that of all points, or what was taken for it."""
        told = self.closing
        squares = np.square(told.spread)
        clear = told.inertia > _CLEAR * told.inertia_stddev and float(self.counts.sum()) > 0
        usual = min(told.inertia / self.n_points, told.reach**2) if clear else (told.reach / CLOSING.client_reach) ** 2
        return np.where(np.isfinite(squares), squares, usual)
