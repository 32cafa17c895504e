"""Queries of a hostile server, made from honest ones by small changes or from nothing, and data of all kinds. All of it follows a seed."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.gate import LARGEST, Argument

NAMES = sorted(REGISTRY)

NASTY = [
    *(None, True, False, 0, 1, -1, 1 << 62, 1 << 64, 10**30, "", "1.0", "nan", [], [1.0], {}, {"a": 1.0}, b"8 bytes.", 1j),
    *(0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1e-308, 1e-140, 1e-12, 0.5, 1.0, 2.0**16, 2.0**53, 2.0**63, 1e100, 1e300, 1e308, -1e308),
    *(LARGEST, -LARGEST, float("inf"), -float("inf"), float("nan"), np.float32(1.0), np.float64(1.0), np.int64(1), np.ones(()), np.ones(1)),
]
"""Values where another is expected."""


TIMES = [0, -1, 10**9, 1 << 70, 1.0, 0.5, True]
"""Numbers of releases to be made as one, none of which any plan holds."""


@dataclass(frozen=True)
class World:
    """Clients and the ball around them."""

    ball: Ball
    clients: list[np.ndarray]

    @property
    def points(self):
        return np.concatenate(self.clients)


@np.errstate(all="ignore")
def world(rng):
    """Clients of all kinds and sizes around a ball of nearly any size and place."""
    d = int(rng.choice([1, 2, 3, 5, 9]))
    radius = float(rng.choice([1.0, 10.0 ** rng.uniform(-3, 6), 1e-140, 1e-20, 1e150, 1e300], p=[0.4, 0.4, 0.05, 0.05, 0.05, 0.05]))
    center = radius * float(rng.choice([0.0, 1.0, 1e4])) * rng.standard_normal(d)
    center = np.clip(np.nan_to_num(center), -1e305, 1e305)
    ball = Ball(center, radius)
    sizes = rng.choice([0, 1, 2, 3, 8, 40, 300], size=rng.integers(1, 5), p=[0.1, 0.25, 0.2, 0.15, 0.15, 0.1, 0.05])
    return World(ball, [_client(rng, ball, int(size)) for size in sizes])


def _client(rng, ball, size):
    d = ball.dimension
    directions = rng.standard_normal((size, d))
    kind = rng.integers(10)
    if kind == 0:  # at the edge of the ball, a hair inside or outside
        lengths = np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-9)
        rows = ball.center + directions / lengths * ball.radius * rng.choice([1 - 1e-15, 1.0, 1 + 1e-15, 1 + 1e-6])
    elif kind == 1:  # beyond all bounds
        rows = np.clip(directions * rng.choice([1e150, 1e300, 1e308]), -LARGEST, LARGEST)
    elif kind == 2:
        rows = directions * rng.choice([1e-300, 5e-324])
    elif kind == 3:  # many equal points
        rows = np.repeat(ball.center + directions[:1] * ball.radius, size, axis=0)[:size]
    elif kind == 4:  # on an axis, and at half steps of the grid
        rows = ball.decode(np.rint(directions * 40_000) / 2 * (np.arange(d) == d - 1))
    elif kind == 5:  # on a coarse grid: ties
        rows = ball.decode(np.rint(directions * 3) * 1000)
    elif kind == 6:
        rows = np.repeat(ball.center[None], size, axis=0)
    elif kind == 7:  # mostly zeros
        rows = directions * ball.radius * (rng.random((size, d)) < 0.2)
    else:
        rows = ball.center + directions * ball.radius * rng.choice([0.01, 0.5, 3.0, 100.0])
    return np.clip(np.nan_to_num(rows), -LARGEST, LARGEST)


@np.errstate(all="ignore")
def honest(name, rng, where):
    """Arguments in the ranges that the statistic states, near the data."""
    statistic, ball, d = REGISTRY[name], where.ball, where.ball.dimension
    encoded = ball.encode(where.points) if len(where.points) else np.zeros((1, d))
    k = int(rng.choice([1, 2, 3, 7, 60]))
    projection, residual_projection = _projection(rng, d, 1), _projection(rng, d, 0)
    if "projection" not in statistic.arguments:
        projection = None
    about = {
        "center": ball.center.copy(),
        "radius": ball.radius,
        "projection": projection,
        "centers": _targets(rng, encoded, projection, k),
        "residual_projection": residual_projection,
        "origins": _targets(rng, encoded, residual_projection, k),
        "count_weight": float(rng.choice([0.0, 1.0, 2.0 ** rng.uniform(-40, 32), 2.0**32])),
        "square_weight": [None, 0.0, 2.0 ** rng.uniform(-60, 0), 1.0][rng.integers(4)],
        "reach": 2.0 ** float(rng.uniform(0, 25)),
        "edges": _edges(rng, encoded),
        "low": ball.center - ball.radius,
        "high": ball.center + ball.radius,
        "cells": np.rint(2.0 ** rng.uniform(0, 8 / d, d)),
        "depth": float(rng.integers(0, max(1, 40 // d))),
        "bound": _bound(name, rng, ball),
        "chosen": np.ones(d),
        "slots": np.append(rng.integers(0, 2, d - 1).astype(float), 1.0),
        "n_words": float(rng.choice([1, 7, 1000])),
        "most": float(rng.choice([1, 2, 2**20])),
        "kinds": np.append(rng.choice([-1.0, 0.0, 1.0, 5.0], d - 1), rng.choice([-1.0, 3.0])),
        "column_edges": np.sort(ball.center[:, None] + ball.radius * rng.uniform(-1, 1, (d, int(rng.integers(1, 9)))), axis=1),
    }
    if "others" in statistic.arguments:
        about |= {place: _targets(rng, encoded, None, k) for place in ("others", "ones", "twos")}
    if "sets" in statistic.arguments:
        about["sets"] = np.stack([_targets(rng, encoded, None, k) for _ in range(rng.choice([2, 3, 16]))])
    if name in {"point-distances", "client-distances"}:
        about["edges"] = np.nan_to_num(about["edges"] * ball.grid)
    if statistic.arguments.get("bound", Argument()).whole:
        about["bound"] = float(rng.choice([1, 2, 100, 2**24]))
    if name == "tree-counts":
        codes = np.prod(about["cells"]) * 2.0 ** (d * about["depth"])
        about["edges"] = np.sort(np.rint(rng.random(about["edges"].shape) * codes))
    given = {argument: about[argument] for argument in statistic.arguments}
    if rng.random() < 0.25:
        given |= {"units": 2.0 ** rng.uniform(-30, 30, d), "fill": [None, ball.center.copy()][rng.integers(2)]}
    return {argument: value for argument, value in given.items() if value is not None or rng.random() < 0.5}


def _projection(rng, d, least):
    columns = int(rng.choice([-1, least, 1, d, 3 * d], p=[0.5, 0.05, 0.2, 0.15, 0.1]))
    if columns < 0:
        return None
    drawn = rng.standard_normal((d, columns))
    if columns and rng.random() < 0.5:  # columns that are all alike: a projected point is longer than the point
        drawn = np.repeat(drawn[:, :1], columns, axis=1)
    return drawn / np.maximum(np.linalg.norm(drawn, axis=0), 1e-9)


def _targets(rng, encoded, projection, k):
    placed = encoded if projection is None else np.rint(encoded @ projection)
    chosen = placed[rng.integers(len(placed), size=k)]
    reach = rng.choice([0.0, 0.5, 1.0, 1000.0, 2.0**16])
    targets = chosen + reach * rng.standard_normal(chosen.shape)
    if rng.random() < 0.1:  # as far out as may be
        targets *= (2.0**24 - 1e-6) / np.maximum(np.linalg.norm(targets, axis=1, keepdims=True), 1.0)
    return targets


def _edges(rng, encoded):
    lengths = np.linalg.norm(encoded, axis=1)
    some = (
        rng.choice(lengths, size=rng.integers(1, 6))
        if rng.random() < 0.5
        else RESOLUTION * 2.0 ** rng.uniform(-20, 20, rng.integers(1, 90))
    )
    return np.sort(some**2 if rng.random() < 0.3 else some)


def _bound(name, rng, ball):
    steps = 2.0 ** rng.uniform(0.01, 55.9)  # the sensitivity that it gives
    if name == "client-outer-product":
        return float(np.float64(steps) * ball.grid * ball.grid)
    if name in ("client-cluster-counts", "client-presence"):
        return steps / 2**16
    if name in ("client-cluster-sums", "client-cluster-means"):
        return float(np.float64(steps) * ball.grid / 2**8)
    return float(rng.choice([0.5, 1.0, 2.0 ** rng.uniform(-1, 40), 2.0**60]))


@np.errstate(all="ignore")
def hostile(name, rng, where):
    """What a hostile server may send: honest arguments as they are, or changed in one to three places; or values from nothing."""
    if rng.random() < 0.03:
        return {argument: NASTY[rng.integers(len(NASTY))] for argument in REGISTRY[name].arguments if rng.random() < 0.9}
    public = honest(name, rng, where)
    for _ in range(int(rng.choice([0, 1, 2, 3], p=[0.3, 0.45, 0.15, 0.1]))):
        _change(name, rng, public)
    return public


def _change(name, rng, public):
    arguments = REGISTRY[name].arguments
    odd = rng.random()
    if odd < 0.03 or not public:
        public[rng.choice(["bound", "edges", "n", "center ", "radius\0"])] = 1.0
    elif odd < 0.06:
        public.pop(rng.choice(list(public)))
    else:
        argument = str(rng.choice(list(public)))
        value = public[argument]
        if rng.random() < 0.05:
            public[argument] = NASTY[rng.integers(len(NASTY))]
        elif isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "fiub":
            public[argument] = ARRAYS[rng.integers(len(ARRAYS))](rng, value)
        elif argument in arguments:
            public[argument] = _number(rng, value, arguments[argument])


def _number(rng, value, argument):
    ends = [argument.low, argument.high]
    near = [*ends, *(float(np.nextafter(end, towards)) for end in ends for towards in (-np.inf, np.inf))]
    kind = rng.integers(5)
    if kind == 0:
        return any_float(rng)
    if kind == 1:
        return near[rng.integers(len(near))]
    if not isinstance(value, float):
        return value
    if kind == 2:
        return float(np.nextafter(value, rng.choice([-np.inf, np.inf])))
    return float(np.float64(value) * 2.0 ** rng.uniform(-60, 60)) if kind == 3 else [np.float64, np.float32, str][rng.integers(3)](value)


def any_float(rng):
    """Any float64, all exponents alike: subnormal, huge, infinite and NaN ones among them."""
    return float(rng.integers(0, 1 << 64, dtype=np.uint64).view(np.float64))


def _retyped(rng, value):
    kind = rng.choice(["<i8", "<u8", "<f4", "?", ">f8", "O", "<c16", "<f2", "<i4"])
    return np.nan_to_num(value).astype(kind)


def _wrapped(rng, value):
    """Whole numbers whose squares wrap around to nothing in 64 bits."""
    return np.full(value.shape, 1 << 32, dtype=rng.choice([np.int64, np.uint64]))


def _one_changed(rng, value):
    changed = np.array(value)
    if changed.size and changed.dtype == np.float64:
        changed[tuple(rng.integers(size) for size in changed.shape)] = rng.choice([any_float(rng), 0.0, -0.0, 5e-324, 1e300, 2.0**24])
    return changed


def _swapped(rng, value):
    """Nearly in order."""
    changed = np.array(value)
    if len(changed) > 1:
        at = rng.integers(len(changed) - 1)
        changed[[at, at + 1]] = changed[[at + 1, at]]
    return changed


def _scaled(rng, value):
    return value * 2.0 ** rng.choice([rng.uniform(-3, 3), rng.uniform(-60, 60), rng.uniform(-1000, 1000)])


def _reshaped(rng, value):
    shapes = [
        lambda: value.T,
        lambda: value[None],
        lambda: value[:-1],
        lambda: value[:0],
        lambda: np.concatenate([value, value]),
        lambda: value.reshape(-1),
        lambda: value[..., :1],
        lambda: np.concatenate([value, value], axis=-1),
        lambda: value.reshape(-1)[:1].reshape(()) if value.size else value,
    ]
    return shapes[rng.integers(len(shapes))]()


ARRAYS = [
    _retyped,
    _wrapped,
    _one_changed,
    _one_changed,
    _swapped,
    _scaled,
    _scaled,
    _reshaped,
    lambda _, value: np.asfortranarray(value),
    lambda _, value: value[::-1],
    lambda _, value: np.repeat(value, 2, axis=-1)[..., ::2],
    lambda _, value: value.tolist(),
    lambda rng, value: np.nextafter(value, rng.choice([-np.inf, np.inf])) if value.dtype == np.float64 else value,
    lambda rng, value: rng.permutation(value),
    lambda _, value: np.zeros_like(value),
]
"""Changes of an array."""
