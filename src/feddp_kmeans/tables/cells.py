"""Cells of a raw table as numbers or as text. A cell's value depends on that cell only, never on its neighbours."""

import unicodedata
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
"""Text that means an empty cell, unless a schema names it as a category."""

NUMBERED = "numbers are taken for names only if they are four or more, evenly spaced, such as years"
_SURELY_NAMES, _EVEN = 4, 1e-6
"""Least number of numbers that may be names, and how much their steps may differ, as a part of one."""

_NUMBER = r"^(-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-?inf)$"
_DECIMAL_COMMA = r"^([+-]?\d*),(\d+)([eE][+-]?\d+)?$"
_SPELLINGS = ((r"^\+", ""), (r"^(?i:true)$", "1"), (r"^(?i:false)$", "0"), (r"^(-?)(?i:inf|infinity)$", r"\1inf"))
_FEW = 1000
"""Fewer cells are not searched for distinct ones."""
_NULL = pa.nulls(1, pa.large_string())[0]  # pa.scalar would import pandas, where there is one


def is_row(names: Sequence[str], decimal: str) -> bool:
    """Return whether the header may be a row of data: a number in it must be no private cell.

    Numbers are names, such as years, wavelengths and the 0, 1, 2, 3 of a frame without names, only if they are evenly spaced, which a row
    hardly ever is from four of them on.
    """
    numbers = as_numbers(pa.array(list(names), pa.string()), decimal)
    numbers = numbers[np.isfinite(numbers)]
    steps = np.diff(numbers)
    are_names = len(numbers) >= _SURELY_NAMES and steps[0] > 0 and np.allclose(steps, steps[0], rtol=_EVEN, atol=0)
    return len(numbers) > 0 and not are_names


def is_line(word: Any) -> bool:
    """Return whether this is text without control characters, line breaks or unpaired surrogates."""
    return isinstance(word, str) and all(unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp") for letter in word)


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return the first few names, for a one-line message."""
    shown = ", ".join((name if is_line(name) else ascii(name))[:60] for name in names[:most])
    return f"{shown}{', ...' if len(names) > most else ''}" if names else "no column"


def check_distinct(names: Sequence[str], what: str) -> None:
    """Refuse duplicate names."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        if not twice:
            raise InputError(f"{what} must have names, got {names.count('')} without one in its first line: name them, or drop them.")
        raise InputError(f"{what} must have distinct names, got {twice!r:.80} twice.")


def check_present(wanted: Collection[str], found: Sequence[str], source: str, what: str = "column") -> None:
    """Refuse a table that lacks one of these columns."""
    for name in wanted:
        if name not in found:
            raise InputError(f"{what} {name!r:.80} must be in {source}, which has {listed(found)}.")


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds numbers."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds text, plain or as a dictionary."""
    kind = _value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_readable(kind: pa.DataType) -> bool:
    """Return whether a column of this type can be a number or a category."""
    return is_numeric(_value_type(kind)) or is_text(kind)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def as_plain(column: Any) -> Any:
    """Return a column with dictionary codes replaced by their values."""
    return column.cast(_value_type(column.type))


def as_numbers(column: Any, decimal: str = ".") -> FloatArray:
    """Return a column as float64, with NaN for empty cells and for text that is not a number."""
    column = as_plain(column)
    if is_text(column.type):
        column = _parsed(column, decimal)
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif not is_numeric(column.type):
        raise InputError(f"column must hold numbers, got {column.type}.")
    numbers: FloatArray = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def count_words(column: Any, decimal: str) -> tuple[int, int]:
    """Return the number of cells that are words (neither a number nor missing), and the number of cells that are not missing."""
    if is_text(column.type) and (holes := np.isnan(as_numbers(column, decimal))).any():
        missing = is_missing(pc.utf8_trim_whitespace(as_plain(column).cast(pa.large_string()))).to_numpy(zero_copy_only=False)
        return int((holes & ~missing).sum()), int((~missing).sum())
    return 0, len(column)


def decimal_of(table: pa.Table) -> str:
    """Return the decimal mark that text cells may use besides a point; the header of a CSV file decides it."""
    mark: bytes = (table.schema.metadata or {}).get(b"decimal", b".")
    return mark.decode()


def as_text(column: Any) -> Any:
    """Return a column as trimmed text in Unicode's composed form, null for empty cells. 1.0 becomes 1, True becomes true.

    Each distinct text is made once: in a column of words they are few.
    """
    column = as_plain(column)
    if is_text(column.type) and len(column) > _FEW:
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        coded = whole.cast(pa.large_string()).dictionary_encode(null_encoding="encode")
        return _as_text(coded.dictionary).take(coded.indices)
    return _as_text(column)


def _as_text(column: Any) -> Any:
    if not is_readable(column.type):
        raise InputError(f"column must hold text or numbers, got {column.type}.")
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    text = pc.utf8_trim_whitespace(pc.utf8_normalize(column.cast(pa.large_string()), form="NFC"))
    for pattern, plain in ((r"^(-?\d+)\.0+$", r"\1"), ("^(?i:true)$", "true"), ("^(?i:false)$", "false")):
        text = pc.replace_substring_regex(text, pattern, plain)
    return text


def is_missing(text: Any) -> Any:
    """Return which cells of a text column are empty or contain a word for missing."""
    return pc.is_in(text, value_set=pa.array([None, *MISSING], pa.large_string()))


def _parsed(column: Any, decimal: str) -> Any:
    """Return text as numbers, null for other text. A column that Arrow can read unchanged, or after trimming, takes that shorter way."""
    with suppress(pa.ArrowInvalid):
        return column.cast(pa.float64())
    text = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    if decimal == ",":
        text = pc.replace_substring_regex(text, _DECIMAL_COMMA, r"\1.\2\3")
    text = pc.if_else(pc.equal(text, ""), _NULL, text)
    with suppress(pa.ArrowInvalid):
        return text.cast(pa.float64())
    for pattern, plain in _SPELLINGS:
        text = pc.replace_substring_regex(text, pattern, plain)
    return pc.if_else(pc.match_substring_regex(text, _NUMBER), text, _NULL)
