"""Scales of a number with a public range: where a value stands between 0 and 1, and which value stands there."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray

LINEAR, LOG, QUANTILE = "linear", "log", "quantile"
SCALES = (LINEAR, LOG, QUANTILE)
_DECADES = 1000
"""The usual unit of a log scale is the larger end of the range divided by this, or the end next to zero if that is smaller."""
_MEANINGS = {
    LOG: "typical value on a log scale (close to the geometric mean): half the weight of large values, so below the mean",
    QUANTILE: "value at the mean rank between the public knots (close to the median): not the mean",
}


@dataclass(frozen=True)
class NumberScale:
    """A map of [low, high] onto [0, 1] that ascends: ``to`` a scale on which equal steps matter equally, and ``back``."""

    kind: str
    low: float
    high: float
    to: Callable[[Any], Any]
    back: Callable[[Any], Any]

    @property
    def meaning(self) -> str | None:
        """Return what a mean on this scale is; None where it is the mean."""
        return _MEANINGS.get(self.kind)

    @property
    def ends(self) -> tuple[float, float]:
        """Return both ends of the range on the scale."""
        return float(self.to(self.low)), float(self.to(self.high))

    def places(self, values: FloatArray) -> FloatArray:
        """Return the place between 0 and 1 of values within the range: ``to`` ascends, so both differences are at most the whole."""
        start, end = self.ends
        places: FloatArray = (self.to(values) - start) / (end - start)
        return places

    def value(self, place: float) -> float:
        """Return the value at a place, within the range; places outside [0, 1] are clipped to it."""
        start, end = self.ends
        return float(np.clip(self.back(start + (end - start) * float(np.clip(place, 0, 1))), self.low, self.high))

    def error(self, place: float, stddev: float) -> float:
        """Return how far the value moves if the place moves by ``stddev``: to the side where it moves more, within the range."""
        if self.kind == LINEAR:
            return stddev * (self.high - self.low)
        middle = self.value(place)
        return max(self.value(place + stddev) - middle, middle - self.value(place - stddev)) if math.isfinite(stddev) else math.inf


def linear_scale(low: float, high: float) -> NumberScale:
    """Return the plain scale of a range."""
    return NumberScale(LINEAR, low, high, lambda x: x, lambda x: x)


def usual_unit(low: float, high: float) -> float:
    """Return the unit of a log scale that is usual for this range."""
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    unit = max(abs(low), abs(high)) / _DECADES
    return min(unit, nearest) if nearest else unit


def log_scale(low: float, high: float, unit: float) -> NumberScale:
    """Return the signed logarithm sign(x) log(1 + abs(x) / unit): linear within a unit around zero, logarithmic beyond it."""
    return NumberScale(LOG, low, high, lambda x: np.sign(x) * np.log1p(np.abs(x) / unit), lambda y: np.sign(y) * unit * np.expm1(np.abs(y)))


def quantile_scale(knots: Sequence[float]) -> NumberScale:
    """Return the scale on which these values are evenly spaced, linear between them."""
    values, places = np.array(knots), np.arange(len(knots), dtype=np.float64)

    def to(x: Any) -> Any:
        return np.clip(np.interp(x, values, places), 0, places[-1])  # the slope between two tiny knots may be infinite

    return NumberScale(QUANTILE, knots[0], knots[-1], to, lambda y: np.interp(y, places, values))
