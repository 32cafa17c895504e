"""What changed since an earlier run: which clusters grew, shrank, moved, or are new, each with its error. Post-processing only.

A change is stated if the noise of both runs, and the sampling of people where they are others, would show one as large by chance in one of
a thousand comparisons of two runs, over all clusters and columns together.
"""

import math
from statistics import NormalDist
from typing import Any

from feddp_kmeans._text import finite
from feddp_kmeans.report.profiles import Trait, cluster_traits, size_weights

_CHANCE = 1e-3
"""Chance that any change at all is stated where nothing changed."""
_UNEVEN = 2.0
"""Standard deviation of one column within a cluster, relative to that of a column of usual spread."""
_LISTED = 4
"""Columns that a line names."""
_FAR = 0.5
"""Part of the distance to the nearest other cluster from which on a moved center is another cluster."""


def changes_since(before: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Return what changed from one result to a later one that went on from it, so that clusters have kept their numbers."""
    old, new = cluster_traits(before), cluster_traits(result)
    keys = [[key for key in now if key in then and _is_told(now[key]) and _is_told(then[key])] for then, now in zip(old, new, strict=True)]
    level = _level(sum(map(len, keys)))
    shares = [_shares(one) for one in (before, result)]
    clusters = []
    for row, (then, now) in enumerate(zip(old, new, strict=True)):
        sampled = math.hypot(_sampling(before, row), _sampling(result, row))
        moved = [told for key in keys[row] if (told := _moved(then[key], now[key], sampled, level))]
        share, error = _difference(shares, row)
        is_new = bool(moved) and _distance(before, row, result["centers"][row]) > _FAR * _nearest(before, row)
        grew = error > 0 and abs(share) > _level(len(new)) * error
        clusters.append(
            {
                "state": "new" if is_new else "moved" if moved else "same",
                "size": ("grew" if share > 0 else "shrank") if grew else "same",
                "share_before": shares[0][row][0],
                "share": shares[1][row][0],
                "share_error": error,
                "moved": moved,
            }
        )
    return {"since": before.get("written"), "clusters": clusters}


def change_lines(result: dict[str, Any]) -> list[str]:
    """Return what changed, in one line for each cluster of which there is something to say."""
    told = (result.get("changes") or {}).get("clusters") or []
    return [line for row, cluster in enumerate(told) if (line := _line(row, cluster))]


def _line(row: int, cluster: dict[str, Any]) -> str:
    parts = []
    if cluster["state"] == "new":
        parts.append("is new: the earlier cluster of this number is gone")
    elif cluster["moved"]:
        listed = [f"{_named(one)} from {one['before']} to {one['now']}" for one in cluster["moved"]]
        parts.append(f"moved: {', '.join(listed[:_LISTED])}{' and more' * (len(listed) > _LISTED)}")
    if cluster["size"] != "same":
        parts.append(f"{cluster['size']} from {cluster['share_before']:.1%} to {cluster['share']:.1%} of all")
    return f"cluster {row} {'; '.join(parts)}" if parts else ""


def _named(one: dict[str, Any]) -> str:
    return str(one["column"]) if one["category"] is None else f"{one['column']} = {one['category']}"


def _level(comparisons: int) -> float:
    """Return the standard deviations that hardly any of so many comparisons exceeds."""
    return NormalDist().inv_cdf(1 - _CHANCE / 2 / max(comparisons, 1))


def _is_told(trait: Trait) -> bool:
    return trait.kind in {"number", "share", "date"} and trait.error is not None and trait.weight > 0


def _moved(then: Trait, now: Trait, sampled: float, level: float) -> dict[str, Any] | None:
    """Return the change of a trait if it is clear; ``sampled`` is the error of a usual column's mean that the choice of people makes."""
    by_chance = sampled / now.weight
    if now.kind == "share":  # of a share it is known better, but not beyond that
        by_chance = min(by_chance, sampled)
    error = math.hypot(then.error or 0.0, now.error or 0.0, by_chance)
    difference = now.value - then.value
    if error == 0 or abs(difference) <= level * error:
        return None
    return {
        "column": now.column,
        "category": now.category,
        "before": then.at(then.value),
        "now": now.at(now.value),
        "difference": difference,
        "error": error,
    }


def _effective(result: dict[str, Any]) -> float:
    """Return of how many independent draws the points are: points, or clients where a unit is a client."""
    points = max(sum(finite(count) or 0.0 for count in result["noisy_counts"]), 1.0)
    if result["privacy_unit"] == "client":
        return min(points, finite(((result.get("plan") or {}).get("facts") or {}).get("n_clients")) or points)
    return points


def _sampling(result: dict[str, Any], row: int) -> float:
    """Return the error of the mean of a usual coordinate that comes from which people there are, in the distances of the clustering."""
    weights = size_weights(result["noisy_counts"], len(result["centers"]))
    members = max(weights[row] / sum(weights) * _effective(result), 1.0)
    spread = finite((result.get("spread") or [None] * len(weights))[row])
    if spread is None:
        cost, points = finite(result.get("inertia")), sum(weights)
        spread = min(math.sqrt(max(cost or 0.0, 0.0) / max(points, 1.0)), finite(result.get("reach")) or math.inf)
    return _UNEVEN * spread / math.sqrt(len(result["centers"][0])) / math.sqrt(members)


def _shares(result: dict[str, Any]) -> list[tuple[float, float]]:
    """Return the share of each cluster and its error: noise, and which people there are."""
    weights = size_weights(result["noisy_counts"], len(result["centers"]))
    total, noise = sum(weights), finite(result.get("count_stddev")) or 0.0
    people = _effective(result)
    shares = [weight / total for weight in weights]
    return [(p, math.hypot(noise / total * math.sqrt(1 + len(shares) * p**2), math.sqrt(p * (1 - p) / people))) for p in shares]


def _difference(shares: list[list[tuple[float, float]]], row: int) -> tuple[float, float]:
    (then, error_then), (now, error_now) = (both[row] for both in shares)
    return now - then, math.hypot(error_then, error_now)


def _distance(result: dict[str, Any], row: int, center: list[float]) -> float:
    """Return how far a center lies from this cluster's, as the clustering takes distances."""
    units = [finite(unit) for unit in result.get("scale") or [1.0] * len(center)]
    there = result["centers"][row]
    return math.hypot(*((x - y) / unit for x, y, unit in zip(center, there, units, strict=True) if unit))


def _nearest(result: dict[str, Any], row: int) -> float:
    """Return how far the nearest other cluster is; endless if there is none."""
    others = [index for index in range(len(result["centers"])) if index != row]
    return min((_distance(result, index, result["centers"][row]) for index in others), default=math.inf)
