"""The columns that were used: what is public about each, how it became coordinates, and which ones were left out and why."""

from dataclasses import dataclass
from typing import Any

from feddp_kmeans._text import finite, number

_LISTED = 12
"""Categories that are listed by name."""
_UNSEEN = "not used: it is constant, or noise hides how far it spreads"
_MISSING = {
    "middle": "missing values count as the middle",
    "indicator": "missing values have a coordinate of their own",
    "other": "missing values count as other",
    "own": "missing values are a category of their own",
}


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the data as the run used it."""

    name: str
    kind: str
    public: str
    """What was known of it in public."""
    treatment: str
    unit: str
    """Length of one unit of distance."""
    used: bool = True


def column_facts(result: dict[str, Any]) -> list[ColumnFacts]:
    """Return the columns that were used, then those that were left out."""
    schema = result.get("schema") or {}
    names = [str(name) for name in result.get("columns") or []]
    units = dict(zip(names, result.get("scale") or [], strict=False))
    fill = dict(zip(names, result.get("fill") or [], strict=False))
    used = [_of_schema(column, units) for column in schema.get("columns") or []] or [_plain(name, units, fill) for name in names]
    left = {str(entry["name"]): str(entry.get("reason", "")) for entry in [*(schema.get("ignored") or []), *(result.get("left_out") or [])]}
    return used + [ColumnFacts(name, "left out", "", reason, "", used=False) for name, reason in left.items()]


def _plain(name: str, units: dict[str, Any], fill: dict[str, Any]) -> ColumnFacts:
    if name in units and units[name] is None:
        return ColumnFacts(name, "number", "none", _UNSEEN, "")
    said = ["divided by its unit" if units else "used as it is"]
    if (middle := finite(fill.get(name))) is not None:
        said.append(f"missing values count as {number(middle)}")
    return ColumnFacts(name, "number", "none", "; ".join(said), _unit(units.get(name)))


def _of_schema(column: dict[str, Any], units: dict[str, Any]) -> ColumnFacts:
    name, kind = str(column.get("name")), str(column.get("kind"))
    usual = "other" if kind == "category" else "middle" if kind in {"boolean", "date"} or column.get("low") is not None else ""
    said = [_scale(column), _MISSING.get(str(column.get("missing", usual)), "")]
    if (weight := finite(column.get("weight"))) not in {None, 1.0}:
        said.append(f"weight {number(weight)}")
    treatment = "; ".join(word for word in said if word) or "as it is"
    if name in units and units[name] is None:
        treatment = _UNSEEN
    return ColumnFacts(name, kind, _public(column), treatment, _unit(units.get(name)))


def _public(column: dict[str, Any]) -> str:
    low, high, words = column.get("low"), column.get("high"), column.get("categories")
    if words:
        more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
        return f"{len(words)} categories: {', '.join(map(str, words[:_LISTED]))}{more}"
    if low is not None and high is not None:
        low, high = (number(end) if finite(end) is not None else str(end) for end in (low, high))
        return f"from {low} to {high}"
    return {"boolean": "yes or no", "date": "dates"}.get(str(column.get("kind")), "none")


def _scale(column: dict[str, Any]) -> str:
    kind = column.get("kind")
    if kind == "category":
        return "one coordinate per category"
    if kind == "date" and column.get("parts"):
        return ", ".join(map(str, column["parts"]))
    if kind in {"boolean", "date"}:
        return ""
    scale = f"{column['scale']} scale" if column.get("scale") not in {None, "linear"} else ""
    inside = "values outside count as the ends" if column.get("low") is not None else ""
    return "; ".join(word for word in (scale, inside) if word)


def _unit(scale: Any) -> str:
    return "" if finite(scale) is None else number(finite(scale))
