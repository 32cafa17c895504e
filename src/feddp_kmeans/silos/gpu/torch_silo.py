"""Points in torch tensors as a silo: for a trusted aggregator with a GPU, and for simulations.

The statistics are those of the registry, by name: the same formulas and the same integers on any device. Arithmetic is exact up to a square
root and a quotient, which every device rounds alike.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.gpu.chunks import chunk_rows
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.statistics import residual_sums, spreads
from feddp_kmeans.statistics.arithmetic import PROJECTION_STEPS
from feddp_kmeans.statistics.fixed_point import LARGEST, RESOLUTION, spare_bits
from feddp_kmeans.statistics.paper_sums import SLACK
from feddp_kmeans.statistics.query import Query

try:
    import torch
except ImportError:
    raise InputError("statistics on a GPU need torch: pip install 'feddp-kmeans[torch]'.") from None

from feddp_kmeans.silos.gpu import lloyd, rows

_QUICK_ROWS = 1 << 22
"""Rows of a look at once: each adds at most 2**30 to any number, so their sums are exact in float64."""


class TorchSilo(Silo):
    """Clients as tensors on one device, added up in exact whole numbers. Only for statistics of points.

    Works with server data and both methods. Rows with a NaN or an infinity are left out.
    """

    def __init__(self, clients: Sequence[Any]) -> None:
        if not clients:
            raise InputError("clients must be at least one, got none.")
        shapes = {(tensor.ndim, tensor.shape[-1]) for tensor in clients}
        if len(shapes) != 1 or clients[0].ndim != 2:
            raise InputError(f"clients must be tensors of points with the same number of columns, got shapes {sorted(shapes)}.")
        finite = [torch.isfinite(tensor).all(dim=1) for tensor in clients]
        self._tensors = [tensor if bool(kept.all()) else tensor[kept] for tensor, kept in zip(clients, finite, strict=True)]
        self.n_clients, self.dimension = len(clients), int(clients[0].shape[1])

    def exact_sum(self, query: Query, cohort: BoolArray | None = None) -> IntArray:
        """Return the sum of a statistic of points over all clients, without noise: never for release."""
        del cohort  # Clients are sampled only where they are the unit, and here points are.
        if query.statistic.whole_clients:
            raise InputError("privacy_unit must be 'point' on a GPU, got 'client'.")
        total: IntArray = sum(total_of(query, tensor) for tensor in self._tensors).cpu().numpy()
        return total

    def as_one_client(self) -> "TorchSilo":
        """Return the same points as those of one client: a sum over points does not change."""
        one = copy(self)
        one.n_clients = 1
        return one

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points that are finite."""
        return (tensor.cpu().numpy() for tensor in self._tensors)


def total_of(query: Query, points: Any) -> Any:
    """Return the sum of a statistic over the points as int64, exact."""
    name = query.statistic.name
    if name not in STATISTICS:
        raise InputError(f"statistic must be one that runs in torch, {sorted(STATISTICS)}, got {name!r}.")
    given = {key: _tensor(value, points.device) for key, value in query.own.items()}
    if (units := query.public.get("units")) is not None:  # rows with gaps are left out already
        points = (points.to(torch.float64) / _tensor(units, points.device)).clamp(-LARGEST, LARGEST)
    swept = _swept(name, points, given) if name in _LLOYD and given.get("projection") is None else None
    total, left = swept or (STATISTICS[name](points[:0], **given), None)
    count = len(points) if left is None else len(left)
    at_once = _QUICK_ROWS if name in _LOOKS and rows.fits(points) else chunk_rows(name, points.shape[1])
    for start in range(0, count, at_once):
        chunk = slice(start, start + at_once)
        total += STATISTICS[name](points[chunk if left is None else left[chunk]], **given)
    return total


def encode(points: Any, center: Any, radius: float) -> Any:
    """Return the points as whole numbers of norm at most R, the same as those of ``Ball.encode``."""
    shifted = points.to(torch.float64) - center
    encoded = (shifted * (RESOLUTION / radius)).round()
    outside = ~(encoded.square().sum(dim=1) <= RESOLUTION**2)
    if bool(outside.any()):
        encoded[outside] = _shortened(shifted[outside])
    return encoded


def _shortened(rows: Any) -> Any:
    """Return rows that are too long as whole numbers of norm R, less what rounding takes; see ``statistics.fixed_point``."""
    bounded = rows.clamp(-LARGEST, LARGEST)
    _, exponents = torch.frexp(bounded.abs().amax(dim=1))
    powers = torch.exp2((spare_bits(rows.shape[1]) - exponents).to(torch.float64))
    whole = (bounded * powers[:, None]).round()
    scaled = whole * (RESOLUTION / whole.square().sum(dim=1).sqrt())[:, None]
    rounded = scaled.round()
    return torch.where((rounded.square().sum(dim=1) > RESOLUTION**2)[:, None], scaled.trunc(), rounded)


def _project(encoded: Any, projection: Any) -> Any:
    if projection is None:
        return encoded
    return ((encoded @ (projection * PROJECTION_STEPS).round()) / PROJECTION_STEPS).round()


def _assign(coordinates: Any, centers: Any) -> Any:
    targets = centers.round()
    scores = coordinates @ (2 * targets.T) - targets.square().sum(dim=1)
    places = torch.arange(len(targets), device=scores.device)
    return torch.where(scores == scores.amax(dim=1, keepdim=True), places, len(targets)).amin(dim=1)


def _weighted_sums(coordinates: Any, weights: Any, labels: Any, k: int) -> Any:
    chosen = torch.zeros((len(labels), k), dtype=torch.float64, device=coordinates.device)
    chosen[torch.arange(len(labels), device=labels.device), labels] = weights
    return chosen.T @ coordinates


def _outer_product(points: Any, *, center: Any, radius: float) -> Any:
    encoded = encode(points, center, radius)
    upper = torch.triu_indices(encoded.shape[1], encoded.shape[1], device=encoded.device)
    return (encoded.T @ encoded)[upper[0], upper[1]].to(torch.int64)


def _encoded_and_labels(points: Any, *, center: Any, radius: float, centers: Any, projection: Any = None) -> tuple[Any, Any]:
    encoded = encode(points, center, radius)
    return encoded, _assign(_project(encoded, projection), centers)


@dataclass(frozen=True)
class Look:
    """Some points, each with its nearest center and its squared distance from the origin of that one, in the space of the origins."""

    labels: Any
    squares: Any
    k: int
    sums: Callable[[Any], Any]
    """Returns for each center the sum of weights times residuals, for some weights."""


def _look(points: Any, *, origins: Any, residual_projection: Any = None, **where: Any) -> Look:
    encoded, labels = _encoded_and_labels(points, **where)
    residuals = _project(encoded, residual_projection) - origins.round()[labels]
    k = len(origins)
    return Look(labels, residuals.square().sum(dim=1), k, lambda weights: _weighted_sums(residuals, weights, labels, k).to(torch.int64))


def _quick_look(
    points: Any, *, center: Any, radius: float, centers: Any, origins: Any, projection: Any = None, residual_projection: Any = None
) -> tuple[Look, Any] | None:
    """Return a look at the points by the GPU's kernels, and those points that it leaves out; None where it is impossible."""
    targets, k = centers.round(), len(centers)
    same_space = projection is residual_projection is None or (
        projection is not None and residual_projection is not None and torch.equal(projection, residual_projection)
    )
    if not same_space or not torch.equal(targets, origins.round()) or not rows.fits(points):
        return None
    left = points[:0]
    while True:
        there: Any = rows.Rows(points, center, radius)
        turned = None if projection is None else there.in_subspace(projection)
        if projection is not None and turned is None:
            return None
        there, shortened = turned or (there, None)
        found = there.labelled(targets)
        if found is None:
            return None
        labels, squares, longer = found
        longer = longer if shortened is None else shortened
        if not bool(longer.any()):
            break
        left, points = points[longer], points[~longer].contiguous()
        if not len(points):
            return None
    if there.weighted_sums(targets, labels[:1], squares[:1]) is None:
        return None
    return Look(labels, squares, k, lambda weights: there.weighted_sums(targets, labels, weights)), left


def _cluster_counts(points: Any, **where: Any) -> Any:
    _, labels = _encoded_and_labels(points, **where)
    return torch.bincount(labels, minlength=len(where["centers"])).to(torch.int64)


def _cluster_sums(points: Any, **where: Any) -> Any:
    encoded, labels = _encoded_and_labels(points, **where)
    ones = torch.ones(len(labels), dtype=torch.float64, device=encoded.device)
    return _weighted_sums(encoded, ones, labels, len(where["centers"])).to(torch.int64).ravel()


def _point_residual_norms(look: Look, *, edges: Any, count_weight: float) -> Any:
    classes = torch.searchsorted(edges, (look.squares + count_weight**2).sqrt())
    return torch.bincount(classes, minlength=len(edges) + 1).to(torch.int64)


def _point_spreads(look: Look, *, reach: float) -> Any:
    # A tensor on the device: by a plain number a GPU divides as a product with its inverse, which rounds twice.
    farthest = torch.tensor(reach**2, dtype=torch.float64, device=look.squares.device)
    parts = (look.squares / farthest).clamp(max=1.0)
    squares = torch.bincount(look.labels, (spreads.UNIT_STEPS * parts).trunc(), minlength=look.k).to(torch.int64)
    counts = spreads.SIZE_STEPS * torch.bincount(look.labels, minlength=look.k).to(torch.int64)
    return torch.cat([counts, 6 * squares, 7 * squares.sum()[None]])


def _point_costs(points: Any, *, sets: Any, bound: float, **ball: Any) -> Any:
    encoded = encode(points, **ball)
    scores = [(encoded @ (2 * centers.T) - centers.square().sum(dim=1)).amax(dim=1) for centers in sets.round()]
    squares = encoded.square().sum(dim=1, keepdim=True) - torch.stack(scores, dim=1)
    vectors = len(sets) * squares - squares.sum(dim=1, keepdim=True)
    lengths = sum(column.square() for column in vectors.T).sqrt()
    # A tensor, as above: a plain number over a tensor is a product with the inverse.
    most = torch.tensor(residual_sums.BOUNDED_STEPS * SLACK, dtype=torch.float64, device=encoded.device)
    return (vectors * (most / lengths.clamp(min=bound))[:, None]).trunc().to(torch.int64).sum(dim=0)


def _point_residuals(look: Look, *, bound: float, count_weight: float, square_weight: float | None = None) -> Any:
    weighted_squares = look.squares * (square_weight or 0.0)
    lengths = (look.squares + weighted_squares.square() + count_weight**2).sqrt()
    factors = (residual_sums.BOUNDED_STEPS * (1 - 2.0**-32) / lengths.clamp(min=bound)).floor()
    numbers = [count_weight] if square_weight is None else [weighted_squares, count_weight]
    weighted = [torch.bincount(look.labels, (factors * number).trunc(), minlength=look.k).to(torch.int64)[:, None] for number in numbers]
    return torch.cat([look.sums(factors), *weighted], dim=1).ravel()


def _point_second_moment(points: Any, *, center: Any, radius: float, bound: float) -> Any:
    encoded = encode(points, center, radius)
    dimension = encoded.shape[1]
    starts, scales = (torch.as_tensor(table, device=encoded.device) for table in scale_table(dimension, bound))
    places = torch.searchsorted(starts, encoded.square().sum(dim=1), right=True) - 1
    scaled = (encoded * scales[places][:, None]).round()
    upper = torch.triu_indices(dimension, dimension, 1, device=encoded.device)
    single = scaled.square()
    traces = single.sum(dim=1, keepdim=True)
    traceless = (math.sqrt(2) * (single - traces / dimension)).trunc().sum(dim=0)
    trace = (math.sqrt(2 / dimension) * residual_sums.TRACE_WEIGHT * traces).trunc().sum(dim=0)
    return torch.cat([2 * (scaled.T @ scaled)[upper[0], upper[1]], traceless, trace]).to(torch.int64)


@lru_cache(maxsize=8)
def scale_table(dimension: int, bound: float) -> tuple[FloatArray, FloatArray]:
    """Return the scales of points in a second moment by their squared length: from which on each holds, and the scale.

    A scale is a step function of a whole number up to R**2, which never rises. Its steps are where a logarithm passes a multiple of 1/64,
    and from one whole number to the next that changes by far more than its rounding, so each step is found by bisection.
    """
    starts, scales = [0.0, 1.0], [float(_scale(0, dimension, bound)), float(_scale(1, dimension, bound))]
    while scales[-1] > _scale(RESOLUTION**2, dimension, bound):
        low, high = int(starts[-1]), RESOLUTION**2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _scale(middle, dimension, bound) == scales[-1] else (low, middle)
        starts.append(float(high))
        scales.append(float(_scale(high, dimension, bound)))
    return np.array(starts), np.array(scales)


def _scale(square: int, dimension: int, bound: float) -> float:
    return float(residual_sums.point_scales(np.array([float(square)]), dimension, bound)[0])


def _looked_at(name: str, points: Any, given: Mapping[str, Any]) -> Any:
    """Return a statistic of looks, by kernels where possible; the rows that these leave out are few."""
    where = {key: value for key, value in given.items() if key in _WHERE}
    own = {key: value for key, value in given.items() if key not in _WHERE}
    if name == "point-spreads":
        where["origins"] = where["centers"]
    quick = _quick_look(points, **where)
    if quick is None:
        return _LOOKS[name](_look(points, **where), **own)
    look, left = quick
    total = _LOOKS[name](look, **own)
    return total + _LOOKS[name](_look(left, **where), **own) if len(left) else total


def _swept(name: str, points: Any, given: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return a Lloyd pass in one sweep of the GPU's memory, and the few rows that it leaves out; None where it is impossible."""
    arguments = points, given["center"], given["radius"], given["centers"].round()
    if not lloyd.fits(*arguments):
        return None
    sums, counts, left = lloyd.lloyd_pass(*arguments)
    return sums.ravel() if name == "cluster-sums" else counts, left.nonzero().ravel()


def _tensor(value: Any, device: Any) -> Any:
    """Return an array as a tensor on the device, a number as it is."""
    return value if value is None or isinstance(value, float) else torch.as_tensor(value, device=device)


_LLOYD = ("cluster-sums", "cluster-counts")
_WHERE = {"center", "radius", "centers", "origins", "projection", "residual_projection"}
_LOOKS: Mapping[str, Callable[..., Any]] = {
    "point-residual-norms": _point_residual_norms,
    "point-residuals": _point_residuals,
    "point-spreads": _point_spreads,
}

STATISTICS: Mapping[str, Callable[..., Any]] = {
    "cluster-counts": _cluster_counts,
    "cluster-sums": _cluster_sums,
    "outer-product": _outer_product,
    "point-costs": _point_costs,
    "point-second-moment": _point_second_moment,
} | {name: lambda points, *, name=name, **given: _looked_at(name, points, given) for name in _LOOKS}
"""Every statistic that runs in torch, by its name in the registry."""
