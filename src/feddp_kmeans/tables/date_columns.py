"""Columns of a schema that hold dates and times: their trend, the season, the weekday and the time of day."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_text, is_missing, is_text
from feddp_kmeans.tables.column import MISSING_NAME, ONE_HOT, Column, Described, check_common, described_shares, finite
from feddp_kmeans.tables.columns import NumberColumn
from feddp_kmeans.tables.dates import ORDERS, as_dates, date_text, day_of, day_of_year, is_date_type

TREND, SEASON, WEEKDAY, HOUR = "trend", "season", "weekday", "hour"
PARTS = (TREND, SEASON, WEEKDAY, HOUR)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_YEAR = 365.25
_ENERGIES = {TREND: 1.0, SEASON: 0.25, WEEKDAY: 0.5, HOUR: 0.25}
_FAINT = 2.0
"""A season or time of day is shown if the mean point is this many standard deviations of the noise from the circle's middle."""


@dataclass(frozen=True)
class DateColumn(Column):
    """A date or time. Each of its ``parts`` has coordinates of its own, as far apart at most as the two ends of a number's range."""

    name: str
    low: str | None = None
    high: str | None = None
    """Public first and last date of the trend; dates outside are clipped to them. Only the trend needs them."""
    parts: tuple[str, ...] = ()
    """trend: the place between low and high; season and hour: a point on the circle of a year or a day; weekday: seven shares."""
    order: str = "ymd"
    """Order of day, month and year in text: ymd, dmy or mdy."""
    weight: float = 1.0
    missing: str = "middle"
    """A missing date is in the middle of the trend and of the circles; with "indicator" it also has a coordinate of its own."""

    kind: ClassVar[str] = "date"
    rule: ClassVar[str] = "hold dates"

    def __post_init__(self) -> None:
        check_common(self)
        what = f"column {self.name!r:.80}"
        parts = self.parts or ((TREND,) if self.low is not None else (SEASON, WEEKDAY))
        if not isinstance(parts, list | tuple) or any(part not in PARTS for part in parts) or len({*parts}) < len(parts):
            raise InputError(f"parts of {what} must be distinct words of {list(PARTS)}, got {self.parts!r:.80}.")
        object.__setattr__(self, "parts", tuple(part for part in PARTS if part in parts))
        if self.order not in [*ORDERS]:
            raise InputError(f"order of {what} must be one of {list(ORDERS)}, got {self.order!r:.80}.")
        days = [None if day is None else day_of(day) for day in (self.low, self.high)]
        if (self.low, self.high) == (None, None) and TREND not in parts:
            return
        if days[0] is None or days[1] is None or days[0] >= days[1]:
            raise InputError(
                f"dates of {what} must be two such as 2015-01-01, the earlier one first, got {self.low!r:.40}, {self.high!r:.40}."
            )

    @cached_property
    def _trend(self) -> NumberColumn:
        return NumberColumn(self.name, day_of(self.low or "") or 0.0, day_of(self.high or "") or 1.0, self.weight)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        name = self.name
        names = {TREND: [name], WEEKDAY: [f"{name}={day}" for day in WEEKDAYS]}
        names |= {part: [f"{name} ({part} cos)", f"{name} ({part} sin)"] for part in (SEASON, HOUR)}
        own = (f"{name}={MISSING_NAME}",) if self.missing == "indicator" else ()
        return (*(coordinate for part in self.parts for coordinate in names[part]), *own)

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates.

        A row adds at most 1 for its trend, 1/4 for each circle (a point of radius 1/2) and 1/2 for its weekday (a single one, sqrt(1/2)).
        A missing date is 1/2 in the trend, zero in the season and the weekday, and sqrt(1/2) in its own coordinate if it has one; a time
        without a date still has an hour, unless the hour is the only part: then a missing time is what is missing.
        """
        present = sum(_ENERGIES[part] for part in self.parts)
        hour = _ENERGIES[HOUR] if HOUR in self.parts and self.parts != (HOUR,) else 0.0
        absent = 0.25 * (TREND in self.parts) + 0.5 * (self.missing == "indicator") + hour
        return self.weight**2 * max(present, absent)

    @property
    def public(self) -> str:
        """Return the first and last date, and the parts."""
        return (f"{self.low} to {self.high}: " if self.low else "") + ", ".join(self.parts)

    def reads(self, kind: pa.DataType) -> bool:
        """Return whether a column of this Arrow type can be encoded."""
        return is_date_type(kind) or is_text(kind) or bool(pa.types.is_null(kind))

    def encode(self, column: Any, decimal: str) -> FloatArray:  # noqa: ARG002 - dates have no decimal mark
        """Return the coordinates of each row."""
        days, clock = self._dates(column)
        blocks: dict[str, Callable[[], FloatArray]] = {
            TREND: lambda: self._trend.encode_numbers(days),
            SEASON: lambda: self._circle((day_of_year(days) + np.nan_to_num(clock)) / _YEAR),
            WEEKDAY: lambda: self.weight * ONE_HOT * (((days + 3) % 7)[:, None] == np.arange(7)),
            HOUR: lambda: self._circle(clock),
        }
        made = [blocks[part]() for part in self.parts]
        own = [self.weight * ONE_HOT * self._is_absent(days, clock)[:, None]] if self.missing == "indicator" else []
        return np.concatenate([*made, *own], axis=1)

    def _is_absent(self, days: FloatArray, clock: FloatArray) -> BoolArray:
        return np.isnan(clock if self.parts == (HOUR,) else days)

    def _dates(self, column: Any) -> tuple[FloatArray, FloatArray]:
        if pa.types.is_null(column.type):
            column = column.cast(pa.large_string())
        return as_dates(column, self.order)

    def _circle(self, turns: FloatArray) -> FloatArray:
        points = self.weight / 2 * np.column_stack([np.cos(2 * math.pi * turns), np.sin(2 * math.pi * turns)])
        return np.where(np.isnan(turns)[:, None], 0.0, points)

    def describe(self, center: FloatArray, stddev: FloatArray) -> list[Described]:
        """Return one entry per part: a mean date, a time of the year, shares of weekdays, a time of day; missing dates left out."""
        absent = float(np.clip(center[-1] / (self.weight * ONE_HOT), 0, 0.99)) if self.missing == "indicator" else 0.0
        return list(self._described(center / self.weight, stddev / self.weight, absent))

    def _described(self, center: FloatArray, stddev: FloatArray, absent: float) -> Iterator[Described]:
        start = 0
        for part in self.parts:
            end = start + {TREND: 1, WEEKDAY: 7}.get(part, 2)
            mean, error = center[start:end] / (1 - absent), stddev[start:end] / (1 - absent)
            start = end
            if part == TREND:
                (told,) = self._trend.describe(self.weight * (mean - 0.5 * absent / (1 - absent)), self.weight * error)
                shares = {MISSING_NAME: absent} if self.missing == "indicator" else None
                yield Described(self.name, self.kind, date_text(float(told.value)), told.error, shares, "mean date", "days")
            elif part == WEEKDAY:
                yield described_shares(f"{self.name} (weekday)", WEEKDAYS, mean / ONE_HOT, error / ONE_HOT, MISSING_NAME)
            else:
                yield self._described_circle(part, 2 * mean, 2 * float(np.max(error)))

    def _described_circle(self, part: str, mean: FloatArray, stddev: float) -> Described:
        """Return the direction of a mean point on the circle of radius 1; its distance from the middle is how much it matters."""
        length = float(np.clip(np.hypot(*mean), 0, 1))
        turn = float(np.arctan2(mean[1], mean[0]) / (2 * math.pi) % 1)
        name = f"{self.name} ({part})"
        round_what, unit, period = ("year", "days", _YEAR) if part == SEASON else ("day", "hours", 24.0)
        meaning = f"mean time of the {round_what}; strength {length:.2f} (0: all over the {round_what}, 1: always then)"
        if not length > _FAINT * stddev:
            return Described(name, self.kind, f"all over the {round_what}", None, None, meaning)
        error = min(stddev / length / (2 * math.pi), 0.5) * period
        if part == SEASON:
            _, month, day = date_text(int(turn * _YEAR)).split("-")
            return Described(name, self.kind, f"{int(day)} {MONTHS[int(month) - 1]}", finite(error), None, meaning, unit)
        minutes = int(turn * 1440)
        return Described(name, self.kind, f"{minutes // 60:02d}:{minutes % 60:02d}", finite(error), None, meaning, unit)

    def strange(self, column: Any, decimal: str) -> tuple[int, int]:  # noqa: ARG002
        """Return the number of cells of text that are no dates, and the number of cells that are not missing."""
        if not is_text(column.type):
            return 0, len(column)
        absent = is_missing(as_text(column)).to_numpy(zero_copy_only=False)
        return int((self._is_absent(*self._dates(column)) & ~absent).sum()), int((~absent).sum())
