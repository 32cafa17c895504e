"""Numbers as the page shows them: never more exact than they are. The page escapes them."""

import math
import sys
from typing import Any

_LONGEST_NAME = 60
_LONGEST_NUMBER = 11
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
    if not stddev:
        return number(value)
    digits = max(0, 1 - math.floor(math.log10(2 * stddev)))
    shown = f"{value:,.{digits}f}"
    shown = f"{value:.3g}" if len(shown) > _LONGEST_NUMBER else shown
    return shown.lstrip("-") if float(shown.replace(",", "")) == 0 else shown.replace("-", _MINUS)


def whole(value: Any) -> str:
    """Return a number as a whole one with separators."""
    found = finite(value)
    return UNKNOWN if found is None else f"{found:,.0f}".replace("-", _MINUS)


def percent(share: float) -> str:
    """Return a share in percent; less than half a percent is not zero."""
    return "under 1 %" if 0 < share < 0.005 else f"{share:.0%}".replace("%", " %").replace("-", _MINUS)


def at_most_percent(share: float, unit: str = "%") -> str:
    """Return a share in percent, rounded up to a tenth: for upper bounds."""
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):.1f} {unit}"


def one_in(delta: Any) -> str:
    """Return a small chance as "1 in ...", never smaller than it is."""
    found = finite(delta)
    return UNKNOWN if found is None or found <= 0 else f"1 in {math.floor(1 / found + 1e-6):,}"


def factor(epsilon: float) -> str:
    """Return e to the epsilon, rounded up."""
    return number(math.ceil(math.exp(epsilon) * 100) / 100) if epsilon < 30 else "an astronomical number"
