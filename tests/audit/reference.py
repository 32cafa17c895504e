"""Every production statistic once more, as its docstring states it: unit by unit, in plain floating point, without any rounding.

Slow, and independent of ``statistics``, from which it takes only the number of integer steps. What a run computes may differ from this
only by rounding.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.norms import SHARE_STEPS
from feddp_kmeans.statistics.paper_sums import COUNT_STEPS, MEAN_STEPS
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, MOMENT_STEPS, SIZE_CLASSES, TRACE_WEIGHT

_USUAL_ROUNDING = 1e-3
_SCALES = 0.03
"""By how much rounding may change what one unit adds, in parts of the sensitivity; second moments of points are scaled in steps of 1 %."""

Public = dict[str, Any]


def reference_sum(query: Query, clients: Sequence[FloatArray]) -> FloatArray:
    """Return the sum that a query asks for, in integer steps but not rounded."""
    public, add = dict(query.public), CONTRIBUTIONS[query.statistic.name]
    total = np.zeros(query.size)
    for points in clients:
        seen = np.isfinite(points).any(axis=1) if query.statistic.sees_gaps else np.isfinite(points).all(axis=1)
        finite = points[seen]
        units = finite[:, None] if query.statistic.unit is PrivacyUnit.POINT else [finite] if len(finite) else []
        for unit in units:
            total += np.asarray(add(unit, public), dtype=np.float64).ravel()
    return total


def rounding(query: Query) -> float:
    """Return by how much rounding may change what one unit adds, in parts of the sensitivity.

    A coordinate is rounded to one step. Residuals and moments are in parts of their bound, which may be a few steps only.
    """
    name, bound = query.statistic.name, query.public.get("bound", math.inf)
    length = math.sqrt(bound) if name.endswith("second-moment") else bound if name.endswith("residuals") else math.inf
    return max(_SCALES if name == "point-second-moment" else _USUAL_ROUNDING, 3 * math.sqrt(query.dimension) / length)


def _steps(points: FloatArray, public: Public) -> FloatArray:
    """Return the points in steps of the ball, moved to its surface where they are outside."""
    moved = (points - public["center"]) / public["radius"]
    lengths = np.array([math.hypot(*row) for row in moved])
    return np.asarray(RESOLUTION * moved / np.maximum(lengths, 1.0)[:, None])


def _projected(steps: FloatArray, projection: Any) -> FloatArray:
    return steps if projection is None else np.asarray(steps @ projection)


def _labels(steps: FloatArray, public: Public) -> list[int]:
    seen = _projected(steps, public.get("projection"))
    return [int(np.argmin([((row - center) ** 2).sum() for center in public["centers"]])) for row in seen]


def _clusters(points: FloatArray, public: Public) -> tuple[FloatArray, FloatArray]:
    """Return the number and the sum of the points of each cluster."""
    steps, k = _steps(points, public), len(public["centers"])
    counts, sums = np.zeros(k), np.zeros((k, points.shape[1]))
    for row, label in zip(steps, _labels(steps, public), strict=True):
        counts[label] += 1
        sums[label] += row
    return counts, sums


def _within(vector: FloatArray, bound: float, length: float) -> FloatArray:
    return vector if length <= bound else vector * (bound / length)


def _upper(matrix: FloatArray) -> FloatArray:
    return np.array([matrix[i, j] for i in range(len(matrix)) for j in range(i, len(matrix))])


def _bounded_counts(counts: FloatArray, public: Public) -> FloatArray:
    return COUNT_STEPS * _within(counts, public["bound"], float(counts.sum()))


def _bounded_sums(sums: FloatArray, public: Public) -> FloatArray:
    return MEAN_STEPS * _within(sums, public["bound"] * RESOLUTION / public["radius"], float(np.sqrt((sums**2).sum())))


def _outer(points: FloatArray, public: Public) -> FloatArray:
    steps = _steps(points, public)
    return np.asarray(sum(np.outer(row, row) for row in steps))


def _bounded_outer(points: FloatArray, public: Public) -> FloatArray:
    product = _outer(points, public)
    bound = public["bound"] * (RESOLUTION / public["radius"]) ** 2
    return _upper(_within(product, bound, float(np.sqrt((product**2).sum()))))


def _moment(points: FloatArray, public: Public) -> tuple[FloatArray, float]:
    """Return the coordinates of the second moment, times sqrt(2), and the length that is bounded."""
    product = _outer(points, public)
    d, trace = len(product), float(np.trace(product))
    above = [2 * product[i, j] for i in range(d) for j in range(i + 1, d)]
    along = [math.sqrt(2) * (product[i, i] - trace / d) for i in range(d)]
    vector = np.array([*above, *along, math.sqrt(2 / d) * TRACE_WEIGHT * trace])
    return vector, float(np.sqrt((vector**2).sum() / 2))


def _bounded_moment(points: FloatArray, public: Public) -> FloatArray:
    vector, length = _moment(points, public)
    return np.asarray(vector * (MOMENT_STEPS / max(public["bound"], length)))


def _residuals(points: FloatArray, public: Public) -> FloatArray:
    steps, origins = _steps(points, public), public["origins"]
    weight = public.get("square_weight")
    table = np.zeros((len(public["centers"]), origins.shape[1] + 2))
    for row, label in zip(_projected(steps, public.get("residual_projection")), _labels(steps, public), strict=True):
        residual = row - origins[label]
        table[label] += [*residual, (weight or 0.0) * (residual**2).sum(), public["count_weight"]]
    return table if weight is not None else np.delete(table, -2, axis=1)


def _bounded_residuals(points: FloatArray, public: Public) -> FloatArray:
    table = _residuals(points, public)
    return np.asarray(table * BOUNDED_STEPS / max(public["bound"], float(np.sqrt((table**2).sum()))))


def _spreads(points: FloatArray, public: Public) -> FloatArray:
    """Return counts, squares in parts of the reach, and their total, with weights 6, 6 and 7: eleven long for a point at the reach."""
    steps, centers = _steps(points, public), public["centers"]
    table = np.zeros((2, len(centers)))
    for row, label in zip(steps, _labels(steps, public), strict=True):
        table[:, label] += [6, 6 * min(((row - centers[label]) ** 2).sum() / public["reach"] ** 2, 1)]
    return np.append(table, 7 / 6 * table[1].sum())


def _bounded_spreads(points: FloatArray, public: Public) -> FloatArray:
    vector = _spreads(points, public)
    return np.asarray(vector * BOUNDED_STEPS / max(11 * public["bound"], float(np.sqrt((vector**2).sum()))))


def _bounded_costs(points: FloatArray, public: Public) -> FloatArray:
    """Return by how much each set costs more than the mean of all, times the number of sets."""
    steps, vector = _steps(points, public), np.zeros(len(public["sets"]))
    for row in steps:
        costs = np.array([min(((row - center) ** 2).sum() for center in centers) for centers in public["sets"]])
        vector += len(costs) * (costs - costs.mean())
    return np.asarray(vector * BOUNDED_STEPS / max(public["bound"], float(np.sqrt((vector**2).sum()))))


def _swaps(points: FloatArray, public: Public) -> FloatArray:
    """Return what each cluster's points cost more at another center, and less at the nearer of two; a point's vector is at most 1 long."""
    steps, table = _steps(points, public), np.zeros((2, len(public["centers"])))
    for row, label in zip(steps, _labels(steps, public), strict=True):
        own, other, one, two = (float(((row - public[name][label]) ** 2).sum()) for name in ("centers", "others", "ones", "twos"))
        vector = np.array([min(max(x / public["reach"] ** 2, -1), 1) for x in (other - own, own - min(one, two))])
        table[:, label] += _within(vector, 1.0, math.hypot(*vector))
    return np.asarray(table.ravel())


def _bounded_swaps(points: FloatArray, public: Public) -> FloatArray:
    vector = _swaps(points, public)
    return np.asarray(vector * BOUNDED_STEPS / max(public["bound"], float(np.sqrt((vector**2).sum()))))


def _class(length: float, public: Public) -> FloatArray:
    edges = public["edges"]
    place = sum(bool(edge < length) for edge in edges)
    return np.asarray(np.eye(len(edges) + 1)[place])


def _column_shares(points: FloatArray, public: Public) -> FloatArray:
    """In each chosen column, the cells that are there share one count."""
    edges = public["column_edges"]
    shares = np.zeros((len(edges), edges.shape[1] + 1))
    for row, column in enumerate(np.flatnonzero(public["chosen"])):
        cells = points[np.isfinite(points[:, column]), column]
        for cell in cells:
            shares[row, sum(edge < cell for edge in edges[row])] += SHARE_STEPS / len(cells)
    return shares


def _profile(points: FloatArray, public: Public) -> FloatArray:
    """Each point counts in the classes and values of its cluster, those of a client of many points less."""
    kinds, weight = public["kinds"], SHARE_STEPS * min(1.0, public.get("bound", 1.0) / len(points))
    ours = kinds == 0
    ball = {"center": public["center"][ours], "radius": public["radius"]}
    rows = []
    for point in points:
        (steps,) = _steps(point[None, ours], ball)
        cluster = int(np.argmin([((steps - center) ** 2).sum() for center in np.rint(public["centers"][:, ours])]))
        blocks = []
        for kind, cell in zip(kinds[~ours], point[~ours], strict=True):
            if kind < 0:
                blocks.append([min(max(cell, -1.0), 1.0)])
            else:
                blocks.append([float(index == int(min(max(cell, 0.0), kind - 1))) for index in range(int(kind))])
        row = np.zeros((len(public["centers"]), sum(map(len, blocks))))
        row[cluster] = np.concatenate(blocks)
        rows.append(weight * row)
    return np.asarray(sum(rows))


def _words(points: FloatArray, public: Public) -> FloatArray:
    """Each pair of a cluster and a word that a unit has counts once; of many, those that its own set of pairs draws."""
    ours, words = public["slots"] == 0, int(public["n_words"])
    ball = {"center": public["center"][ours], "radius": public["radius"]}
    said: set[int] = set()
    for point in points:
        (steps,) = _steps(point[None, ours], ball)
        cluster = int(np.argmin([((steps - center) ** 2).sum() for center in np.rint(public["centers"][:, ours])]))
        said |= {cluster * words + int(cell) for cell in point[~ours] if 0 <= cell < words}
    drawn = sorted(said, key=lambda pair: (pair ^ sum(said)) * 0x9E3779B97F4A7C15 % 2**64)
    table = np.zeros((len(public["centers"]), words))
    for pair in drawn[: int(public["most"])]:
        table[divmod(pair, words)] = 1
    return table


def _shares(points: FloatArray, public: Public) -> FloatArray:
    return np.asarray(sum(_class(math.hypot(*(row - public["center"])), public) for row in points)) * SHARE_STEPS / len(points)


def _size_class(points: FloatArray, _: Public) -> FloatArray:
    return np.asarray(np.eye(SIZE_CLASSES)[min(len(points).bit_length() - 1, SIZE_CLASSES - 1)])


def _cell(points: FloatArray, public: Public) -> FloatArray:
    cells = public["cells"].astype(int)
    parts = np.floor((points[0] - public["low"]) / (public["high"] - public["low"]) * cells)
    table = np.zeros(cells)
    table[tuple(int(min(max(part, 0), count - 1)) for part, count in zip(parts, cells, strict=True))] = 1
    return table


def _leaf(points: FloatArray, public: Public) -> FloatArray:
    """Return the class of the point's number in Z order: the number of its cell, then one digit per halving."""
    cells, number = public["cells"].astype(int), 0
    parts = (points[0] - public["low"]) / (public["high"] - public["low"]) * cells
    whole = [int(min(max(math.floor(part), 0), count - 1)) for part, count in zip(parts, cells, strict=True)]
    inside = [min(max(float(part) - own, 0.0), 1 - 2.0**-52) for part, own in zip(parts, whole, strict=True)]
    for own, count in zip(whole, cells, strict=True):
        number = number * int(count) + own
    for _ in range(int(public["depth"])):
        for column, rest in enumerate(inside):
            number = 2 * number + (rest >= 0.5)
            inside[column] = (2 * rest) % 1.0
    return np.asarray(np.eye(len(public["edges"]) + 1)[sum(bool(edge <= number) for edge in public["edges"])])


CONTRIBUTIONS: dict[str, Callable[[FloatArray, Public], Any]] = {
    "outer-product": lambda points, public: _upper(_outer(points, public)),
    "cluster-counts": lambda points, public: _clusters(points, public)[0],
    "cluster-sums": lambda points, public: _clusters(points, public)[1],
    "client-outer-product": _bounded_outer,
    "client-cluster-counts": lambda points, public: _bounded_counts(_clusters(points, public)[0], public),
    "client-presence": lambda points, public: _bounded_counts((_clusters(points, public)[0] > 0).astype(np.float64), public),
    "client-cluster-sums": lambda points, public: _bounded_sums(_clusters(points, public)[1], public),
    "client-cluster-means": lambda points, public: _bounded_sums(
        _clusters(points, public)[1] / np.maximum(_clusters(points, public)[0], 1)[:, None], public
    ),
    "client-sizes": _size_class,
    "point-second-moment": _bounded_moment,
    "client-second-moment": _bounded_moment,
    "point-residuals": _bounded_residuals,
    "client-residuals": _bounded_residuals,
    "point-spreads": lambda points, public: BOUNDED_STEPS / 11 * _spreads(points, public),
    "client-spreads": _bounded_spreads,
    "point-costs": _bounded_costs,
    "client-costs": _bounded_costs,
    "point-swaps": lambda points, public: BOUNDED_STEPS * _swaps(points, public),
    "client-swaps": _bounded_swaps,
    "point-columns": _column_shares,
    "client-columns": _column_shares,
    "point-profile": _profile,
    "client-profile": _profile,
    "point-words": _words,
    "client-words": _words,
    "point-distances": _shares,
    "client-distances": _shares,
    "point-residual-norms": lambda points, public: _class(float(np.sqrt((_residuals(points, public) ** 2).sum())), public),
    "client-residual-norms": lambda points, public: _class(float(np.sqrt((_residuals(points, public) ** 2).sum())), public),
    "point-moment-norms": lambda points, public: _class(_moment(points, public)[1], public),
    "client-moment-norms": lambda points, public: _class(_moment(points, public)[1], public),
    "grid-counts": _cell,
    "tree-counts": _leaf,
    "point-count": lambda _points, _public: 1.0,
}
"""What one unit adds, by the name of the statistic."""
