"""What sets a cluster apart: the traits of each center, beside the mean over all clusters and the noise in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from feddp_kmeans.report.text import finite

SHOWN = 6
"""Traits shown of a cluster."""


@dataclass(frozen=True)
class Trait:
    """One coordinate, or the share of one category, of one cluster."""

    column: str
    category: str | None
    value: float
    error: float | None
    """Standard deviation of the noise in the value; None where it is not known."""
    overall: float
    """Mean over all clusters, weighted by their noisy sizes."""
    scale: str
    """Traits of one scale are in the same units and can be drawn on one axis."""

    @property
    def difference(self) -> float:
        """Return how far the cluster lies from the mean over all clusters."""
        return self.value - self.overall

    @property
    def trusted(self) -> bool:
        """Return whether the difference is larger than the noise's standard deviation, or there is no noise."""
        return not self.error or self.error <= abs(self.difference)


@dataclass(frozen=True)
class _Reading:
    value: float
    error: float | None
    scale: str


_Key = tuple[str, str | None]


def cluster_traits(result: dict[str, Any]) -> list[list[Trait]]:
    """Return every cluster's traits, those that set it apart most clearly first: by difference over noise, else by difference."""
    readings = _from_profiles(result["profiles"]) if result.get("profiles") else _from_centers(result)
    overall = _overall(readings, size_weights(result["noisy_counts"], len(readings)))
    return [_ranked([Trait(*key, one.value, one.error, overall[key], one.scale) for key, one in row.items()]) for row in readings]


def size_weights(counts: Sequence[Any], k: int) -> list[float]:
    """Return each cluster's weight: its noisy size where that is positive; equal weights where no size is known."""
    known = [max(0.0, finite(count) or 0.0) for count in counts]
    return known if len(known) == k and sum(known) > 0 else [1.0] * k


def _ranked(traits: list[Trait]) -> list[Trait]:
    noisy = all(trait.error for trait in traits)
    return sorted(traits, key=lambda t: -abs(t.difference) / (t.error or 1.0) if noisy else -abs(t.difference))


def _overall(readings: list[dict[_Key, _Reading]], weights: list[float]) -> dict[_Key, float]:
    """Return the weighted mean of every trait over the clusters that have it."""
    totals: dict[_Key, tuple[float, float]] = {}
    for row, weight in zip(readings, weights, strict=True):
        for key, one in row.items():
            total, mass = totals.get(key, (0.0, 0.0))
            totals[key] = (total + weight * one.value, mass + weight)
    return {key: total / mass if mass > 0 else 0.0 for key, (total, mass) in totals.items()}


def _from_centers(result: dict[str, Any]) -> list[dict[_Key, _Reading]]:
    columns = result.get("columns") or []
    made = []
    for index, center in enumerate(result["centers"]):
        error = finite(_at(result.get("center_stddev") or [], index))
        row: dict[_Key, _Reading] = {}
        for i, coordinate in enumerate(center):
            value = finite(coordinate)
            if value is not None:
                column = str(columns[i]) if i < len(columns) else f"column {i}"
                row[(column, None) if (column, None) not in row else (f"{column} ({i})", None)] = _Reading(value, error, "center")
        made.append(row)
    return made


def _from_profiles(profiles: Sequence[Sequence[dict[str, Any]]]) -> list[dict[_Key, _Reading]]:
    return [{key: one for item in profile for key, one in _readings(item)} for profile in profiles]


def _readings(item: dict[str, Any]) -> list[tuple[_Key, _Reading]]:
    column, error = str(item["column"]), finite(item.get("error"))
    if item.get("kind") == "category" and item.get("shares"):
        shares = {str(category): finite(share) for category, share in item["shares"].items()}
        return [((column, c), _Reading(share, error, "share")) for c, share in shares.items() if share is not None]
    value = finite(item.get("value"))
    return [] if value is None else [((column, None), _Reading(value, error, f"column {column}"))]


def _at(values: Sequence[Any], index: int) -> Any:
    return values[index] if index < len(values) else None
