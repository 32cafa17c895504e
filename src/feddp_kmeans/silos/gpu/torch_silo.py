"""Points in torch tensors as a silo: for a trusted aggregator with a GPU, and for simulations.

The statistics are those of the registry, by name: the same formulas and the same integers on any device. Arithmetic is exact up to a square
root and a quotient, which every device rounds alike.
"""

import math
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from copy import copy
from functools import partial
from itertools import starmap
from typing import Any

from feddp_kmeans._typing import BoolArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.gpu.chunks import chunk_rows
from feddp_kmeans.silos.gpu.scales import scale_table
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.statistics import residual_sums
from feddp_kmeans.statistics.fixed_point import LARGEST
from feddp_kmeans.statistics.paper_sums import SLACK
from feddp_kmeans.statistics.query import Query

try:
    import torch
except ImportError:
    raise InputError("statistics on a GPU need torch: pip install 'feddp-kmeans[torch]'.") from None

from feddp_kmeans.silos.gpu import lloyd, moments, rows
from feddp_kmeans.silos.gpu.torch_arithmetic import encode, encoded_and_labels, weighted_sums
from feddp_kmeans.silos.gpu.torch_looks import LOOKS, looked_at, swept

_QUICK_VALUES = 1 << 28
"""Numbers of a second moment at once: 2 GiB of float64."""


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
        self._kept: list[dict[Any, Any]] = [{} for _ in clients]
        self.n_clients, self.dimension = len(clients), int(clients[0].shape[1])

    def exact_sum(self, query: Query, cohort: BoolArray | None = None) -> IntArray:
        """Return the sum of a statistic of points over all clients, without noise: never for release."""
        del cohort  # Clients are sampled only where they are the unit, and here points are.
        if query.statistic.whole_clients:
            raise InputError("privacy_unit must be 'point' on a GPU, got 'client'.")
        total: IntArray = sum(starmap(partial(total_of, query), zip(self._tensors, self._kept, strict=True))).cpu().numpy()
        return total

    def as_one_client(self) -> "TorchSilo":
        """Return the same points as those of one client: a sum over points does not change."""
        one = copy(self)
        one.n_clients = 1
        return one

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points that are finite."""
        return (tensor.cpu().numpy() for tensor in self._tensors)


def total_of(query: Query, points: Any, kept: MutableMapping[Any, Any] | None = None) -> Any:
    """Return the sum of a statistic over the points as int64, exact; coordinates in a subspace may be ``kept`` for the next one."""
    name = query.statistic.name
    if name not in STATISTICS:
        raise InputError(f"statistic must be one that runs in torch, {sorted(STATISTICS)}, got {name!r}.")
    given = {key: _tensor(value, points.device) for key, value in query.own.items()}
    if (units := query.public.get("units")) is not None:  # rows with gaps are left out already
        points = (points.to(torch.float64) / _tensor(units, points.device)).clamp(-LARGEST, LARGEST)
    found = _swept(name, points, given) if name in _LLOYD and given.get("projection") is None else None
    if found is None and name in {*LOOKS, *_LLOYD}:
        found = _left(swept(name, points, kept, given))
    elif name in _MOMENTS:
        found = _left(_moment_at_once(name, points, given))
    total, left = found or (STATISTICS[name](points[:0], **given), None)
    count = len(points) if left is None else len(left)
    at_once = chunk_rows(name, points.shape[1])
    if rows.fits(points) and name in _MOMENTS:
        at_once = chunk_rows(name, points.shape[1], _QUICK_VALUES)
    for start in range(0, count, at_once):
        chunk = slice(start, start + at_once)
        total += STATISTICS[name](points[chunk if left is None else left[chunk]], **given)
    return total


def _outer_product(points: Any, *, center: Any, radius: float) -> Any:
    quick = rows.Rows(points, center, radius).scaled() if rows.fits(points) else None
    if quick is None:
        return _upper(encode(points, center, radius), 0)
    whole, _, left = quick
    total = _upper(whole, 0)
    return total + _upper(encode(points[left], center, radius), 0) if bool(left.any()) else total


def _moment_at_once(name: str, points: Any, given: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return a second moment in one sweep by the GPU's kernel, and which rows it leaves out; None where that is impossible."""
    if name == "outer-product":
        found = moments.products(points, given["center"], given["radius"])
        return found and (_pairs(found[0], 0), found[2])
    if not rows.fits(points):
        return None
    table, weights = _scales(points, given["bound"])
    found = moments.products(points, given["center"], given["radius"], table, weights)
    return found and (torch.cat([2 * _pairs(found[0], 1), found[1]]), found[2])


def _scales(points: Any, bound: float) -> tuple[list[Any], tuple[float, float]]:
    dimension = points.shape[1]
    weights = math.sqrt(2), math.sqrt(2 / dimension) * residual_sums.TRACE_WEIGHT
    return [torch.as_tensor(column, device=points.device) for column in scale_table(dimension, bound)], weights


def _upper(whole: Any, diagonal: int) -> Any:
    """Return the products of all pairs of columns, each pair once; from the first diagonal on, or above it."""
    return _pairs(whole.T @ whole, diagonal)


def _pairs(products: Any, diagonal: int) -> Any:
    upper = torch.triu_indices(len(products), len(products), diagonal, device=products.device)
    return products[upper[0], upper[1]].to(torch.int64)


def _cluster_counts(points: Any, **where: Any) -> Any:
    k = len(where["centers"])
    return torch.bincount(encoded_and_labels(points, **where)[1], minlength=k + 1)[:k].to(torch.int64)


def _cluster_sums(points: Any, **where: Any) -> Any:
    encoded, labels = encoded_and_labels(points, **where)
    ones = torch.ones(len(labels), dtype=torch.float64, device=encoded.device)
    return weighted_sums(encoded, ones, labels, len(where["centers"])).to(torch.int64).ravel()


def _point_costs(points: Any, *, sets: Any, bound: float, **ball: Any) -> Any:
    encoded = encode(points, **ball)
    scores = [(encoded @ (2 * centers.T) - centers.square().sum(dim=1)).amax(dim=1) for centers in sets.round()]
    squares = encoded.square().sum(dim=1, keepdim=True) - torch.stack(scores, dim=1)
    vectors = len(sets) * squares - squares.sum(dim=1, keepdim=True)
    lengths = sum(column.square() for column in vectors.T).sqrt()
    # A tensor, as above: a plain number over a tensor is a product with the inverse.
    most = torch.tensor(residual_sums.BOUNDED_STEPS * SLACK, dtype=torch.float64, device=encoded.device)
    return (vectors * (most / lengths.clamp(min=bound))[:, None]).trunc().to(torch.int64).sum(dim=0)


def _point_second_moment(points: Any, *, center: Any, radius: float, bound: float) -> Any:
    table, weights = _scales(points, bound)
    quick = rows.Rows(points, center, radius).scaled(table, weights) if rows.fits(points) else None
    if quick is None:
        return _plain_second_moment(encode(points, center, radius), table, weights)
    whole, sums, left = quick
    total = torch.cat([2 * _upper(whole, 1), sums])
    return total + _plain_second_moment(encode(points[left], center, radius), table, weights) if bool(left.any()) else total


def _plain_second_moment(encoded: Any, table: Sequence[Any], weights: tuple[float, float]) -> Any:
    starts, scales = table
    places = torch.searchsorted(starts, encoded.square().sum(dim=1), right=True) - 1
    scaled = (encoded * scales[places][:, None]).round()
    single = scaled.square()
    traces = single.sum(dim=1, keepdim=True)
    # A tensor, as above: by a plain number a GPU divides as a product with its inverse.
    columns = torch.tensor(float(encoded.shape[1]), dtype=torch.float64, device=encoded.device)
    traceless = (weights[0] * (single - traces / columns)).trunc().sum(dim=0)
    trace = (weights[1] * traces).trunc().sum(dim=0)
    return torch.cat([2 * _upper(scaled, 1), torch.cat([traceless, trace]).to(torch.int64)])


def _swept(name: str, points: Any, given: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return a Lloyd pass in one sweep of the GPU's memory, and the few rows that it leaves out; None where it is impossible."""
    arguments = points, given["center"], given["radius"], given["centers"].round()
    if not lloyd.fits(*arguments):
        return None
    sums, counts, left = lloyd.lloyd_pass(*arguments)
    return _left((sums.ravel() if name == "cluster-sums" else counts, left))


def _left(found: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    return found and (found[0], found[1].nonzero().ravel())


def _tensor(value: Any, device: Any) -> Any:
    """Return an array as a tensor on the device, a number as it is."""
    return value if value is None or isinstance(value, float) else torch.as_tensor(value, device=device)


_LLOYD = ("cluster-sums", "cluster-counts")
_MOMENTS = ("outer-product", "point-second-moment")
STATISTICS: Mapping[str, Callable[..., Any]] = {
    "cluster-counts": _cluster_counts,
    "cluster-sums": _cluster_sums,
    "outer-product": _outer_product,
    "point-costs": _point_costs,
    "point-second-moment": _point_second_moment,
    **{name: partial(looked_at, name) for name in LOOKS},
}
"""Every statistic that runs in torch, by its name in the registry."""
