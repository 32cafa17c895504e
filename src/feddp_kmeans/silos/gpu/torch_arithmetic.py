"""The arithmetic of statistics in torch: points as whole numbers of a ball, their coordinates, their nearest centers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from feddp_kmeans.statistics.arithmetic import PROJECTION_STEPS
from feddp_kmeans.statistics.fixed_point import LARGEST, RESOLUTION, spare_bits
from feddp_kmeans.statistics.paper_sums import SLACK
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, TRACE_WEIGHT


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
    scaled = whole * (RESOLUTION / root(whole.square().sum(dim=1)))[:, None]
    rounded = scaled.round()
    return torch.where((rounded.square().sum(dim=1) > RESOLUTION**2)[:, None], scaled.trunc(), rounded)


def root(numbers: Any) -> Any:
    """Return square roots as IEEE 754 rounds them: on a CPU torch may call a library that rounds some of them otherwise."""
    return torch.from_numpy(np.sqrt(numbers.numpy())) if numbers.device.type == "cpu" else numbers.sqrt()


def project(encoded: Any, projection: Any) -> Any:
    """Return coordinates in a subspace, rounded; without one, the points themselves."""
    if projection is None:
        return encoded
    return ((encoded @ (projection * PROJECTION_STEPS).round()) / PROJECTION_STEPS).round()


def assign(coordinates: Any, centers: Any) -> Any:
    """Return the nearest center of each point, the first of equal ones."""
    targets = centers.round()
    scores = coordinates @ (2 * targets.T) - targets.square().sum(dim=1)
    places = torch.arange(len(targets), device=scores.device)
    return torch.where(scores == scores.amax(dim=1, keepdim=True), places, len(targets)).amin(dim=1)


def arguments(query: Query, device: Any) -> dict[str, Any]:
    """Return the arguments of a query's statistic, arrays as tensors on the device."""
    return {name: _tensor(value, device) for name, value in query.own.items()}


def read(query: Query, points: Any) -> Any:
    """Return points as the query reads them: in units, a missing cell filled in; see ``batch.read_rows``."""
    units, fill = (_tensor(query.public.get(name), points.device) for name in ("units", "fill"))
    if units is None:
        return points
    numbers = points.to(torch.float64)
    there = numbers if fill is None else torch.where(torch.isfinite(numbers), numbers, fill)
    return (there / units).clamp(-LARGEST, LARGEST)


def _tensor(value: Any, device: Any) -> Any:
    """Return an array as a tensor on the device, a number as it is."""
    return value if value is None or isinstance(value, float) else torch.as_tensor(value, device=device)


def upper(whole: Any, diagonal: int) -> Any:
    """Return the products of all pairs of columns, each pair once; from the first diagonal on, or above it."""
    return triangle(whole.T @ whole, diagonal)


def triangle(products: Any, diagonal: int) -> Any:
    """Return the part of a square matrix from a diagonal on."""
    places = torch.triu_indices(len(products), len(products), diagonal, device=products.device)
    return products[places[0], places[1]].to(torch.int64)


def diagonal_sum(squares: Any) -> Any:
    """Return what the diagonals of second moments add up to, one of each unit; see ``residual_sums``."""
    dimension = squares.shape[1]
    traces = squares.sum(dim=1, keepdim=True)
    # A tensor on the device: by a plain number a GPU divides as a product with its inverse, which rounds twice.
    columns = torch.tensor(float(dimension), dtype=torch.float64, device=squares.device)
    of_square, of_trace = moment_weights(dimension)
    traceless = (of_square * (squares - traces / columns)).trunc().sum(dim=0)
    return torch.cat([traceless, (of_trace * traces).trunc().sum(dim=0)]).to(torch.int64)


def moment_weights(dimension: int) -> tuple[float, float]:
    """Return the weights of a square, less the mean one of its row, and of a trace in a second moment."""
    return math.sqrt(2), math.sqrt(2 / dimension) * TRACE_WEIGHT


def weighted_sums(coordinates: Any, weights: Any, labels: Any, k: int) -> Any:
    """Return the sum of weights times coordinates for each label."""
    chosen = torch.zeros((len(labels), k), dtype=torch.float64, device=coordinates.device)
    chosen[torch.arange(len(labels), device=labels.device), labels] = weights
    return chosen.T @ coordinates


def swap_steps(encoded: Any, labels: Any, places: Sequence[Any], reach: float) -> list[Any]:
    """Return in steps what each point costs more at its other center, and less at the nearer of two: see ``statistics.swaps``.

    ``places`` are centers, others, ones and twos.
    """
    own, other, one, two = ((encoded - table.round()[labels]).square().sum(dim=1) for table in places)
    # Tensors on the device: by a plain number a GPU divides as a product with its inverse, which rounds twice.
    farthest, most = (torch.tensor(value, dtype=torch.float64, device=encoded.device) for value in (reach**2, BOUNDED_STEPS * SLACK))
    losses, gains = ((difference / farthest).clamp(-1.0, 1.0) for difference in (other - own, own - torch.minimum(one, two)))
    factors = most / root(losses.square() + gains.square()).clamp(min=1.0)
    return [(difference * factors).trunc() for difference in (losses, gains)]


def encoded_and_labels(points: Any, *, center: Any, radius: float, centers: Any, projection: Any = None) -> tuple[Any, Any]:
    """Return the points as whole numbers, and the nearest center of each."""
    encoded = encode(points, center, radius)
    return encoded, assign(project(encoded, projection), centers)
