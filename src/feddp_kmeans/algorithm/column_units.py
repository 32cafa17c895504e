"""The unit of each column: distances are taken in columns divided by it, so that none counts more because of its scale."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray, Points
from feddp_kmeans.statistics.batch import read_rows
from feddp_kmeans.statistics.gate import LARGEST

HIDDEN_UNIT = LARGEST
"""Unit of a column whose spread noise hides, or that has none: its coordinate is zero, as if the column were not there."""


@dataclass(frozen=True)
class ColumnTuning:
    """The numbers of the looks at single columns."""

    share: float = 0.06  # part of the budget mu**2
    looks: int = 4
    classes: int = 64  # even classes of every look but the first, at most ...
    least: int = 8  # ... and at least: as many as stand out together from noise
    enough: int = 8  # values must be spread over this part of the classes, at least 4, or else the next look is finer
    kept: float = 0.8  # part of what stood out in one look that must stand out in the next, or that is not believed
    whole: float = 0.7  # part of all values that must be seen for a column to be seen whole ...
    part: float = 0.5  # ... and for its spread to be taken from what is seen
    seen: float = 0.25  # part of them below which nothing is believed: the column counts as constant
    constant: int = 2  # at most so many classes with values at the end: the column looks constant
    level: float = 5.0  # noise, in standard deviations, above which some neighbouring classes are believed ...
    end: float = 4.0  # ... and those at the ends of them by themselves ...
    single: float = 4.5  # ... and a single class besides ...
    first: float = 5.5  # ... in the first look, where a false one would cost most ...
    beyond: float = 4.0  # ... unless values are known to lie beyond a range
    ratio: float = 4.0  # columns have units of their own if the widest is so much wider than the narrowest
    rough_ratio: float = 100.0  # ... and by so much where noise leaves the histograms rough
    rough: float = 4.0  # how much too wide a column may seem that only the first look shows
    range_stddevs: float = 4.0  # standard deviations that count as a range, beside columns with a public one
    most: int = 32  # columns of a table that is taken to mix things of all kinds; more are often of one kind, such as pixels or words
    signal: float = 10.0  # number of values, in standard deviations of the noise of one class, from which histograms are believed ...
    clear: float = 40.0  # ... and from which they are not rough


COLUMNS = ColumnTuning()


@dataclass(frozen=True)
class ColumnUnits:
    """How rows are read: each coordinate in its unit, and what a missing one is taken for (None: such rows are left out).

    Units and fillings are public, or read off earlier releases.
    """

    units: FloatArray
    fill: FloatArray | None = None

    @property
    def hidden(self) -> BoolArray:
        """Return which columns are constant, as far as noise lets us see: they count as if they were not there."""
        hidden: BoolArray = self.units == HIDDEN_UNIT
        return hidden

    @property
    def scale(self) -> FloatArray | None:
        """Return the units if they differ; NaN for hidden columns. None if all columns have the same unit."""
        return None if (self.units == self.units[0]).all() else np.where(self.hidden, np.nan, self.units)

    def read(self, points: Points) -> Points:
        """Return points, which may be sparse, in these units."""
        return read_rows(points, self.units, self.fill)

    def own(self, centers: FloatArray) -> FloatArray:
        """Return centers in the data's own units; a hidden coordinate is what is filled in for a missing one."""
        otherwise = 0.0 if self.fill is None else self.fill
        return np.where(self.hidden, otherwise, centers * np.where(self.hidden, 0.0, self.units))

    def own_errors(self, errors: FloatArray) -> FloatArray:
        """Return standard deviations in the data's own units; NaN for hidden coordinates."""
        return np.where(self.hidden, np.nan, errors * np.where(self.hidden, 0.0, self.units))


def units_of(stddevs: FloatArray, least: FloatArray, most: FloatArray, ratio: float = COLUMNS.ratio) -> FloatArray:
    """Return the unit of each column: its standard deviation if some are wider than others by more than the ratio, else 1 for all.

    ``least`` and ``most`` say how wide each is at least and at most. Columns that look constant have a width of zero; where others have
    units of their own, they do not count.
    """
    narrow = most[most > 0]
    if not len(narrow) or least.max() <= ratio * narrow.min():
        return np.ones(len(least))
    return np.where(least > 0, stddevs, HIDDEN_UNIT)


def beside_ranges(stddevs: FloatArray, widths: FloatArray) -> FloatArray:
    """Return the units of columns beside others that were scaled to a range of 1: so long that most values lie within 1 as well."""
    seen = widths > 0
    return np.where(seen, COLUMNS.range_stddevs * np.where(seen, stddevs, 1.0), HIDDEN_UNIT)
