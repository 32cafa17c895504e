"""report.html: one page that loads nothing and says what was asked, what was guaranteed and what came out.

Its words are in page.html, a Jinja template that escapes every value. This module adds the numbers that result.json does not hold.
"""

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
        sizes=[{"count": count, "share": weight / sum(weights)} for count, weight in zip(counts, weights, strict=True)],
        largest=max([0.0] + [count + 2 * (finite(result.get("count_stddev")) or 0.0) for count in counts if count is not None]),
        traits=traits,
        most_traits=SHOWN,
        limits=limits,
        bar=charts.bar,
        elbow_chart=charts.elbow_chart,
        map_chart=charts.map_chart,
        call=_call(result),
    )


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
