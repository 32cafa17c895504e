"""The gate for public arguments: the range of each, stated as data, and the one function that parses what arrives.

The server may be curious, so arguments are accepted only in the types, shapes, orders and ranges for which the proofs of exactness and of
sensitivity hold (docs/proofs.md). No rule looks at a point, or at the number of points.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.statistics.fixed_point import LEAST_RADIUS, MAX_DIMENSION

LARGEST = sys.float_info.max
"""The largest finite number."""

_SIZES = {
    "d": (1, MAX_DIMENSION),
    "k": (1, 1 << 20),
    "p": (1, 1 << 16),
    "q": (0, 1 << 16),
    "e": (1, 1 << 20),
    "a": (1, 1 << 20),
    "c": (2, 16),
    "s": (1, 1 << 16),
}
"""Range of every size that a shape may name: coordinates, centers, columns of a projection and of a residual projection, edges, anchors,
sets of centers, chosen coordinates. With 2**16 columns a projected point is at most 2**24 long, and its products with a center stay below
2**50."""

_SHOWN = 60
"""Most characters of a value that a message quotes."""


@dataclass(frozen=True)
class Argument:
    """One public argument: a number, or an array whose ``shape`` names its sizes. A name stands for one size throughout a query.

    ``d`` is the dimension of the points. Where an optional projection is not given, its number of columns is d. All numbers are finite
    and from ``low`` to ``high``; ``row_norm`` and ``column_norm`` bound the Euclidean length of every row or column.
    """

    shape: tuple[str, ...] = ()
    low: float = -LARGEST
    high: float = LARGEST
    row_norm: float = math.inf
    column_norm: float = math.inf
    ascending: bool = False
    whole: bool = False
    optional: bool = False


FARTHEST = 2.0**24
"""Largest norm of a center or an origin, in steps: scores stay below 2**50, far within 2**53. The ball has 2**16."""

_UNIT_COLUMNS = 1 + 5e-7
"""Largest norm of a projection's column: 1, and what rounding may add to an orthonormal one."""

BALL = {"center": Argument(("d",)), "radius": Argument(low=LEAST_RADIUS)}
"""Center and radius of the ball that points are clipped to, in the data's units."""

CLUSTERS = BALL | {
    "projection": Argument(("d", "p"), column_norm=_UNIT_COLUMNS, optional=True),
    "centers": Argument(("k", "p"), row_norm=FARTHEST),
}
"""Centers that points are assigned to, in integer steps: of the ball, or of the subspace where a projection is given."""

RESIDUALS = CLUSTERS | {
    "residual_projection": Argument(("d", "q"), column_norm=_UNIT_COLUMNS, optional=True),
    "origins": Argument(("k", "q"), row_norm=FARTHEST),
    "count_weight": Argument(low=0.0, high=2.0**32),
}
"""What is subtracted from the points of each cluster, and the weight of a count relative to a residual, in integer steps."""

SQUARES = {"square_weight": Argument(low=0.0, high=1.0, optional=True)}
"""The weight of a squared residual relative to a residual, in integer steps; without one squares are left out."""

SPREADS = BALL | {"centers": Argument(("k", "d"), row_norm=FARTHEST), "reach": Argument(low=1.0, high=2.0 * FARTHEST)}
"""Centers in full space, and how far distances from them are believed, in integer steps of the ball."""

SWAPS = SPREADS | {name: Argument(("k", "d"), row_norm=FARTHEST) for name in ("others", "ones", "twos")}
"""For each center another one, and two that may take its place; the reach is that of differences of squared distances."""

SETS = BALL | {"sets": Argument(("c", "k", "d"), row_norm=FARTHEST)}
"""Several sets of centers in full space, in integer steps of the ball."""

BOUND = {"bound": Argument(low=0.0)}
"""Bound on a client's contribution in the data's units. Limited by the rule that a query's sensitivity is from 1 to 2**56 steps."""

RESIDUAL_BOUND = {"bound": Argument(low=0.5, high=2.0**60)}
"""Bound on a vector of residuals and counts, in integer steps; of spreads, in points. From one half: no factor is then above 2**31."""

MOMENT_BOUND = {"bound": Argument(low=1.0, high=2.0**100)}
"""Bound on a second moment, or on differences of squared distances, in squared integer steps."""

EDGES = {"edges": Argument(("e",), ascending=True)}
"""Edges of classes."""

ROWS = {"units": Argument(("d",), low=1e-100, high=LARGEST, optional=True), "fill": Argument(("d",), optional=True)}
"""How rows are read, whatever the statistic: every coordinate is divided by its unit, after a missing one was filled in. Without units
coordinates are as they are; without fillings, rows with a missing one are left out."""


def parse(
    arguments: Mapping[str, Argument], check: Callable[..., None], public: Mapping[str, Any], dimension: int
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the arguments as floats, new float64 arrays and None, and the sizes that they have; refuse anything else by name.

    ``check`` refuses arguments that do not go together.
    """
    if not 1 <= dimension <= MAX_DIMENSION:
        raise InputError(f"dimension must be from 1 to {MAX_DIMENSION}, got {dimension}.")
    for name in public:
        if name not in arguments:
            raise InputError(f"public arguments must be {_listed(arguments)}, got {_short(name)}.")
    sizes = {"d": dimension}
    parsed: dict[str, Any] = {}
    for name, argument in arguments.items():
        if name not in public and not argument.optional:
            raise InputError(f"public argument {name!r} must be given, got {_listed(public)}.")
        given = public.get(name)
        if given is None and argument.optional:
            sizes |= dict.fromkeys(set(argument.shape) - set(sizes), dimension)
            parsed[name] = None
        else:
            parsed[name] = _checked(name, argument, given, sizes)
    check(**parsed)
    return parsed, sizes


def _checked(name: str, argument: Argument, given: Any, sizes: dict[str, int]) -> float | FloatArray:
    """Return the float, or a copy of the array that nobody can change after it was checked."""
    if not (isinstance(given, np.ndarray) and given.dtype == np.float64 if argument.shape else isinstance(given, float)):
        raise InputError(f"{name} must be {'an array of float64' if argument.shape else 'a float'}, got {_described(given)}.")
    _check_shape(name, argument, np.shape(given), sizes)
    array: FloatArray = np.array(given, order="C")
    low, high = argument.low, argument.high
    rule = "be finite" if (low, high) == (-LARGEST, LARGEST) else f"be from {low:g} to {high:g}"
    _refuse(name, rule, array[~((array >= low) & (array <= high))])
    if argument.whole:
        _refuse(name, "hold whole numbers", array[array != np.rint(array)])
    if argument.ascending:
        _refuse(name, "be in ascending order", array[..., 1:][array[..., 1:] < array[..., :-1]])
    with np.errstate(over="ignore"):
        rows, columns = (np.square(array).sum(axis=axis) if array.ndim >= 2 else np.zeros(0) for axis in (-1, -2))
    _refuse(name, f"have rows of norm at most {argument.row_norm:g}", np.sqrt(rows[~(rows <= argument.row_norm**2)]))
    _refuse(name, f"have columns of norm at most {argument.column_norm:g}", np.sqrt(columns[~(columns <= argument.column_norm**2)]))
    return array if argument.shape else float(given)


def _refuse(name: str, rule: str, culprits: FloatArray) -> None:
    if len(culprits):
        raise InputError(f"{name} must {rule}, got {float(culprits[0])!r}.")


def _check_shape(name: str, argument: Argument, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    wanted = [sizes.get(size, size) for size in argument.shape]
    fits = len(shape) == len(wanted)
    for size, found in zip(argument.shape, shape, strict=False):
        least, most = (sizes[size], sizes[size]) if size in sizes else _SIZES[size]
        fits = fits and least <= found <= most
        sizes[size] = found
    if not fits:
        free = "".join(f", {size} from {_SIZES[size][0]} to {_SIZES[size][1]}" for size in wanted if isinstance(size, str))
        raise InputError(f"{name} must have shape ({', '.join(map(str, wanted))}){free}, got {shape}.")


def _listed(names: Mapping[str, Any]) -> str:
    return _short(sorted(map(str, names))) if names else "none"


def _described(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"{_short(str(given.dtype))} of shape {given.shape}"
    return f"{type(given).__name__} {_short(given)}" if isinstance(given, str | float | bool) else type(given).__name__


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
