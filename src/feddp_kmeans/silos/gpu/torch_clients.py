"""Statistics of whole clients in torch: what a client holds is added up on the device in whole numbers, its factor found by numpy.

Why no bit differs from the CPU's: sums over a client's points are whole numbers, in 64-bit integers, and those below 2**53 are the same in
float64. Lengths are added up in numpy's order (``torch_norms``). Factors are computed from them by the very functions of the CPU, and the
device multiplies by them, divides and truncates number by number, each operation rounded by itself.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.silos.gpu.torch_arithmetic import arguments, assign, diagonal_sum, encode, project, read, swap_steps, upper
from feddp_kmeans.silos.gpu.torch_looks import quick_labels
from feddp_kmeans.silos.gpu.torch_norms import outer_product_norms, row_norms, squares_of
from feddp_kmeans.statistics import costs, norms, paper_sums, residual_sums, spreads
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS, LARGEST, RESOLUTION
from feddp_kmeans.statistics.query import Query

AT_ONCE = 1 << 26
"""Numbers of points or of clients' vectors in memory at once: 512 MiB, and a few times that while they are worked on."""


@dataclass(frozen=True)
class Clients:
    """Some clients on a device, whole, one after the other: all rows are finite."""

    points: Any
    sizes: IntArray

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def owners(self) -> Any:
        """The client of each row."""
        sizes = torch.as_tensor(self.sizes, device=self.points.device)
        return torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)

    def parts(self, width: int) -> Iterator[tuple[Any, Any]]:
        """Yield points and their clients, so many that their numbers, ``width`` each, fit memory."""
        step = max(1, AT_ONCE // max(width, self.points.shape[1]))
        yield from zip(self.points.split(step), self.owners.split(step), strict=True)

    def zeros(self, *shape: int) -> Any:
        """Return whole numbers for every client, all zero."""
        return torch.zeros((len(self), *shape), dtype=torch.int64, device=self.points.device)

    def encoded(self, ball: Mapping[str, Any]) -> Any:
        """Return all points as whole numbers."""
        return encode(self.points, ball["center"], ball["radius"])

    def scaled(self, encoded: Any, factors: FloatArray) -> Any:
        """Return points, each times the factor of its client, rounded."""
        return (encoded * self._given(factors)[self.owners][:, None]).round()

    def bounded(self, vectors: Any, factors: FloatArray) -> Any:
        """Return the sum of the clients' vectors, each times its factor and truncated."""
        given = self._given(factors)
        return (vectors * given.reshape(-1, *(1,) * (vectors.ndim - 1))).trunc().to(torch.int64).sum(dim=0).ravel()

    def _given(self, factors: FloatArray) -> Any:
        return torch.as_tensor(factors, device=self.points.device)


def clients_total(query: Query, clients: Clients) -> Any:
    """Return the sum of a statistic over whole clients as int64, exact."""
    device = clients.points.device
    there = Clients(read(query, clients.points), clients.sizes)
    return torch.as_tensor(OF_CLIENTS[query.statistic.name](there, **arguments(query, device)), device=device)


def _cells(clients: Clients, *, centers: Any, projection: Any = None, **ball: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield points as whole numbers, the nearest center of each, and the number of its pair of client and center."""
    where = ball | {"centers": centers, "projection": projection}
    for points, owners in clients.parts(len(centers)):
        encoded = encode(points, **ball)
        found = quick_labels(points, **where)
        if found is None:
            labels = assign(project(encoded, projection), centers)
        else:
            labels, left = found[0].to(torch.int64), found[1]
            labels[left] = assign(project(encoded[left], projection), centers)
        yield encoded, labels, owners * len(centers) + labels


def _counts(clients: Clients, **where: Any) -> Any:
    k = len(where["centers"])
    found = clients.zeros(k).ravel()
    for _, _, cells in _cells(clients, **where):
        found += torch.bincount(cells, minlength=len(found))
    return found.reshape(len(clients), k)


def _sums(clients: Clients, **where: Any) -> tuple[Any, Any]:
    """Return for every client and center the sum of the points nearest to it, and how many there are."""
    k, d = len(where["centers"]), clients.points.shape[1]
    sums, counts = clients.zeros(k, d), clients.zeros(k)
    for encoded, _, cells in _cells(clients, **where):
        sums.view(len(clients) * k, d).index_add_(0, cells, encoded.to(torch.int64))
        counts.view(-1).index_add_(0, cells, torch.ones_like(cells))
    return sums.to(torch.float64), counts


def _cluster_counts(clients: Clients, *, bound: float, **where: Any) -> Any:
    return paper_sums.sum_bounded_l1(_host(_counts(clients, **where).to(torch.float64)), bound)


def _presence(clients: Clients, *, bound: float, **where: Any) -> Any:
    return paper_sums.sum_bounded_l1(_host((_counts(clients, **where) > 0).to(torch.float64)), bound)


def _bounded_l2(clients: Clients, values: Any, bound: float, radius: float) -> Any:
    lengths = _host(row_norms(values.reshape(len(values), math.prod(values.shape[1:]))))
    return clients.bounded(values, paper_sums.mean_factors(lengths, bound, radius))


def _cluster_sums(clients: Clients, *, bound: float, **where: Any) -> Any:
    return _bounded_l2(clients, _sums(clients, **where)[0], bound, where["radius"])


def _cluster_means(clients: Clients, *, bound: float, **where: Any) -> Any:
    sums, counts = _sums(clients, **where)
    return _bounded_l2(clients, sums / counts.clamp(min=1).to(torch.float64)[:, :, None], bound, where["radius"])


def _outer_product(clients: Clients, *, bound: float, **ball: Any) -> Any:
    encoded = clients.encoded(ball)
    lengths = _host(outer_product_norms(encoded, clients.sizes))
    limit = bound / (ball["radius"] / RESOLUTION) ** 2
    return _gram(clients.scaled(encoded, paper_sums.outer_product_factors(lengths, clients.sizes * encoded.shape[1], limit)), 0)


def _gram(whole: Any, diagonal: int) -> Any:
    """Return the products of all pairs of columns from the first diagonal on, exact for any number of rows of norm at most 2 R."""
    parts = [upper(part, diagonal) for part in whole.split(EXACT_ROWS)]
    return sum(parts[1:], parts[0])


def _moment_lengths(clients: Clients, encoded: Any) -> tuple[FloatArray, FloatArray]:
    """Return ``residual_sums.second_moment_norms`` of the clients."""
    traces = clients.zeros().index_add_(0, clients.owners, encoded.square().sum(dim=1).to(torch.int64))
    frobenius = _host(outer_product_norms(encoded, clients.sizes))
    return residual_sums.moment_norms(frobenius, _host(traces.to(torch.float64)), encoded.shape[1]), frobenius


def _second_moment(clients: Clients, *, bound: float, **ball: Any) -> Any:
    encoded = clients.encoded(ball)
    scales = residual_sums.client_scales(*_moment_lengths(clients, encoded), clients.sizes * encoded.shape[1], bound)
    scaled = clients.scaled(encoded, scales)
    squares = clients.zeros(scaled.shape[1]).index_add_(0, clients.owners, scaled.square().to(torch.int64))
    return torch.cat([2 * _gram(scaled, 1), diagonal_sum(squares.to(torch.float64))])


def _moment_norms(clients: Clients, *, edges: Any, **ball: Any) -> Any:
    return norms.histogram(_moment_lengths(clients, clients.encoded(ball))[0], _host(edges), clients.sizes)


def _residual_vectors(
    clients: Clients,
    *,
    origins: Any,
    count_weight: float,
    square_weight: float | None = None,
    residual_projection: Any = None,
    **where: Any,
) -> tuple[Any, FloatArray]:
    """Return every client's vectors, zero where it has no point near a center, and the length of all of a client's together."""
    (k, q), starts = origins.shape, origins.round()
    sums, counts, squares = clients.zeros(k, q), clients.zeros(k), clients.zeros(k)
    for encoded, labels, cells in _cells(clients, **where):
        residuals = project(encoded, residual_projection) - starts[labels]
        sums.view(len(clients) * k, q).index_add_(0, cells, residuals.to(torch.int64))
        counts.view(-1).index_add_(0, cells, torch.ones_like(cells))
        if square_weight is not None:
            squares.view(-1).index_add_(0, cells, residuals.square().sum(dim=1).to(torch.int64))
    weighted = [] if square_weight is None else [(squares.to(torch.float64) * square_weight)[:, :, None]]
    vectors = torch.cat([sums.to(torch.float64), *weighted, (counts.to(torch.float64) * count_weight)[:, :, None]], dim=2)
    lengths = squares_of(vectors.reshape(len(clients) * k, vectors.shape[2])).reshape(len(clients), k)
    return vectors, np.sqrt(_host(_one_by_one(lengths)))


def _one_by_one(columns: Any) -> Any:
    """Return the sum of the columns, added up from the first to the last."""
    total = torch.zeros(len(columns), dtype=torch.float64, device=columns.device)
    for column in columns.T:
        total += column
    return total


def _residuals(clients: Clients, *, bound: float, **where: Any) -> Any:
    vectors, lengths = _residual_vectors(clients, **where)
    return clients.bounded(vectors, residual_sums.client_factors(bound, lengths))


def _residual_norms(clients: Clients, *, edges: Any, **where: Any) -> Any:
    return norms.histogram(_residual_vectors(clients, **where)[1], _host(edges), clients.sizes)


def _spreads(clients: Clients, *, centers: Any, reach: float, bound: float, **ball: Any) -> Any:
    k, targets = len(centers), centers.round()
    counts, squares = clients.zeros(k), clients.zeros(k)
    # A tensor on the device: by a plain number a GPU divides as a product with its inverse, which rounds twice.
    farthest = torch.tensor(reach**2, dtype=torch.float64, device=centers.device)
    for encoded, labels, cells in _cells(clients, centers=centers, **ball):
        parts = ((encoded - targets[labels]).square().sum(dim=1) / farthest).clamp(max=1.0)
        squares.view(-1).index_add_(0, cells, (spreads.UNIT_STEPS * parts).to(torch.int64))
        counts.view(-1).index_add_(0, cells, torch.ones_like(cells))
    totals = 7.0 * squares.sum(dim=1).to(torch.float64)
    sizes, weighted = float(spreads.SIZE_STEPS) * counts.to(torch.float64), 6.0 * squares.to(torch.float64)
    lengths = np.sqrt(_host(_one_by_one(sizes.square() + weighted.square()) + totals.square()))
    factors = residual_sums.client_factors(11.0 * spreads.UNIT_STEPS * bound, lengths)
    return torch.cat([clients.bounded(numbers, factors) for numbers in (sizes, weighted, totals[:, None])])


def _swaps(clients: Clients, *, centers: Any, others: Any, ones: Any, twos: Any, reach: float, bound: float, **ball: Any) -> Any:
    found = [clients.zeros(len(centers)) for _ in range(2)]
    for encoded, labels, cells in _cells(clients, centers=centers, **ball):
        for sums, steps in zip(found, swap_steps(encoded, labels, (centers, others, ones, twos), reach), strict=True):
            sums.view(-1).index_add_(0, cells, steps.to(torch.int64))
    losses, gains = (sums.to(torch.float64) for sums in found)
    lengths = np.sqrt(_host(_one_by_one(losses.square() + gains.square())))
    factors = residual_sums.client_factors(float(residual_sums.BOUNDED_STEPS) * bound, lengths)
    return torch.cat([clients.bounded(numbers, factors) for numbers in (losses, gains)])


def _costs(clients: Clients, *, sets: Any, bound: float, **ball: Any) -> Any:
    c, low_bits = len(sets), costs.LOW_BITS
    high, low = clients.zeros(c), clients.zeros(c)
    for points, owners in clients.parts(c * sets.shape[1]):
        encoded = encode(points, **ball)
        scores = [(encoded @ (2 * centers.T) - centers.square().sum(dim=1)).amax(dim=1) for centers in sets.round()]
        squares = encoded.square().sum(dim=1, keepdim=True) - torch.stack(scores, dim=1)
        whole = (c * squares - squares.sum(dim=1, keepdim=True)).to(torch.int64)
        high.index_add_(0, owners, whole >> low_bits)
        low.index_add_(0, owners, whole & ((1 << low_bits) - 1))
    vectors = 2.0**low_bits * high.to(torch.float64) + low.to(torch.float64)
    return clients.bounded(vectors, residual_sums.client_factors(bound, np.sqrt(_host(_one_by_one(vectors.square())))))


def _distances(clients: Clients, *, center: Any, edges: Any) -> Any:
    width, pairs = len(edges) + 1, []
    for points, owners in clients.parts(1):
        lengths = row_norms((points.to(torch.float64) - center).clamp(-LARGEST, LARGEST))
        pairs.append(owners * width + torch.searchsorted(edges, lengths))
    present, counts = torch.unique(torch.cat(pairs), return_counts=True)
    return norms.shared(_host(present), _host(counts), clients.sizes, width)


def _sizes(clients: Clients) -> Any:
    starts = np.concatenate([[0], np.cumsum(clients.sizes)])
    return residual_sums.CLIENT_SIZES.compute(ClientBatch(np.empty((int(starts[-1]), 0)), starts))


def _host(tensor: Any) -> Any:
    return tensor.cpu().numpy()


OF_CLIENTS: Mapping[str, Callable[..., Any]] = {
    "client-cluster-counts": _cluster_counts,
    "client-cluster-means": _cluster_means,
    "client-cluster-sums": _cluster_sums,
    "client-costs": _costs,
    "client-distances": _distances,
    "client-moment-norms": _moment_norms,
    "client-outer-product": _outer_product,
    "client-presence": _presence,
    "client-residual-norms": _residual_norms,
    "client-residuals": _residuals,
    "client-second-moment": _second_moment,
    "client-sizes": _sizes,
    "client-spreads": _spreads,
    "client-swaps": _swaps,
}
"""Every statistic of whole clients that runs in torch, by its name in the registry."""
