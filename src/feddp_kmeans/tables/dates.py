"""Cells as days since 1970 and a time of day, from ISO text or Arrow's dates and timestamps. They depend on that cell only."""

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.tables.cells import as_plain, is_text

DAY_SECONDS = 86_400
ORDERS = {"ymd": "year-month-day", "dmy": "day.month.year", "mdy": "month/day/year"}
"""Order of the numbers in a date that is text, and how such a date looks."""
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date(1, 1, 1).toordinal() - _EPOCH, date(9999, 12, 31).toordinal() - _EPOCH
_PARTS = {"y": r"(?P<y>\d{4})", "m": r"(?P<m>\d{1,2})", "d": r"(?P<d>\d{1,2})"}
_TIME = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,]\d+)?)?"
_PER_SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


def is_date_type(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds dates, times, or both."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def as_dates(column: Any, order: str = "ymd") -> tuple[FloatArray, FloatArray]:
    """Return the days since 1970-01-01 and the share of the day that is over, NaN for what a cell does not state.

    A cell may hold a date, a time, or both. Clock times are taken as they are written, or as those of the column's own time zone. Years
    are 1 to 9999.
    """
    column = as_plain(column)
    days, seconds = _distinct_dates(column, order) if is_text(column.type) else _arrow_dates(column)
    known = (days >= _FIRST) & (days <= _LAST)
    return np.where(known, days, np.nan), np.where(known | np.isnan(days), seconds / DAY_SECONDS, np.nan)


def day_of(text: str) -> float | None:
    """Return the days since 1970 of an ISO date, None if it is none."""
    try:
        return float(date.fromisoformat(text).toordinal() - _EPOCH)
    except (TypeError, ValueError):
        return None


def date_text(days: float) -> str:
    """Return days since 1970 as an ISO date."""
    return date.fromordinal(_EPOCH + int(np.clip(round(days), _FIRST, _LAST))).isoformat()


def day_of_year(days: FloatArray) -> FloatArray:
    """Return the day of the year, from 0; NaN stays NaN."""
    whole = np.where(np.isnan(days), 0, days).astype(np.int64).astype("datetime64[D]")
    first = whole.astype("datetime64[Y]").astype("datetime64[D]")
    return np.where(np.isnan(days), np.nan, (whole - first).astype(np.float64))


def _distinct_dates(column: Any, order: str) -> tuple[FloatArray, FloatArray]:
    """Return days and seconds of text; each distinct text is parsed once, since dates are few and parsing them is slow."""
    text = column.cast(pa.large_string())
    text = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    coded = text.dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy(zero_copy_only=False)
    days, seconds = _text_dates(coded.dictionary, order)
    return days[codes], seconds[codes]


def _text_dates(words: Any, order: str) -> tuple[FloatArray, FloatArray]:
    """Return days and seconds of text: a date, a time, or a date with a time."""
    text = pc.utf8_trim_whitespace(words)
    day = r"[-/.]".join(_PARTS[part] for part in order)
    part = _extracted(text, rf"^{day}(?:[T ]+{_TIME})?(?:\s*(?:Z|[+-]\d{{2}}:?\d{{2}}))?$", "ymdHMS")
    alone = _extracted(text, rf"^{_TIME}$", "HMS")
    hour, minute, second = (np.where(np.isnan(alone["H"]), part[name], alone[name]) for name in "HMS")
    is_clock = (hour < 24) & (minute < 60) & (np.nan_to_num(second) <= 60)
    months = (part["y"] - 1970) * 12 + part["m"] - 1
    first = np.where(np.isnan(months), 0, months).astype(np.int64).astype("datetime64[M]")
    length = ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)
    is_day = (part["m"] >= 1) & (part["m"] <= 12) & (part["d"] >= 1) & (part["d"] <= length) & (is_clock | np.isnan(hour))
    days = first.astype("datetime64[D]").astype(np.float64) + part["d"] - 1
    seconds = np.minimum(3600 * hour + 60 * minute + np.nan_to_num(second), DAY_SECONDS - 1)
    return np.where(is_day, days, np.nan), np.where(is_clock & (is_day | ~np.isnan(alone["H"])), seconds, np.nan)


def _extracted(text: Any, pattern: str, names: str) -> dict[str, FloatArray]:
    """Return the numbers that a pattern finds, by the names of its groups; NaN where it finds none."""
    found = pc.extract_regex(text, pattern)
    return {name: _numbers(pc.struct_field(found, name)) for name in names}


def _numbers(words: Any) -> FloatArray:
    """Return words of digits as numbers, NaN for empty ones."""
    numbers: FloatArray = (
        pc.if_else(pc.equal(words, ""), pa.scalar(None, words.type), words).cast(pa.float64()).to_numpy(zero_copy_only=False)
    )
    return numbers


def _arrow_dates(column: Any) -> tuple[FloatArray, FloatArray]:
    kind = column.type
    absent = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_date32(kind):
        days = column.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
        return np.where(absent, np.nan, days), np.full(len(days), np.nan)
    if pa.types.is_time(kind):
        ticks = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return np.full(len(ticks), np.nan), np.where(absent, np.nan, ticks / _PER_SECOND[kind.unit])
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = pc.local_timestamp(column)
    unit = _PER_SECOND["ms" if pa.types.is_date64(kind) else kind.unit]
    ticks = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    days, rest = np.divmod(ticks, unit * DAY_SECONDS)
    clock = np.full(len(ticks), np.nan) if pa.types.is_date64(kind) else rest / unit
    return np.where(absent, np.nan, days.astype(np.float64)), clock
