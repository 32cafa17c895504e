"""Looks in torch: statistics of each point's residual around its nearest center; on a GPU by kernels, where these can be used."""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch

from feddp_kmeans.silos.gpu import rows, sweeps
from feddp_kmeans.silos.gpu.torch_arithmetic import encode, encoded_and_labels, project, root, weighted_sums
from feddp_kmeans.statistics import residual_sums, spreads

_WHERE = {"center", "radius", "centers", "origins", "projection", "residual_projection"}

LOOK_ROWS = 1 << 22
"""Rows of a look that are added up at once: each adds at most 2**30 to any number, so their sums are exact in float64."""

_ADDED_ROWS = 1 << 19
"""Rows that are added up at once where there are too many centers for a kernel."""


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


def _quick_look(
    points: Any, *, center: Any, radius: float, centers: Any, origins: Any, projection: Any = None, residual_projection: Any = None
) -> tuple[Look, Any] | None:
    """Return a look at the points by the GPU's kernels, and those points that it leaves out; None where it is impossible."""
    targets, k = centers.round(), len(centers)
    if not _equal(projection, residual_projection) or not torch.equal(targets, origins.round()):
        return None
    found = quick_labels(points, center=center, radius=radius, centers=targets, projection=projection)
    if found is None or not found[0].can_weigh(k):
        return None
    there, labels, squares, longer = found
    return Look(labels, squares, k, lambda weights: there.weighted_sums(targets, labels, weights)), points[longer]


def quick_labels(points: Any, *, center: Any, radius: float, centers: Any, projection: Any = None) -> tuple[Any, Any, Any, Any] | None:
    """Return the rows where they are labelled, their labels and squares, and which would have been shortened; None where impossible.

    Those have the label k, which is no center's.
    """
    if not rows.fits(points):
        return None
    there: Any = rows.Rows(points, center, radius)
    turned = None if projection is None else there.in_subspace(projection)
    if projection is not None and turned is None:
        return None
    there, shortened = turned or (there, None)
    found = there.labelled(centers.round())
    if found is None:
        return None
    labels, squares, longer = found
    longer = longer if shortened is None else shortened
    return there, labels.masked_fill_(longer, len(centers)), squares, longer


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
    most = torch.tensor(residual_sums.BOUNDED_STEPS * (1 - 2.0**-32), dtype=torch.float64, device=lengths.device)  # as above
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
    if not same_space or not torch.equal(centers, given.get("origins", centers).round()):
        return None
    where = sweeps.space(points, given["center"], given["radius"], projection, kept)
    if where is not None and name == "point-residuals":
        return where.residuals(centers, given["bound"], given["count_weight"], given.get("square_weight"))
    if where is not None and name == "cluster-sums" and projection is None and (sums := where.sums(centers)) is not None:
        return sums
    found = None if where is None else where.labelled(centers)
    return None if found is None else _of_labels(name, points, found, given)


def _of_labels(name: str, points: Any, found: sweeps.Labelled, given: Mapping[str, Any]) -> tuple[Any, Any] | None:
    k, whole = len(given["centers"]), rows.Rows(points, given["center"], given["radius"])
    if name == "cluster-counts":
        return torch.bincount(found.labels, minlength=k + 1)[:k].to(torch.int64), found.left
    if name == "cluster-sums":
        zeros = torch.zeros((k, points.shape[1]), dtype=torch.float64, device=points.device)
        if whole.can_weigh(k):
            return whole.weighted_sums(zeros, found.labels, torch.ones_like(found.squares)).ravel(), found.left
        sums = torch.zeros((k + 1, points.shape[1]), dtype=torch.int64, device=points.device)
        for start in range(0, len(points), _ADDED_ROWS):
            part = slice(start, start + _ADDED_ROWS)
            sums.index_add_(0, found.labels[part], encode(points[part], given["center"], given["radius"]).to(torch.int64))
        return sums[:k].ravel(), found.left
    own = {key: value for key, value in given.items() if key not in _WHERE}
    parts = [slice(start, start + LOOK_ROWS) for start in range(0, len(points), LOOK_ROWS)]
    return sum(LOOKS[name](Look(found.labels[part], found.squares[part], k, _no_sums), **own) for part in parts), found.left


def _equal(one: Any, other: Any) -> bool:
    return one is other is None or (one is not None and other is not None and torch.equal(one, other))


def _no_sums(weights: Any) -> Any:
    raise NotImplementedError


def looked_at(name: str, points: Any, **given: Any) -> Any:
    """Return a statistic of looks, by kernels where possible; the rows that these leave out are few."""
    where = {key: value for key, value in given.items() if key in _WHERE}
    own = {key: value for key, value in given.items() if key not in _WHERE}
    if name == "point-spreads":
        where["origins"] = where["centers"]
    quick = _quick_look(points, **where)
    if quick is None:
        return LOOKS[name](_look(points, **where), **own)
    look, left = quick
    total = LOOKS[name](look, **own)
    return total + LOOKS[name](_look(left, **where), **own) if len(left) else total


LOOKS: Mapping[str, Callable[..., Any]] = {
    "point-residual-norms": _point_residual_norms,
    "point-residuals": _point_residuals,
    "point-spreads": _point_spreads,
}
"""Every statistic of looks, by its name in the registry."""
