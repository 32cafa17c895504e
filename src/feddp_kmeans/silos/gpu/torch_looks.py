"""Looks in torch: statistics of each point's residual around its nearest center; on a GPU by kernels, where these can be used."""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from feddp_kmeans.silos.gpu import sweeps
from feddp_kmeans.silos.gpu.tallies import LabelledPoints
from feddp_kmeans.silos.gpu.torch_arithmetic import encoded_and_labels, project, root, weighted_sums
from feddp_kmeans.statistics import spreads
from feddp_kmeans.statistics.residual_sums import LONGEST_STEPS

_WHERE = {"center", "radius", "centers", "origins", "projection", "residual_projection"}

LOOK_ROWS = 1 << 22
"""Rows of a look that are added up at once: each adds at most 2**30 to any number, so their sums are exact in float64."""


@dataclass(frozen=True)
class Look:
    """Some points, each with its nearest center and its squared distance from the origin of that one, in the space of the origins."""

    labels: Any
    """Those with the label k do not count."""
    squares: Any
    k: int
    sums: Callable[[Any], Any]
    """Returns for each center the sum of weights times residuals, for some weights."""

    def added(self, numbers: Any) -> Any:
        """Return for each center the sum of whole numbers; without these, how many points it has."""
        return torch.bincount(self.labels, numbers, minlength=self.k + 1)[: self.k].to(torch.int64)


def _look(points: Any, *, origins: Any, residual_projection: Any = None, **where: Any) -> Look:
    encoded, labels = encoded_and_labels(points, **where)
    residuals = project(encoded, residual_projection) - origins.round()[labels]
    k = len(origins)
    return Look(labels, residuals.square().sum(dim=1), k, lambda weights: weighted_sums(residuals, weights, labels, k).to(torch.int64))


def _point_residual_norms(look: Look, *, edges: Any, count_weight: float) -> Any:
    classes = torch.searchsorted(edges, root(look.squares + count_weight**2))
    classes = classes.masked_fill(look.labels == look.k, len(edges) + 1)
    return torch.bincount(classes, minlength=len(edges) + 2)[:-1].to(torch.int64)


def _point_spreads(look: Look, *, reach: float) -> Any:
    # A tensor on the device: by a plain number a GPU divides as a product with its inverse, which rounds twice.
    farthest = torch.tensor(reach**2, dtype=torch.float64, device=look.squares.device)
    parts = (look.squares / farthest).clamp(max=1.0)
    squares = look.added((spreads.UNIT_STEPS * parts).trunc())
    counts = spreads.SIZE_STEPS * look.added(None)
    return torch.cat([counts, 6 * squares, 7 * squares.sum()[None]])


def _point_residuals(look: Look, *, bound: float, count_weight: float, square_weight: float | None = None) -> Any:
    weighted_squares = look.squares * (square_weight or 0.0)
    lengths = root(look.squares + weighted_squares.square() + count_weight**2)
    most = torch.tensor(LONGEST_STEPS, dtype=torch.float64, device=lengths.device)  # as above
    factors = (most / lengths.clamp(min=bound)).floor()
    numbers = [count_weight] if square_weight is None else [weighted_squares, count_weight]
    weighted = [look.added((factors * number).trunc())[:, None] for number in numbers]
    return torch.cat([look.sums(factors), *weighted], dim=1).ravel()


def swept(name: str, points: Any, kept: MutableMapping[Any, Any] | None, given: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return a statistic of all points in one sweep by the GPU's kernel, and which rows it leaves out; None where that is impossible.

    Coordinates in a subspace are ``kept`` for the next one.
    """
    centers, projection = given["centers"].round(), given.get("projection")
    same_space = name not in LOOKS or _equal(projection, given.get("residual_projection", projection))
    same_origins = "origins" not in given or torch.equal(centers, given["origins"].round())
    if not points.is_cuda or not same_space or not same_origins or not sweeps.in_reach(centers):
        return None
    where = sweeps.space(points, given["center"], given["radius"], projection, kept)
    if where is None:
        return None
    sums = None
    if name == "point-residuals":
        sums = where.residuals(centers, given["bound"], given["count_weight"], given.get("square_weight"))
    elif name == "cluster-sums" and projection is None:
        sums = where.sums(centers)
    found = None if sums is not None else where.looked(centers, squares=name in LOOKS)
    return sums if found is None else _of_labels(name, points, found, given)


def quick_labels(points: Any, *, center: Any, radius: float, centers: Any, projection: Any = None) -> tuple[Any, Any] | None:
    """Return each point's nearest center by the GPU's kernels, and which points are left out; None where that is impossible."""
    targets = centers.round()
    where = sweeps.space(points, center, radius, projection) if points.is_cuda and sweeps.in_reach(targets) else None
    found = None if where is None else where.looked(targets, squares=False)
    return None if found is None else (found.labelled.labels, found.left)


def _of_labels(name: str, points: Any, found: sweeps.Looked, given: Mapping[str, Any]) -> tuple[Any, Any] | None:
    k, there = len(given["centers"]), found.labelled
    if name == "cluster-counts":
        return torch.bincount(there.labels, minlength=k + 1)[:k].to(torch.int64), found.left
    if name == "cluster-sums":
        sums = LabelledPoints(points, given["center"], given["radius"], there.labels).sums(k)
        return None if sums is None else (sums.ravel(), found.left)
    own = {key: value for key, value in given.items() if key not in _WHERE}
    starts = range(0, len(points), LOOK_ROWS)
    parts = [(there.part(slice(start, start + LOOK_ROWS)), found.squares[start : start + LOOK_ROWS]) for start in starts]
    looks = [Look(part.labels, squares, k, partial(part.weighted_sums, given["centers"].round())) for part, squares in parts]
    return sum(LOOKS[name](look, **own) for look in looks), found.left


def _equal(one: Any, other: Any) -> bool:
    return one is other is None or (one is not None and other is not None and torch.equal(one, other))


def looked_at(name: str, points: Any, **given: Any) -> Any:
    """Return a statistic of looks in plain torch."""
    where = {key: value for key, value in given.items() if key in _WHERE}
    if name == "point-spreads":
        where["origins"] = where["centers"]
    return LOOKS[name](_look(points, **where), **{key: value for key, value in given.items() if key not in _WHERE})


LOOKS: Mapping[str, Callable[..., Any]] = {
    "point-residual-norms": _point_residual_norms,
    "point-residuals": _point_residuals,
    "point-spreads": _point_spreads,
}
"""Every statistic of looks, by its name in the registry."""
