"""report.html: one page that loads nothing and says what was asked, what was guaranteed and what came out.

Its words are in page.html, a Jinja template that escapes every value. This module adds the numbers that result.json does not hold.
"""

import math
import sys
from typing import Any

from feddp_kmeans.privacy import meaning
from feddp_kmeans.report import charts
from feddp_kmeans.report.profiles import SHOWN, cluster_traits, size_weights
from feddp_kmeans.report.templates import rendered
from feddp_kmeans.report.text import finite

_UNITS = {"point": "one data point", "client": "all the data of one client"}


def render_page(result: dict[str, Any]) -> str:
    """Return the page for a result; older results may lack fields."""
    counts = [finite(count) for count in result["noisy_counts"]]
    weights = size_weights(counts, len(counts))
    traits = [row[:SHOWN] for row in cluster_traits(result)]
    limits: dict[str, float] = {}
    for trait in (trait for row in traits for trait in row):
        limits[trait.scale] = max(limits.get(trait.scale, 0.0), abs(trait.difference) + 2 * (trait.error or 0.0))
    return rendered(
        "page.html",
        result=result,
        private=is_private(result),
        unit=_UNITS.get(str(result.get("privacy_unit")), str(result.get("privacy_unit"))),
        meaning=meaning,
        sizes=[
            {"count": count, "share": weight / sum(weights), "spread": spread, "spread_error": error}
            for count, weight, spread, error in zip(counts, weights, *_spreads(result), strict=True)
        ],
        quality=quality(result),
        largest=max([0.0] + [count + 2 * (finite(result.get("count_stddev")) or 0.0) for count in counts if count is not None]),
        traits=traits,
        most_traits=SHOWN,
        limits=limits,
        bar=charts.bar,
        elbow_chart=charts.elbow_chart,
        map_chart=charts.map_chart,
        call=_call(result),
    )


def _spreads(result: dict[str, Any]) -> list[list[float | None]]:
    """Return each cluster's spread and its error; None where noise hides it, or the result is of an older version."""
    unknown = [None] * len(result["noisy_counts"])
    return [[finite(value) for value in result.get(name) or unknown] for name in ("spread", "spread_stddev")]


def quality(result: dict[str, Any]) -> dict[str, float] | None:
    """Return how near the points are to their centers, with standard deviations of the noise; None if no closing look was made.

    Explained variance is the part of all squared distances from the overall mean that the clusters take away. The squared distances between
    the centers and their mean are taken from released centers and sizes, as if each center were the mean of its points.
    """
    cost, error, reach = (finite(result.get(name)) for name in ("inertia", "inertia_stddev", "reach"))
    counts = [finite(count) or 0.0 for count in result["noisy_counts"]]
    points = sum(counts)
    if cost is None or error is None or reach is None or points <= 0:
        return None
    weights = size_weights(counts, len(counts))
    middle = [sum(w * x for w, x in zip(weights, column, strict=True)) / sum(weights) for column in zip(*result["centers"], strict=True)]
    between = sum(w * math.dist(center, middle) ** 2 for w, center in zip(weights, result["centers"], strict=True))
    unsure = (finite(result.get("count_stddev")) or 0.0) * math.sqrt(len(counts)) / points
    total = max(cost + between, sys.float_info.min)
    return {
        "cost": cost,
        "error": error,
        "reach": reach,
        "per_point": cost / points,
        "per_point_error": math.hypot(error / points, unsure * cost / points),
        "explained": between / total,
        "explained_error": between / total * min(error / total, 1.0),
    }


def is_private(result: dict[str, Any]) -> bool:
    """Return whether the run's guarantee holds: secret noise, a finite epsilon, and no caveat in place of the guarantee."""
    stated = "NOT PRIVATE" not in str(result.get("guarantee", "")) and not result.get("caveat")
    return bool(result.get("secure")) and finite(result.get("epsilon")) is not None and stated


def _call(result: dict[str, Any]) -> str:
    """Return the Python call that makes this result again, as far as its settings were recorded."""
    epsilon = 'float("inf")' if result["epsilon"] == "inf" else repr(result["epsilon"])
    settings = [f"n_clusters={result['n_clusters']!r}", f"epsilon={epsilon}", f"delta={result['delta']!r}"]
    settings += [f'{key}="{result[key]}"' for key in ("privacy_unit", "method")]
    if result.get("seed") is not None:
        settings.append(f"random_state={result['seed']!r}")
    return f"FedDPKMeans({', '.join(settings)}).fit(clients, server_data=server_points)"
