"""Points in torch tensors as a silo: for a trusted aggregator with a GPU, and for simulations.

The statistics are those of the registry, by name: the same formulas and the same integers on any device. Arithmetic is exact up to a square
root and a quotient, which every device rounds alike.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from feddp_kmeans._typing import BoolArray, IntArray
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

from feddp_kmeans.silos.gpu import lloyd


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
        self._tensors = [tensor if bool(rows.all()) else tensor[rows] for tensor, rows in zip(clients, finite, strict=True)]
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
    count, rows = len(points) if left is None else len(left), chunk_rows(name, points.shape[1])
    for start in range(0, count, rows):
        chunk = slice(start, start + rows)
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


def _cluster_counts(points: Any, **where: Any) -> Any:
    _, labels = _encoded_and_labels(points, **where)
    return torch.bincount(labels, minlength=len(where["centers"])).to(torch.int64)


def _cluster_sums(points: Any, **where: Any) -> Any:
    encoded, labels = _encoded_and_labels(points, **where)
    ones = torch.ones(len(labels), dtype=torch.float64, device=encoded.device)
    return _weighted_sums(encoded, ones, labels, len(where["centers"])).to(torch.int64).ravel()


def _residuals(points: Any, *, origins: Any, residual_projection: Any = None, **where: Any) -> tuple[Any, Any]:
    encoded, labels = _encoded_and_labels(points, **where)
    return _project(encoded, residual_projection) - origins.round()[labels], labels


def _point_residual_norms(points: Any, *, edges: Any, count_weight: float, **where: Any) -> Any:
    residuals, _ = _residuals(points, **where)
    classes = torch.searchsorted(edges, (residuals.square().sum(dim=1) + count_weight**2).sqrt())
    return torch.bincount(classes, minlength=len(edges) + 1).to(torch.int64)


def _point_spreads(points: Any, *, centers: Any, reach: float, **ball: Any) -> Any:
    residuals, labels = _residuals(points, origins=centers, centers=centers, **ball)
    # A tensor on the device: by a plain number a GPU divides as a product with its inverse, which rounds twice.
    farthest = torch.tensor(reach**2, dtype=torch.float64, device=residuals.device)
    parts = (residuals.square().sum(dim=1) / farthest).clamp(max=1.0)
    squares = torch.bincount(labels, (spreads.UNIT_STEPS * parts).trunc(), minlength=len(centers)).to(torch.int64)
    counts = spreads.SIZE_STEPS * torch.bincount(labels, minlength=len(centers)).to(torch.int64)
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


def _point_residuals(
    points: Any, *, origins: Any, bound: float, count_weight: float, square_weight: float | None = None, **where: Any
) -> Any:
    residuals, labels = _residuals(points, origins=origins, **where)
    k = len(origins)
    squares = residuals.square().sum(dim=1)
    weighted_squares = squares * (square_weight or 0.0)
    lengths = (squares + weighted_squares.square() + count_weight**2).sqrt()
    factors = (residual_sums.BOUNDED_STEPS * (1 - 2.0**-32) / lengths.clamp(min=bound)).floor()
    sums = _weighted_sums(residuals, factors, labels, k)
    numbers = [count_weight] if square_weight is None else [weighted_squares, count_weight]
    weighted = [torch.bincount(labels, (factors * number).trunc(), minlength=k).to(torch.float64)[:, None] for number in numbers]
    return torch.cat([sums, *weighted], dim=1).to(torch.int64).ravel()


def _point_second_moment(points: Any, *, center: Any, radius: float, bound: float) -> Any:
    encoded = encode(points, center, radius)
    dimension = encoded.shape[1]
    scales = residual_sums.point_scales(encoded.square().sum(dim=1).cpu().numpy(), dimension, bound)
    scaled = (encoded * torch.as_tensor(scales, device=encoded.device)[:, None]).round()
    upper = torch.triu_indices(dimension, dimension, 1, device=encoded.device)
    single = scaled.square()
    traces = single.sum(dim=1, keepdim=True)
    traceless = (math.sqrt(2) * (single - traces / dimension)).trunc().sum(dim=0)
    trace = (math.sqrt(2 / dimension) * residual_sums.TRACE_WEIGHT * traces).trunc().sum(dim=0)
    return torch.cat([2 * (scaled.T @ scaled)[upper[0], upper[1]], traceless, trace]).to(torch.int64)


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

STATISTICS: Mapping[str, Callable[..., Any]] = {
    "cluster-counts": _cluster_counts,
    "cluster-sums": _cluster_sums,
    "outer-product": _outer_product,
    "point-costs": _point_costs,
    "point-residual-norms": _point_residual_norms,
    "point-residuals": _point_residuals,
    "point-second-moment": _point_second_moment,
    "point-spreads": _point_spreads,
}
"""Every statistic that runs in torch, by its name in the registry."""
