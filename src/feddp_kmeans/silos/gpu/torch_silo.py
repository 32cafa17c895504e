"""Points in torch tensors as a silo: for a trusted aggregator with a GPU, and for simulations.

The statistics are those of the registry, by name: the same formulas and the same integers on any device. Arithmetic is exact up to a square
root and a quotient, which every device rounds alike.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from copy import copy
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.gpu.chunks import chunk_rows
from feddp_kmeans.silos.gpu.scales import scale_table
from feddp_kmeans.silos.memory import TableSilo, checked_offsets
from feddp_kmeans.silos.silo import Silo, numbered_columns
from feddp_kmeans.statistics import residual_sums
from feddp_kmeans.statistics.paper_sums import SLACK
from feddp_kmeans.statistics.query import Query

try:
    import torch
except ImportError:
    raise InputError("statistics on a GPU need torch: pip install 'feddp-kmeans[torch]'.") from None

from feddp_kmeans.silos.gpu import lloyd, moments, rows
from feddp_kmeans.silos.gpu.torch_arithmetic import (
    arguments,
    diagonal_sum,
    encode,
    encoded_and_labels,
    moment_weights,
    read,
    root,
    swap_steps,
    triangle,
    upper,
    weighted_sums,
)
from feddp_kmeans.silos.gpu.torch_clients import AT_ONCE, OF_CLIENTS, Clients, clients_total
from feddp_kmeans.silos.gpu.torch_looks import LOOKS, looked_at, swept
from feddp_kmeans.silos.gpu.torch_sources import Source, device_of, joined, points_of, present_clients, present_rows, sources_of

_QUICK_VALUES = 1 << 28
"""Numbers of a second moment at once: 2 GiB of float64."""


class TorchSilo(Silo):
    """Clients as tensors on one device, added up there in exact whole numbers; or elsewhere, from where each sum streams them to it.

    A client is a tensor, an array (in memory or mapped from a file) or ``streams.ParquetPoints``. ``device`` is that of the first tensor
    unless it is given. A row with a NaN or an infinity is left out, or filled in where the run looks at each column.
    """

    def __init__(self, clients: Sequence[Any], device: Any = None) -> None:
        if not len(clients):
            raise InputError("clients must be at least one, got none.")
        points = [points_of(client, f"clients[{index}]", device) for index, client in enumerate(clients)]
        shapes = {(len(client.shape), client.shape[-1]) for client in points}
        if len(shapes) != 1 or len(points[0].shape) != 2:
            raise InputError(f"clients must be tensors of points with the same number of columns, got shapes {sorted(shapes)}.")
        place = device_of(points, device)
        self._sources = sources_of(points, place)
        self._device, self.is_one_client = place, False
        self.n_clients, self.dimension = len(clients), int(points[0].shape[1])

    @classmethod
    def from_offsets(cls, points: Any, offsets: Any, device: Any = None) -> "TorchSilo":
        """Return clients of consecutive rows of one tensor or array: client j holds rows ``offsets[j]:offsets[j + 1]``."""
        table = points_of(points, "points", device)
        starts = checked_offsets(offsets, table.shape[0])
        silo = cls([table[:0]], device)
        silo._sources = [Source(table, starts, device_of([table], device))]
        silo.n_clients = len(starts) - 1
        return silo

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates: those of the first client's columns in its files."""
        return getattr(self._sources[0].points, "columns", None) or numbered_columns(self.dimension)

    def exact_sum(self, query: Query, cohort: BoolArray | None = None) -> IntArray:
        """Return the sum of a statistic over the clients of the cohort (None: all), without noise: never for release."""
        statistic = query.statistic
        if statistic.name not in {*STATISTICS, *OF_CLIENTS}:
            return self._by_numpy(query, cohort)
        if statistic.whole_clients:
            filled = query.public.get("fill") is not None
            held = self._clients(query, cohort, self._device)
            parts = (clients_total(query, Clients(*present_clients(points, sizes, filled=filled))) for points, sizes in held)
        else:
            parts = (total_of(query, points, kept) for points, kept in self._points(query))
        total: IntArray = reduce(add, parts, torch.zeros(query.size, dtype=torch.int64, device=self._device)).cpu().numpy()
        return total

    def _by_numpy(self, query: Query, cohort: BoolArray | None) -> IntArray:
        """Return the sum of a statistic that has no form in torch: the points are copied to the host."""
        if query.statistic.whole_clients:
            parts = self._clients(query, cohort, torch.device("cpu"))
        else:
            parts = ((piece, np.array([len(piece)])) for source in self._sources for piece in source.pieces(torch.device("cpu")))
        total = query.nothing()
        for points, sizes in parts:
            numbers = points if points.dtype == torch.float32 else points.to(torch.float64)
            total += TableSilo(numbers.numpy(), np.concatenate([[0], np.cumsum(sizes)])).exact_sum(query)
        return total

    def as_one_client(self) -> "TorchSilo":
        """Return the same points as those of one client: a sum over points does not change."""
        one = copy(self)
        one.n_clients, one.is_one_client = 1, True
        return one

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points that are finite."""
        for source in self._sources:
            for points, _ in source.clients(1, 1, None, torch.device("cpu")):
                yield present_rows(points, filled=False).numpy()

    def _points(self, query: Query) -> Iterator[tuple[Any, dict[Any, Any] | None]]:
        """Yield all points that are present, on the device, with what is kept of them."""
        filled = query.public.get("fill") is not None
        for source in self._sources:
            if source.is_there and query.public.get("units") is None:
                yield source.finite, source.kept
            else:
                yield from ((present_rows(piece, filled=filled), None) for piece in source.pieces(self._device))

    def _clients(self, query: Query, cohort: BoolArray | None, device: Any) -> Iterator[tuple[Any, IntArray]]:
        """Yield all rows of the clients of the cohort (None: all), each whole, and their sizes; so many clients as fit memory."""
        origins = query.own.get("origins")
        numbers = max(query.size, 0 if origins is None else origins.size + 2 * len(origins))
        rows, most = max(1, AT_ONCE // self.dimension), max(1, AT_ONCE // numbers)
        if not self.is_one_client:
            yield from joined(self._chosen(rows, most, cohort, device), rows, most)
        elif cohort is None or cohort[0]:
            for points, sizes in joined(self._chosen(rows, rows, None, device), *(sys.maxsize,) * 2):
                yield points, sizes.sum(keepdims=True)

    def _chosen(self, rows: int, most: int, cohort: BoolArray | None, device: Any) -> Iterator[tuple[Any, IntArray]]:
        first = 0
        for source in self._sources:
            end = first + len(source.sizes)
            yield from source.clients(rows, most, None if cohort is None else cohort[first:end], device)
            first = end


def total_of(query: Query, points: Any, kept: MutableMapping[Any, Any] | None = None) -> Any:
    """Return the sum of a statistic over the points as int64, exact; coordinates in a subspace may be ``kept`` for the next one."""
    name = query.statistic.name
    if name not in STATISTICS:
        raise InputError(f"statistic must be one that runs in torch, {sorted(STATISTICS)}, got {name!r}.")
    given, points = arguments(query, points.device), read(query, points)
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
        return upper(encode(points, center, radius), 0)
    whole, _, left = quick
    total = upper(whole, 0)
    return total + upper(encode(points[left], center, radius), 0) if bool(left.any()) else total


def _moment_at_once(name: str, points: Any, given: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return a second moment in one sweep by the GPU's kernel, and which rows it leaves out; None where that is impossible."""
    if name == "outer-product":
        found = moments.products(points, given["center"], given["radius"])
        return found and (triangle(found[0], 0), found[2])
    if not rows.fits(points):
        return None
    table, weights = _scales(points, given["bound"])
    found = moments.products(points, given["center"], given["radius"], table, weights)
    return found and (torch.cat([2 * triangle(found[0], 1), found[1]]), found[2])


def _scales(points: Any, bound: float) -> tuple[list[Any], tuple[float, float]]:
    dimension = points.shape[1]
    return [torch.as_tensor(column, device=points.device) for column in scale_table(dimension, bound)], moment_weights(dimension)


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
    lengths = root(sum(column.square() for column in vectors.T))
    # A tensor, as above: a plain number over a tensor is a product with the inverse.
    most = torch.tensor(residual_sums.BOUNDED_STEPS * SLACK, dtype=torch.float64, device=encoded.device)
    return (vectors * (most / lengths.clamp(min=bound))[:, None]).trunc().to(torch.int64).sum(dim=0)


def _point_swaps(points: Any, *, centers: Any, others: Any, ones: Any, twos: Any, reach: float, **ball: Any) -> Any:
    encoded, labels = encoded_and_labels(points, centers=centers, **ball)
    steps = swap_steps(encoded, labels, (centers, others, ones, twos), reach)
    return torch.cat([torch.bincount(labels, numbers, minlength=len(centers)).to(torch.int64) for numbers in steps])


def _point_second_moment(points: Any, *, center: Any, radius: float, bound: float) -> Any:
    table, weights = _scales(points, bound)
    quick = rows.Rows(points, center, radius).scaled(table, weights) if rows.fits(points) else None
    if quick is None:
        return _plain_second_moment(encode(points, center, radius), table)
    whole, sums, left = quick
    total = torch.cat([2 * upper(whole, 1), sums])
    return total + _plain_second_moment(encode(points[left], center, radius), table) if bool(left.any()) else total


def _plain_second_moment(encoded: Any, table: Sequence[Any]) -> Any:
    starts, scales = table
    places = torch.searchsorted(starts, encoded.square().sum(dim=1), right=True) - 1
    scaled = (encoded * scales[places][:, None]).round()
    return torch.cat([2 * upper(scaled, 1), diagonal_sum(scaled.square())])


def _swept(name: str, points: Any, given: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return a Lloyd pass in one sweep of the GPU's memory, and the few rows that it leaves out; None where it is impossible."""
    arguments = points, given["center"], given["radius"], given["centers"].round()
    if not lloyd.fits(*arguments):
        return None
    sums, counts, left = lloyd.lloyd_pass(*arguments)
    return _left((sums.ravel() if name == "cluster-sums" else counts, left))


def _left(found: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    return found and (found[0], found[1].nonzero().ravel())


_LLOYD = ("cluster-sums", "cluster-counts")
_MOMENTS = ("outer-product", "point-second-moment")
STATISTICS: Mapping[str, Callable[..., Any]] = {
    "cluster-counts": _cluster_counts,
    "cluster-sums": _cluster_sums,
    "outer-product": _outer_product,
    "point-costs": _point_costs,
    "point-second-moment": _point_second_moment,
    "point-swaps": _point_swaps,
    **{name: partial(looked_at, name) for name in LOOKS},
}
"""Every statistic that runs in torch, by its name in the registry."""
