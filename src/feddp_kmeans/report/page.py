"""report.html: one page that loads nothing. It leads with the answer; the guarantee, with every term explained, comes after.

Its words are in page.html and the templates that it includes, which escape every value. This module adds what result.json does not hold.
"""

import math
import sys
from typing import Any

from feddp_kmeans import _text as text
from feddp_kmeans._text import finite
from feddp_kmeans.privacy import meaning
from feddp_kmeans.report import charts
from feddp_kmeans.report.changes import change_lines
from feddp_kmeans.report.column_facts import column_facts
from feddp_kmeans.report.profiles import SHOWN, cluster_traits, size_weights, telling
from feddp_kmeans.report.taking_part import taking_part
from feddp_kmeans.report.templates import rendered
from feddp_kmeans.report.value_table import MOST_ROWS, PER_TABLE, value_table
from feddp_kmeans.report.wording import in_one_line

_UNITS = {"point": "one data point", "client": "all the data of one client"}
_SPARED = "planned and paid for, but not made"
_COLUMNS = "columns"
"""Name of the release in which the columns' units are found privately."""
_MOST_FACTS = 200
"""Columns listed one by one."""


def render_page(result: dict[str, Any], about: dict[str, Any] | None = None) -> str:
    """Return the page for a result; older results may lack fields. ``about`` is what was released afterwards (``about.read_about``)."""
    traits = cluster_traits(result)
    shown = [telling(row)[:SHOWN] for row in traits]
    limits: dict[str, float] = {}
    for trait in (trait for row in shown for trait in row):
        limits[trait.scale] = max(limits.get(trait.scale, 0.0), abs(trait.difference) + 2 * (trait.error or 0.0))
    attacker, is_finer = _attacker(result)
    stddev = finite(result.get("count_stddev"))
    sizes = _sizes(result, stddev, [in_one_line(row) for row in traits])
    return rendered(
        "page.html",
        result=result | {"remarks": [remark for remark in result.get("remarks") or [] if not str(remark).startswith(_SPARED)]},
        change_lines=change_lines(result),
        about=about or {},
        notes=[note for note in result.get("notes") or [] if not str(note).startswith(_SPARED)],
        not_made=", ".join(f"{name} x {times}" for name, times in (result.get("not_made") or {}).items()),
        private=is_private(result),
        unit=_UNITS.get(str(result.get("privacy_unit")), str(result.get("privacy_unit"))),
        clients=int(finite(((result.get("plan") or {}).get("facts") or {}).get("n_clients")) or 0),
        spent=_latest([result.get("spent"), *(part["spent"] for part in (about or {}).values())]),
        sites=taking_part(result),
        attacker=attacker,
        attacker_is_finer=is_finer,
        meaning=meaning,
        **_points(result, stddev),
        sizes=sizes,
        empty_sizes=[index for index, size in enumerate(sizes) if size["count"] is not None and size["count"] <= 0 and stddev],
        quality=quality(result),
        largest=max([0.0] + [size["count"] + 2 * (stddev or 0.0) for size in sizes if size["count"] is not None]),
        traits=shown,
        most_traits=SHOWN,
        limits=limits,
        values=value_table(traits),
        most_rows=MOST_ROWS,
        per_table=PER_TABLE,
        facts=column_facts(result),
        most_facts=_MOST_FACTS,
        scale_is_private=any(row.get("release") == _COLUMNS for row in result["ledger"]),
        bar=charts.bar,
        elbow_chart=charts.elbow_chart,
        map_chart=charts.map_chart,
        call=_call(result),
    )


def _latest(spent: list[Any]) -> dict[str, Any] | None:
    """Return what was spent by the latest of these times: that with the most runs."""
    known = [one for one in spent if isinstance(one, dict) and finite(one.get("runs")) is not None]
    return max(known, key=lambda one: one["runs"], default=None)


def _attacker(result: dict[str, Any]) -> tuple[float, bool]:
    """Return how often an attacker can be right at most, and whether that follows from the noise itself, which says more than epsilon.

    Of the whole plan: that a release was not made follows from others, so it takes nothing off the guarantee.
    """
    epsilon = finite(result.get("epsilon"))
    if epsilon is None:
        return 1.0, False
    bound = meaning.attack_accuracy(epsilon, finite(result.get("delta")) or 0.0)
    finer = meaning.ledger_accuracy((result.get("plan") or {}).get("releases", result["ledger"]))
    return (bound, False) if finer is None or finer >= bound else (finer, True)


def _points(result: dict[str, Any], stddev: float | None) -> dict[str, str]:
    """Return the noisy number of points in words and as a figure, and what it counts."""
    clients_counted = result.get("method") == "paper" and result.get("privacy_unit") == "client"
    word = "client sizes" if clients_counted else "data points"
    known = [finite(count) for count in result["noisy_counts"]]
    if any(count is None for count in known) or clients_counted:
        return {"about_points": f"an unknown number of {word}", "tile_points": text.UNKNOWN, "points_word": word}
    total = max(0.0, sum(count for count in known if count is not None))
    error = (stddev or 0.0) * math.sqrt(len(known))
    if total < 2 * error:
        most = text.rounded(total + 2 * error, max(error, 0.5))
        return {"about_points": f"at most {most} {word}", "tile_points": f"≤ {most}", "points_word": word}
    shown = text.rounded(total, max(error, 0.5)) if stddev else text.whole(total)
    return {
        "about_points": f"about {shown} {word}" if stddev else f"{shown} {word}",
        "tile_points": f"≈ {shown}" if stddev else shown,
        "points_word": f"{word}, ± {text.rounded(2 * error, max(error, 0.5))}" if stddev else word,
    }


def _sizes(result: dict[str, Any], stddev: float | None, lines: list[str]) -> list[dict[str, Any]]:
    counts = [finite(count) for count in result["noisy_counts"]]
    weights = size_weights(counts, len(counts))
    return [
        {
            "count": count,
            "said": text.size(count, stddev),
            "may_be_empty": count is not None and bool(stddev) and count < 2 * (stddev or 0.0),
            "share": weight / sum(weights),
            "spread": spread,
            "spread_error": error,
            "line": line if len(counts) > 1 else "all points",
        }
        for count, weight, line, spread, error in zip(counts, weights, lines, *_spreads(result), strict=True)
    ]


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
    units = [finite(unit) or 1.0 for unit in result.get("scale") or [1.0] * len(result["centers"][0])]
    centers = [[x / unit for x, unit in zip(center, units, strict=True)] for center in result["centers"]]
    middle = [sum(w * x for w, x in zip(weights, column, strict=True)) / sum(weights) for column in zip(*centers, strict=True)]
    between = sum(w * math.dist(center, middle) ** 2 for w, center in zip(weights, centers, strict=True))
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
