"""Numbers as terminal and page show them: never more exact than they are. The page escapes them."""

import math
import sys
from typing import Any

_LONGEST_NAME = 60
_MOST_DECIMALS, _LARGEST = 9, 1e12
_FINE = 3.0
"""An error whose first digit is below this has two digits, otherwise one: 10, 25, 30, 400."""
UNKNOWN = "not known"
_MINUS = "\u2212"


def finite(value: Any) -> float | None:
    """Return the number, or None where there is none: a word such as "inf", a null, a NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def short(value: Any) -> str:
    """Return a name, cut where it is very long."""
    text = str(value)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def number(value: Any) -> str:
    """Return a number with four digits; infinity as a sign, what is not a number as words."""
    if value in {"inf", math.inf}:
        return "∞"
    found = finite(value)
    if found is None:
        return UNKNOWN if value is None or isinstance(value, float) else str(value)
    if abs(found) < 1e9 and (found == int(found) or abs(found) >= 1e4):
        return f"{found:,.0f}".replace("-", _MINUS)
    return f"{found:.4g}".replace("-", _MINUS)


def chance(value: Any) -> str:
    """Return a small chance as a decimal number where that is short, else as ``number`` does."""
    found = finite(value)
    return number(value) if found is None or not 1e-9 <= found < 1e-3 else f"{found:.12f}".rstrip("0")


def rounded(value: float, stddev: float | None) -> str:
    """Return a value with only those digits that are meaningful under noise of this standard deviation."""
    return _at(value, _decimals(2 * stddev)) if stddev else number(value)


def uncertain(value: float, stddev: float | None, unit: str = "") -> str:
    """Return a value and two standard deviations of its noise, both with the same last digit.

    >>> uncertain(170.9, 5.2)
    '171 ± 10'
    >>> uncertain(46573.2, 2500.0)
    '47,000 ± 5,000'
    """
    if not stddev:
        return number(value) + unit
    return f"{rounded(value, stddev)}{unit} ± {rounded(2 * stddev, stddev)}{unit}"


def size(count: float | None, stddev: float | None) -> str:
    """Return a noisy number of people or points; one that is not above zero is "about 0", and the most that it may be."""
    if count is None:
        return UNKNOWN
    if not stddev:
        return whole(max(0.0, count))
    error = max(2 * stddev, 1.0)
    decimals = min(0, _decimals(error))
    if count < 0.5:
        return f"about 0 (at most {_at(max(0.0, count) + error, decimals)})"
    return f"{_at(count, decimals)} ± {_at(error, decimals)}"


def share(value: float, stddev: float | None) -> str:
    """Return a share in percent with two standard deviations of its noise; one that may be none or all as a bound.

    >>> share(0.9994, 0.0011)
    'at least 99.7 %'
    >>> share(0.62, 0.015)
    '62 % ± 3 %'
    """
    if not stddev:
        return percent(value)
    error = 200 * stddev
    low, high = 100 * value - error, 100 * value + error
    coarse = min(_MOST_DECIMALS, max(0, -math.floor(math.log10(error))))
    if low <= 0 and high >= 100:
        return "hidden by noise"
    if high >= 100:
        return f"at least {_at(math.floor(low * 10**coarse + 1e-9) / 10**coarse, coarse)} %"
    if low <= 0:
        return f"at most {_at(math.ceil(high * 10**coarse - 1e-9) / 10**coarse, coarse)} %"
    decimals = max(0, _decimals(error))
    return f"{_at(100 * value, decimals)} % ± {_at(error, decimals)} %"


def whole(value: Any) -> str:
    """Return a number as a whole one with separators."""
    found = finite(value)
    return UNKNOWN if found is None else f"{found:,.0f}".replace("-", _MINUS)


def percent(part: float) -> str:
    """Return a share in percent; less than half a percent is not zero."""
    return "under 1 %" if 0 < part < 0.005 else f"{part:.0%}".replace("%", " %").replace("-", _MINUS)


def at_most_percent(part: float, unit: str = "%") -> str:
    """Return a share in percent, rounded up to a tenth: for upper bounds."""
    return f"{min(100.0, math.ceil(part * 1000 - 1e-9) / 10):.1f} {unit}"


def one_in(delta: Any) -> str:
    """Return a small chance as "1 in ...", never smaller than it is."""
    found = finite(delta)
    return UNKNOWN if found is None or found <= 0 else f"1 in {math.floor(1 / found + 1e-6):,}"


def factor(epsilon: float) -> str:
    """Return e to the epsilon, rounded up."""
    return number(math.ceil(math.exp(epsilon) * 100) / 100) if epsilon < 30 else "an astronomical number"


def counted(number_of: int, one: str, many: str = "") -> str:
    """Return "1 cluster" or "3 clusters"."""
    return f"{number_of:,} {one if number_of == 1 else many or one + 's'}"


def capitalize_first(words: str) -> str:
    """Return words with a capital first letter; the rest stays as it is."""
    return words[:1].upper() + words[1:]


def _decimals(error: float) -> int:
    """Return how many decimals a value with this error has; negative where it is rounded to tens and more."""
    exponent = math.floor(math.log10(error))
    return (1 if error / 10.0**exponent < _FINE else 0) - exponent


def _at(value: float, decimals: int) -> str:
    if decimals > _MOST_DECIMALS or abs(value) >= _LARGEST:
        return f"{value:.3g}".replace("-", _MINUS)
    near = round(value, decimals)
    return "0" if near == 0 and decimals <= 0 else f"{near + 0.0:,.{max(0, decimals)}f}".replace("-", _MINUS)
