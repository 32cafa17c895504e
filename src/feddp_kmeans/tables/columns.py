"""Columns of a schema that hold numbers or categories. All fields are public; a row's coordinates depend only on that row."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from feddp_kmeans._json import field_of
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_numbers, as_text, is_line, is_missing, listed
from feddp_kmeans.tables.column import (
    MISSING_NAME,
    ONE_HOT,
    OTHER_NAME,
    Column,
    Described,
    check_common,
    compared,
    described_shares,
    finite,
    set_numbers,
)
from feddp_kmeans.tables.number_scales import (
    LINEAR,
    LOG,
    QUANTILE,
    SCALES,
    NumberScale,
    linear_scale,
    log_scale,
    quantile_scale,
    usual_unit,
)

MOST_CATEGORIES = MOST_KNOTS = 1000
_MOST_MISSING = 0.99
"""Means are computed as if at most this share were missing: with fewer values left, noise would dominate."""


@dataclass(frozen=True)
class NumberColumn(Column):
    """A number with a public range, mapped to [0, weight] on a scale. Values outside the range are clipped to it."""

    name: str
    low: float = math.nan
    high: float = math.nan
    weight: float = 1.0
    missing: str = "middle"
    """A missing value becomes the middle of the scale; with "indicator" it also has a coordinate of its own."""
    scale: str = LINEAR
    """linear, log (a signed logarithm that is linear within a ``unit`` around zero) or quantile (``knots`` are evenly spaced)."""
    unit: float | None = None
    knots: tuple[float, ...] = ()

    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        check_common(self)
        what = f"column {self.name!r:.80}"
        if self.scale not in SCALES:
            raise InputError(f"scale of {what} must be one of {list(SCALES)}, got {self.scale!r:.80}.")
        if (self.scale == QUANTILE) != bool(self.knots) or (self.unit is not None and self.scale != LOG):
            raise InputError(f"{what} must have knots if its scale is quantile, and a unit only if it is log, got {self.scale!r}.")
        if self.knots:
            self._set_knots(what)
        set_numbers(self, "low", "high")
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise InputError(f"low of {what} must be below high, and their difference finite, got {self.low} and {self.high}.")
        if self.unit is not None:
            set_numbers(self, "unit")
        with np.errstate(all="ignore"):
            start, end = self._scale.ends
        if not (start < end and math.isfinite(end - start)) or (self.unit is not None and self.unit <= 0):
            raise InputError(f"unit of {what} must be positive and neither far below nor far above its range, got {self.unit}.")

    def _set_knots(self, what: str) -> None:
        given = self.knots if isinstance(self.knots, list | tuple) else ()
        knots = [float(field_of({"knots": knot}, "knots", float, what)) for knot in given]
        with np.errstate(all="ignore"):
            steps = np.diff(knots)
        if not (2 <= len(knots) <= MOST_KNOTS and (steps > 0).all() and np.isfinite(knots[-1] - knots[0])):
            raise InputError(f"knots of {what} must be 2 to {MOST_KNOTS} ascending numbers, got {self.knots!r:.80}.")
        for name, value in (("knots", tuple(knots)), ("low", knots[0]), ("high", knots[-1])):
            object.__setattr__(self, name, value)

    @cached_property
    def _scale(self) -> NumberScale:
        if self.scale == QUANTILE:
            return quantile_scale(self.knots)
        if self.scale == LOG:
            return log_scale(self.low, self.high, usual_unit(self.low, self.high) if self.unit is None else self.unit)
        return linear_scale(self.low, self.high)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return (self.name, f"{self.name}={MISSING_NAME}") if self.missing == "indicator" else (self.name,)

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates: 1 for a value at the end of its range, 3/4 for a missing one.

        Values are clipped to the range, so on every scale their place is in [0, 1]. A missing value has the place 1/2 and, with an
        indicator, sqrt(1/2) beside it.
        """
        return self.weight**2

    @property
    def public(self) -> str:
        """Return the range and the scale."""
        return f"{self.low:g} to {self.high:g}" + (f", {self.scale} scale" if self.scale != LINEAR else "")

    def encode(self, column: Any, decimal: str) -> FloatArray:
        """Return the coordinates of each row."""
        return self.encode_numbers(as_numbers(column, decimal))

    def encode_numbers(self, values: FloatArray) -> FloatArray:
        """Return the coordinates of these values; NaN is missing."""
        absent = np.isnan(values)
        clipped = np.clip(np.where(absent, self.low, values), self.low, self.high)
        scaled = np.where(absent, 0.5, self._scale.places(clipped))
        if self.missing == "middle":
            return self.weight * scaled[:, None]
        return self.weight * np.column_stack([scaled, ONE_HOT * absent])

    def value_at(self, place: float) -> float:
        """Return the value at a place between 0 and 1 of the scale."""
        return self._scale.value(place)

    def describe(self, center: FloatArray, stddev: FloatArray) -> list[Described]:
        """Return the mean of the values that are not missing, in the unit of the column and within the public range.

        On a log or quantile scale it is the value at the mean place. The error is carried through the scale.
        """
        place, error, shares = float(center[0]) / self.weight, float(stddev[0]) / self.weight, None
        if self.missing == "indicator":
            absent = float(np.clip(center[1] / (self.weight * ONE_HOT), 0, 1))
            shares = {MISSING_NAME: absent}
            present = max(1 - absent, 1 - _MOST_MISSING)
            place = (place - absent / 2) / present
            # The derivative of the place by the share of missing values is (place - 1/2) / present.
            off = (float(np.clip(place, 0, 1)) - 0.5) * float(stddev[1]) / (self.weight * ONE_HOT)
            error = math.hypot(error, off) / present
        value = self._scale.value(place)
        return [Described(self.name, self.kind, value, finite(self._scale.error(place, error)), shares, self._scale.meaning)]


@dataclass(frozen=True)
class OpenColumn(Column):
    """A number without a public range: its coordinate is its value, and the run finds its scale privately."""

    name: str
    weight: float = 1.0
    missing: str = "left out"
    """A row without this value is left out."""

    kind: ClassVar[str] = "open"
    ways: ClassVar[tuple[str, ...]] = ("left out",)
    is_open: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_common(self)
        if self.weight != 1:
            raise InputError(f"weight of column {self.name!r:.80} must be 1 where it has no range, got {self.weight}.")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the name of the coordinate."""
        return (self.name,)

    @property
    def energy(self) -> float:
        """Return infinity: nothing public bounds the value."""
        return math.inf

    @property
    def public(self) -> str:
        """Return that there is no range."""
        return "no range: its scale is found privately"

    def encode(self, column: Any, decimal: str) -> FloatArray:
        """Return the values; NaN where one is missing."""
        return as_numbers(column, decimal)[:, None]

    def describe(self, center: FloatArray, stddev: FloatArray) -> list[Described]:
        """Return the mean."""
        return [Described(self.name, "number", float(center[0]), finite(float(stddev[0])))]


@dataclass(frozen=True)
class CategoryColumn(Column):
    """A public list of categories, one coordinate per category. For a value that is not in the list, all are zero."""

    name: str
    categories: tuple[str, ...]
    weight: float = 1.0
    missing: str = "other"
    """A missing value is treated like one that is not in the list; with "own" it has a coordinate of its own."""

    kind: ClassVar[str] = "category"
    ways: ClassVar[tuple[str, ...]] = ("other", "own")
    rule: ClassVar[str] = "hold words"

    def __post_init__(self) -> None:
        check_common(self)
        words = self.categories if isinstance(self.categories, list | tuple) and all(map(is_line, self.categories)) else ()
        if not 0 < len({*compared(words).to_pylist()} - {"", MISSING_NAME, OTHER_NAME}) == len(words) <= MOST_CATEGORIES:
            rule = f"1 to {MOST_CATEGORIES} distinct lines of text, none of them empty, {MISSING_NAME} or {OTHER_NAME}"
            raise InputError(f"categories of column {self.name!r:.80} must be {rule}, got {self.categories!r:.80}.")
        object.__setattr__(self, "categories", tuple(words))

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return tuple(f"{self.name}={word}" for word in self._words)

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates: at most one of them is nonzero."""
        return (self.weight * ONE_HOT) ** 2

    @property
    def public(self) -> str:
        """Return the first categories."""
        return listed(self.categories)

    @property
    def _words(self) -> tuple[str, ...]:
        return (*self.categories, MISSING_NAME) if self.missing == "own" else self.categories

    def encode(self, column: Any, decimal: str) -> FloatArray:  # noqa: ARG002 - categories have no decimal mark
        """Return the coordinates of each row."""
        text = as_text(column)
        found = pc.index_in(text, value_set=compared(self.categories)).fill_null(-1).to_numpy(zero_copy_only=False)
        if self.missing == "own":
            absent = is_missing(text).to_numpy(zero_copy_only=False)
            found = np.where(absent & (found < 0), len(self.categories), found)
        block = np.zeros((len(found), len(self._words)))
        known = np.flatnonzero(found >= 0)
        block[known, found[known]] = self.weight * ONE_HOT
        return block

    def describe(self, center: FloatArray, stddev: FloatArray) -> list[Described]:
        """Return the most frequent category and the share of each; the rest up to 1 is other."""
        unit = self.weight * ONE_HOT
        return [described_shares(self.name, self._words, center / unit, stddev / unit, OTHER_NAME)]

    def strange(self, column: Any, decimal: str) -> tuple[int, int]:  # noqa: ARG002
        """Return that no cell is strange: a word that is not in the list is other."""
        return 0, len(column)
