"""What sets a cluster apart: the traits of each center, next to the mean over all clusters and the noise in it."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from feddp_kmeans._text import finite, rounded, share, uncertain

SHOWN = 4
"""Number of traits shown per cluster."""
_SURE = 2.0
"""Standard deviations of the noise beyond which a difference is put into words."""
_SHARE_LENGTH = 0.5**0.5
"""Distance of a share of one from a share of zero, where the coordinate of a category is not known."""


@dataclass(frozen=True)
class Trait:
    """One coordinate, the share of one category, or the mean date of one cluster."""

    column: str
    category: str | None
    value: float
    error: float | None
    """Standard deviation of the noise in the value; None where it is not known."""
    scale: str
    """Traits of one scale are in the same units and can be drawn on one axis."""
    kind: str = "number"
    """number, share, date (the value is a day) or text (the value is only words)."""
    unit: str = ""
    """Unit of the error of a date."""
    words: str = ""
    """The value of a text."""
    meaning: str = ""
    """What the value is, where it is not a mean."""
    overall: float = 0.0
    """Mean over all clusters, weighted by their noisy sizes."""
    weight: float = 1.0
    """Distance, as the clustering takes it, that a difference of one makes."""

    @property
    def name(self) -> str:
        """Return the column, with the category if there is one."""
        return self.column if self.category is None else f"{self.column} = {self.category}"

    @property
    def difference(self) -> float:
        """Return how far the cluster lies from the mean over all clusters."""
        return self.value - self.overall

    @property
    def trusted(self) -> bool:
        """Return whether the difference is larger than the noise's standard deviation, or there is no noise."""
        return not self.error or self.error <= abs(self.difference)

    @property
    def sure(self) -> bool:
        """Return whether the difference is more than two standard deviations of the noise."""
        return self.kind != "text" and self.weight > 0 and abs(self.difference) > _SURE * (self.error or 0.0)

    @property
    def strength(self) -> float:
        """Return how much the difference matters to the clustering, less what noise explains of it."""
        if self.kind == "text" or self.difference == 0:
            return 0.0
        return self.weight * abs(self.difference) * max(0.0, 1 - ((self.error or 0.0) / self.difference) ** 2)

    @property
    def said(self) -> str:
        """Return the value and its error as text."""
        if self.kind == "share":
            return share(self.value, self.error)
        if self.kind in {"date", "text"}:
            words = self.words or self.at(self.value)
            return f"{words} ± {rounded(2 * self.error, self.error)} {self.unit}".rstrip() if self.error else words
        return uncertain(self.value, self.error)

    def at(self, value: float) -> str:
        """Return another value of the same kind as text, with the digits that noise leaves."""
        if self.kind == "share":
            return f"{100 * value:.0f} %"
        if self.kind == "date":
            return dt.date.fromordinal(max(1, round(value))).isoformat()
        return "" if self.kind == "text" else rounded(value, self.error)

    def roughly(self, value: float) -> str:
        """Return a value with as many digits as show the difference from all."""
        return rounded(value, max(abs(self.difference) / 6, self.error or 0.0)) if self.kind == "number" else self.at(value)


NO_CATEGORY = frozenset({"(other)", "(missing)"})
"""Categories that stand for no word of the data."""
_Key = tuple[str, str | None]


def cluster_traits(result: dict[str, Any]) -> list[dict[_Key, Trait]]:
    """Return every cluster's traits in the order of the columns."""
    profiles = result.get("profiles") or _plain_profiles(result)
    rows = [{(trait.column, trait.category): trait for item in profile for trait in _readings(item)} for profile in profiles]
    weights = size_weights(result["noisy_counts"], len(rows))
    lengths = _lengths(result, rows)
    overall = {key: _mean([(w, row[key].value) for row, w in zip(rows, weights, strict=True) if key in row]) for key in lengths}
    return [{key: replace(trait, overall=overall[key], weight=trait.weight * lengths[key]) for key, trait in row.items()} for row in rows]


def strongest(traits: dict[_Key, Trait]) -> list[Trait]:
    """Return the traits of one cluster, those that matter most first; of several categories of one column, all are there."""
    return sorted(
        (t for t in traits.values() if t.kind != "text" and t.weight > 0), key=lambda t: (-t.strength, -t.weight * abs(t.difference))
    )


def telling(traits: dict[_Key, Trait]) -> list[Trait]:
    """Return the traits that tell a cluster best: of a column with two categories, only the one that there is more of."""
    words: dict[str, set[str]] = {}
    for trait in traits.values():
        words.setdefault(trait.column, set()).update({trait.category or ""} - NO_CATEGORY)
    return [t for t in strongest(traits) if len(words[t.column]) != 2 or (t.category in words[t.column] and t.difference > 0)]


def size_weights(counts: Sequence[Any], k: int) -> list[float]:
    """Return each cluster's weight: its noisy size where that is positive; equal weights where no size is known."""
    known = [max(0.0, finite(count) or 0.0) for count in counts]
    return known if len(known) == k and sum(known) > 0 else [1.0] * k


def _mean(pairs: list[tuple[float, float]]) -> float:
    mass = sum(weight for weight, _ in pairs)
    return sum(weight * value for weight, value in pairs) / mass if mass > 0 else 0.0


def _lengths(result: dict[str, Any], rows: list[dict[_Key, Trait]]) -> dict[_Key, float]:
    """Return, for each trait, the distance that a difference of one makes: from the coordinates of the centers, which have distances.

    It is the range of a trait's coordinate over the centers, in units of the columns' scale, over the range of its values.
    """
    places = {str(name): index for index, name in enumerate(result.get("columns") or [])}
    scale = result.get("scale") or []
    found = {}
    for key in {key: None for row in rows for key in row}:
        values = [row[key].value for row in rows if key in row]
        span = max(values) - min(values)
        place = next((places[name] for name in (f"{key[0].removesuffix(' (weekday)')}={key[1]}", key[0]) if name in places), None)
        usual = _SHARE_LENGTH if key[1] is not None else 1.0
        if place is None or span == 0 or any(place >= len(center) for center in result["centers"]):
            found[key] = usual
            continue
        coordinates = [finite(center[place]) or 0.0 for center in result["centers"]]
        unit = (finite(scale[place]) if place < len(scale) else None) or 1.0
        found[key] = (max(coordinates) - min(coordinates)) / unit / span
    return found


def _plain_profiles(result: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return profiles of a result of 0.1, which had none: the coordinates of its centers."""
    names: list[str] = []
    for i in range(max(map(len, result["centers"]), default=0)):
        name = str(result["columns"][i]) if i < len(result.get("columns") or []) else f"column {i}"
        names.append(f"{name} ({i})" if name in names else name)
    axes = result.get("axis_stddev") or []
    whole = [*(result.get("center_stddev") or []), *[None] * len(result["centers"])]
    return [
        [
            {"column": name, "value": value, "error": axes[row][i] if row < len(axes) else whole[row], "scale": "center"}
            for i, (name, value) in enumerate(zip(names, center, strict=False))
        ]
        for row, center in enumerate(result["centers"])
    ]


def _readings(item: dict[str, Any]) -> Iterator[Trait]:
    column, error, kind = str(item["column"]), finite(item.get("error")), item.get("kind")
    if kind == "category" and item.get("shares"):
        for category, part in item["shares"].items():
            if (value := finite(part)) is not None:
                yield Trait(column, str(category), value, error, "share", "share")
        return
    unit, meaning = (str(item.get(name) or "") for name in ("unit", "meaning"))
    if isinstance(item.get("value"), str):
        day = _day(item["value"])
        kind = "text" if day is None else "date"
        yield Trait(column, None, day or 0.0, error, f"column {column}", kind, unit, item["value"], meaning)
    elif (value := finite(item.get("value"))) is not None:
        yield Trait(column, None, value, error, str(item.get("scale", f"column {column}")), unit=unit, meaning=meaning)
    for category, part in (item.get("shares") or {}).items():  # missing values of a number or date: their share has no error of its own
        if (value := finite(part)) is not None:
            yield Trait(column, str(category), value, None, "share", "share", weight=0.0)


def _day(words: str) -> float | None:
    try:
        return float(dt.date.fromisoformat(words).toordinal())
    except ValueError:
        return None
