"""Whether a stated bound holds: from the constant that each run needs, what was measured divided by what is stated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from feddp_kmeans._typing import FloatArray

_STEEP = 0.1
"""A needed constant that grows more slowly than this power is taken as steady: logarithms look like small powers."""


class Stated(StrEnum):
    """How a bound is stated."""

    UP_TO_A_CONSTANT = "up to a universal constant"
    IN_NUMBERS = "in numbers"


@dataclass(frozen=True)
class Needed:
    """The constants that runs at one place of a sweep need, and whether the statement's conditions are met there."""

    place: float
    constants: FloatArray
    condition: bool = True


@dataclass(frozen=True)
class Growth:
    """The power of the place with which something grows, and its standard error."""

    power: float
    error: float

    @property
    def certain(self) -> bool:
        """Return whether it surely grows: by two standard errors, and faster than a logarithm."""
        return self.power > _STEEP and self.power > 2 * self.error

    def __str__(self) -> str:
        """Return the power and its error."""
        return f"{self.power:.2f} (standard error {self.error:.2f})"


def growth(places: Sequence[float], values: Sequence[FloatArray]) -> Growth:
    """Return the slope of the logarithm of the values over the logarithm of their places, by least squares."""
    x = np.log(np.repeat(places, [len(some) for some in values]))
    y = np.log(np.concatenate(values))
    x, y = x - x.mean(), y - y.mean()
    squares = float(np.square(x).sum())
    if squares == 0:
        return Growth(0.0, math.inf)
    power = float(x @ y) / squares
    return Growth(power, math.sqrt(float(np.square(y - power * x).sum()) / max(1, len(x) - 2) / squares))


def verdict(axis: str, sweep: Sequence[Needed], stated: Stated = Stated.UP_TO_A_CONSTANT, *, out_of_reach: str = "") -> str:
    """Return "holds ...", "does not hold ..." or "cannot be told ...", judged where the conditions are met.

    A bound in numbers fails if a run exceeds it. A bound up to a universal constant fails if the constant that it needs exceeds 1 and
    still grows between the last two places: no one constant will do.
    """
    met = [some for some in sweep if some.condition]
    if not met:
        return f"cannot be told: the condition is out of reach, {out_of_reach}"
    worst = max(met, key=lambda some: float(some.constants.max()))
    grows = growth([some.place for some in met[-2:]], [some.constants for some in met[-2:]])
    most = float(worst.constants.max())
    rising = f"the constant that it needs grows like {axis} to the power {grows}"
    if most <= 1:
        return f"holds in this range, but {rising}" if grows.certain else "holds"
    if stated is Stated.IN_NUMBERS:
        return f"does not hold at {axis} = {worst.place:g}: {most:.2g} times what is stated" + (f"; {rising}" if grows.certain else "")
    return f"does not hold with one constant: {rising}, {most:.2g} at most" if grows.certain else f"holds with constant {most:.2g}"


def spread(values: FloatArray) -> str:
    """Return the median, and the least and the largest value."""
    return f"{np.median(values):.3g} ({values.min():.3g} to {values.max():.3g})"
