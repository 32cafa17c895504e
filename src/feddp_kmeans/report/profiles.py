"""What sets a cluster apart: the traits of each center, next to the mean over all clusters and the noise in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from feddp_kmeans.report.text import finite

SHOWN = 6
"""Number of traits shown per cluster."""


@dataclass(frozen=True)
class Trait:
    """One coordinate, or the share of one category, of one cluster."""

    column: str
    category: str | None
    value: float
    error: float | None
    """Standard deviation of the noise in the value; None where it is not known."""
    scale: str
    """Traits of one scale are in the same units and can be drawn on one axis."""
    overall: float = 0.0
    """Mean over all clusters, weighted by their noisy sizes."""

    @property
    def difference(self) -> float:
        """Return how far the cluster lies from the mean over all clusters."""
        return self.value - self.overall

    @property
    def trusted(self) -> bool:
        """Return whether the difference is larger than the noise's standard deviation, or there is no noise."""
        return not self.error or self.error <= abs(self.difference)


_Readings = dict[tuple[str, str | None], Trait]


def cluster_traits(result: dict[str, Any]) -> list[list[Trait]]:
    """Return every cluster's traits, those that set it apart most clearly first: by difference over noise, else by difference."""
    profiles = result.get("profiles") or _plain_profiles(result)
    rows = [{(trait.column, trait.category): trait for item in profile for trait in _readings(item)} for profile in profiles]
    overall = _overall(rows, size_weights(result["noisy_counts"], len(rows)))
    return [_ranked([replace(trait, overall=overall[key]) for key, trait in row.items()]) for row in rows]


def size_weights(counts: Sequence[Any], k: int) -> list[float]:
    """Return each cluster's weight: its noisy size where that is positive; equal weights where no size is known."""
    known = [max(0.0, finite(count) or 0.0) for count in counts]
    return known if len(known) == k and sum(known) > 0 else [1.0] * k


def _ranked(traits: list[Trait]) -> list[Trait]:
    noisy = all(trait.error for trait in traits)
    return sorted(traits, key=lambda t: -abs(t.difference) / (t.error or 1.0) if noisy else -abs(t.difference))


def _overall(rows: list[_Readings], weights: list[float]) -> dict[tuple[str, str | None], float]:
    """Return the weighted mean of every trait over the clusters that have it."""
    means = {}
    for key in {key: None for row in rows for key in row}:
        found = [(weight, row[key].value) for row, weight in zip(rows, weights, strict=True) if key in row]
        mass = sum(weight for weight, _ in found)
        means[key] = sum(weight * value for weight, value in found) / mass if mass > 0 else 0.0
    return means


def _plain_profiles(result: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return profiles of a result of 0.1, which had none: the coordinates of its centers."""
    names: list[str] = []
    for i in range(max(map(len, result["centers"]), default=0)):
        name = str(result["columns"][i]) if i < len(result.get("columns") or []) else f"column {i}"
        names.append(f"{name} ({i})" if name in names else name)
    errors = [*(result.get("center_stddev") or []), *[None] * len(result["centers"])]
    return [
        [{"column": name, "value": value, "error": error, "scale": "center"} for name, value in zip(names, center, strict=False)]
        for center, error in zip(result["centers"], errors, strict=False)
    ]


def _readings(item: dict[str, Any]) -> Iterator[Trait]:
    column, error = str(item["column"]), finite(item.get("error"))
    if item.get("kind") == "category" and item.get("shares"):
        for category, share in item["shares"].items():
            if (value := finite(share)) is not None:
                yield Trait(column, str(category), value, error, "share")
    elif (value := finite(item.get("value"))) is not None:
        yield Trait(column, None, value, error, item.get("scale", f"column {column}"))
