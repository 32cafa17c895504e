"""What each column of a public table could be, and why. A range or a list of categories taken from clients would leak."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.algorithm.column_knots import N_DECILES
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables import cells
from feddp_kmeans.tables.advice import ID_NAME
from feddp_kmeans.tables.boolean_columns import NO, YES, BooleanColumn
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn
from feddp_kmeans.tables.date_columns import HOUR, DateColumn
from feddp_kmeans.tables.dates import ORDERS, as_dates, date_text, is_date_type
from feddp_kmeans.tables.number_scales import LINEAR, QUANTILE

MANY = 50
"""A text column with more distinct words than this is taken for free text or an id."""
FEW_ROWS = 20
"""Columns with fewer values than this are never taken for ids."""
N_KNOTS = N_DECILES + 1
"""Number of knots of a quantile scale: the deciles and both ends."""
_LONG_TAIL = 10
"""A column has a long tail if its largest value is this many times as far from the median as its smallest."""


@dataclass(frozen=True)
class Proposal:
    """What a column could be, None if it cannot be used, and why."""

    name: str
    column: Column | None
    why: str


def proposal(table: pa.Table, name: str, kind: str | None = None, scale: str | None = None) -> Proposal:
    """Return what the column of this name could be; ``kind`` (number or category) and ``scale`` are not guessed if given."""
    column = table[name]
    if is_date_type(column.type) and kind is None and name:
        return _date(name, column)
    if not name or not cells.is_readable(column.type):
        return Proposal(name, None, f"values of type {column.type} cannot be used" if name else "no name; perhaps row numbers")
    text, values = cells.as_text(column), cells.as_numbers(column, cells.decimal_of(table))
    absent = cells.is_missing(text).to_numpy(zero_copy_only=False)
    if absent.all():
        return Proposal(name, None, "no values" if len(absent) else "no rows")
    is_typed = b"decimal" not in (table.schema.metadata or {})  # only tables from text files have a decimal mark
    looks_like_number = not cells.is_text(column.type) or not (is_typed or (np.isnan(values) & ~absent).any())
    is_free = kind is None and scale is None
    if is_free and (found := _boolean(name, text, absent) or (None if looks_like_number else _text_date(name, column, absent))):
        return found
    if kind == "number" or (kind is None and (scale or looks_like_number)):
        return _number(name, values, scale, forced=kind is not None)
    return _category(name, text, absent, forced=kind is not None)


def _number(name: str, values: FloatArray, scale: str | None, *, forced: bool) -> Proposal:
    present = values[np.isfinite(values)]
    if len(present) == 0 or present.min() == present.max():
        return Proposal(name, None, "one value only" if len(present) else "no numbers")
    low, high = float(present.min()), float(present.max())
    whole = bool((present == np.floor(present)).all())
    distinct = len(np.unique(present)) == len(present) >= FEW_ROWS
    ascends = bool((np.diff(present) > 0).all())  # row after row, as numbers of customers do
    if not forced and whole and distinct and (ID_NAME.search(name) or high - low == len(present) - 1 or ascends):
        return Proposal(name, None, f"looks like an id: {len(present)} distinct whole numbers (--number keeps it)")
    missing = "indicator" if np.isnan(values).any() else "middle"
    why = "smallest and largest value"
    if scale == QUANTILE:
        knots = np.unique(np.quantile(present, np.linspace(0, 1, N_KNOTS)))
        return Proposal(name, NumberColumn(name, missing=missing, scale=QUANTILE, knots=tuple(map(float, knots))), "deciles")
    median = float(np.median(present))
    if scale is None and low >= 0 and high - median > _LONG_TAIL * (median - low) > 0:
        why += "; long tail: --log or --quantile shows more of it"
    return Proposal(name, NumberColumn(name, low, high, missing=missing, scale=scale or LINEAR), why)


def _category(name: str, text: Any, absent: BoolArray, *, forced: bool) -> Proposal:
    words = sorted(word for word in pc.unique(text.filter(pa.array(~absent))).to_pylist() if word is not None)
    if len(words) + bool(absent.any()) < 2:
        return Proposal(name, None, "one value only")
    n_present = int((~absent).sum())
    if not forced and (len(words) > MANY or (n_present >= FEW_ROWS and len(words) > n_present / 2)):
        return Proposal(name, None, f"looks like text or an id: {len(words)} distinct values in {n_present} rows (--categories keeps it)")
    try:
        CategoryColumn("any", tuple(words))
    except InputError:
        return Proposal(name, None, "its words cannot be categories: too many, or not single lines of text")
    return Proposal(name, CategoryColumn(name, tuple(words), missing="own" if absent.any() else "other"), f"{len(words)} distinct words")


def _boolean(name: str, text: Any, absent: BoolArray) -> Proposal | None:
    """Return a yes/no column if that is what all words are, both are there, and they are words and no digits."""
    words = {word.lower() for word in pc.unique(text.filter(pa.array(~absent))).to_pylist()} - {None}
    if not (words & set(YES) - {"1"} and words & set(NO) - {"0"} and words <= {*YES, *NO}):
        return None
    return Proposal(name, BooleanColumn(name, missing="indicator" if absent.any() else "middle"), "only words for yes and no")


def _text_date(name: str, column: Any, absent: BoolArray) -> Proposal | None:
    """Return a date column if all cells of text are dates in the same order."""
    for order in ORDERS:
        days, clock = (part[~absent] for part in as_dates(column, order))
        if not np.isnan(days).any() or (np.isnan(days).all() and not np.isnan(clock).any()):
            return _date(name, column, order)
    return None


def _date(name: str, column: Any, order: str = "ymd") -> Proposal:
    days, clock = as_dates(column, order)
    if np.isnan(days).all() and len(np.unique(clock[~np.isnan(clock)])) > 1:
        missing = "indicator" if np.isnan(clock).any() else "middle"
        return Proposal(name, DateColumn(name, parts=(HOUR,), missing=missing), "times of day")
    present = days[~np.isnan(days)]
    if len(present) == 0 or present.min() == present.max():
        return Proposal(name, None, "one date only" if len(present) else "no values")
    low, high = date_text(float(present.min())), date_text(float(present.max()))
    missing = "indicator" if np.isnan(days).any() else "middle"
    more = "season, weekday" + (", hour" if not np.isnan(clock).all() else "")
    return Proposal(name, DateColumn(name, low, high, order=order, missing=missing), f"dates as {ORDERS[order]}; parts may also be {more}")


def check_scales(scales: Mapping[str, str], source: str) -> None:
    """Refuse a scale that there is not."""
    for name, scale in scales.items():
        if scale not in {LINEAR, "log", QUANTILE}:
            raise InputError(f"scale of column {name!r:.80} of {source} must be linear, log or quantile, got {scale!r:.80}.")
