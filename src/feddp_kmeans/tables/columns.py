"""Columns of a schema: how a column of a table becomes coordinates, and how coordinates are shown in the column's own terms.

All fields of a column are public. The coordinates of a row depend only on that row.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._json import field_of
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_numbers, as_text, is_line, is_missing

MISSING_NAME, OTHER_NAME = "(missing)", "(other)"
ONE_HOT = math.sqrt(0.5)
"""Value of a one in a one-hot block: two categories are then as far apart as the two ends of a number's range."""
MOST_CATEGORIES = 1000
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e6
_MOST_MISSING = 0.99
"""Means are computed as if at most this share were missing: with fewer values left, noise would dominate."""


@dataclass(frozen=True)
class Described:
    """One column of a center in the user's terms, computed from released numbers and public facts."""

    column: str
    kind: str
    value: float | str
    """Mean of a number in its own unit; the most frequent category."""
    error: float | None
    """Standard deviation of the noise in the value, or in a share for a category."""
    shares: dict[str, float] | None = None
    """Share of each category; for a number, the share of missing values if they have a coordinate."""

    def to_dict(self) -> dict[str, Any]:
        """Return this as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class NumberColumn:
    """A number with a public range, mapped to [0, weight]. Values outside the range are clipped to it."""

    name: str
    low: float
    high: float
    weight: float = 1.0
    missing: str = "middle"
    """A missing value becomes the middle of the range; with "indicator" it also has a coordinate of its own."""

    kind: ClassVar[str] = "number"
    ways: ClassVar[tuple[str, ...]] = ("middle", "indicator")

    def __post_init__(self) -> None:
        _check_common(self)
        _set_numbers(self, "low", "high")
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise InputError(
                f"low of column {self.name!r:.80} must be below high, and their difference finite, got {self.low} and {self.high}."
            )

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return (self.name, f"{self.name}={MISSING_NAME}") if self.missing == "indicator" else (self.name,)

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates: 1 for a value at the end of its range, 3/4 for a missing one."""
        return self.weight**2

    def encode(self, column: Any, decimal: str) -> FloatArray:
        """Return the coordinates of each row."""
        values = as_numbers(column, decimal)
        absent = np.isnan(values)
        clipped = np.clip(np.where(absent, self.low, values), self.low, self.high)
        scaled = np.where(absent, 0.5, (clipped - self.low) / (self.high - self.low))
        if self.missing == "middle":
            return self.weight * scaled[:, None]
        return self.weight * np.column_stack([scaled, ONE_HOT * absent])

    def describe(self, center: FloatArray, stddev: float) -> Described:
        """Return the mean of the values that are not missing, in the unit of the column and within the public range."""
        scaled, error, shares = float(center[0]) / self.weight, stddev / self.weight, None
        if self.missing == "indicator":
            absent = float(np.clip(center[1] / (self.weight * ONE_HOT), 0, 1))
            shares = {MISSING_NAME: absent}
            present = max(1 - absent, 1 - _MOST_MISSING)
            scaled, error = (scaled - absent / 2) / present, error / present
        span = self.high - self.low
        return Described(self.name, self.kind, self.low + span * float(np.clip(scaled, 0, 1)), _finite(error * span), shares)


@dataclass(frozen=True)
class CategoryColumn:
    """A public list of categories, one coordinate per category. For a value that is not in the list, all are zero."""

    name: str
    categories: tuple[str, ...]
    weight: float = 1.0
    missing: str = "other"
    """A missing value is treated like one that is not in the list; with "own" it has a coordinate of its own."""

    kind: ClassVar[str] = "category"
    ways: ClassVar[tuple[str, ...]] = ("other", "own")

    def __post_init__(self) -> None:
        _check_common(self)
        words = self.categories if isinstance(self.categories, list | tuple) and all(map(is_line, self.categories)) else ()
        if not 0 < len({*_compared(words).to_pylist()} - {"", MISSING_NAME, OTHER_NAME}) == len(words) <= MOST_CATEGORIES:
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
    def _words(self) -> tuple[str, ...]:
        return (*self.categories, MISSING_NAME) if self.missing == "own" else self.categories

    def encode(self, column: Any, decimal: str) -> FloatArray:  # noqa: ARG002 - categories have no decimal mark
        """Return the coordinates of each row."""
        text = as_text(column)
        found = pc.index_in(text, value_set=_compared(self.categories)).fill_null(-1).to_numpy(zero_copy_only=False)
        if self.missing == "own":
            absent = is_missing(text).to_numpy(zero_copy_only=False)
            found = np.where(absent & (found < 0), len(self.categories), found)
        block = np.zeros((len(found), len(self._words)))
        known = np.flatnonzero(found >= 0)
        block[known, found[known]] = self.weight * ONE_HOT
        return block

    def describe(self, center: FloatArray, stddev: float) -> Described:
        """Return the most frequent category and the share of each; the rest up to 1 is other."""
        unit = self.weight * ONE_HOT
        shares = np.clip(center / unit, 0, 1)
        shares = shares / max(1.0, float(shares.sum()))
        told = dict(zip(self._words, map(float, shares), strict=True))
        told[OTHER_NAME] = max(0.0, 1 - sum(told.values()))
        return Described(self.name, self.kind, max(told, key=lambda word: told[word]), _finite(stddev / unit), told)


Column = NumberColumn | CategoryColumn


def _check_common(column: Column) -> None:
    if not is_line(column.name) or not column.name:
        raise InputError(f"name of a column must be one line of text, got {column.name!r:.80}.")
    _set_numbers(column, "weight")
    if not LEAST_WEIGHT <= column.weight <= MOST_WEIGHT:
        raise InputError(f"weight of column {column.name!r:.80} must be between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}, got {column.weight}.")
    if column.missing not in column.ways:
        raise InputError(f"missing of column {column.name!r:.80} must be one of {list(column.ways)}, got {column.missing!r:.80}.")


def _set_numbers(column: Column, *names: str) -> None:
    for name in names:
        object.__setattr__(column, name, float(field_of(vars(column), name, float, f"column {column.name!r:.80}")))


def _compared(words: Sequence[str]) -> Any:
    return as_text(pa.array(words, pa.large_string()))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
