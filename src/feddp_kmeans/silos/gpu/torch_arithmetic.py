"""The arithmetic of statistics in torch: points as whole numbers of a ball, their coordinates, their nearest centers."""

from typing import Any

import torch

from feddp_kmeans.statistics.arithmetic import PROJECTION_STEPS
from feddp_kmeans.statistics.fixed_point import LARGEST, RESOLUTION, spare_bits


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


def weighted_sums(coordinates: Any, weights: Any, labels: Any, k: int) -> Any:
    """Return the sum of weights times coordinates for each label."""
    chosen = torch.zeros((len(labels), k), dtype=torch.float64, device=coordinates.device)
    chosen[torch.arange(len(labels), device=labels.device), labels] = weights
    return chosen.T @ coordinates


def encoded_and_labels(points: Any, *, center: Any, radius: float, centers: Any, projection: Any = None) -> tuple[Any, Any]:
    """Return the points as whole numbers, and the nearest center of each."""
    encoded = encode(points, center, radius)
    return encoded, assign(project(encoded, projection), centers)
