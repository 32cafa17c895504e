"""The full table: every column by every cluster, each value with its error, and a small picture of where the clusters lie."""

from collections.abc import Iterator
from dataclasses import dataclass

from feddp_kmeans._text import number, percent
from feddp_kmeans.report.charts import strip
from feddp_kmeans.report.profiles import NO_CATEGORY, Trait

PER_TABLE = 6
"""Clusters side by side in one table: more do not fit a printed page."""
MOST_ROWS = 120
"""Rows of the table; of more, those that set clusters apart most are shown."""

_Rows = list[dict[tuple[str, str | None], Trait]]


@dataclass(frozen=True)
class ValueRow:
    """One number, or the share of one category, in all clusters."""

    column: str
    category: str | None
    cells: list[Trait | None]
    overall: str
    picture: str
    meaning: str
    """What the values are, where they are not means."""
    hidden: bool
    """Whether no cluster differs from all by more than its noise."""


@dataclass(frozen=True)
class ValueTable:
    """All columns, and how many of their rows were left out because there are too many."""

    groups: list[list[ValueRow]]
    """Rows of one column together."""
    left_out: int


def value_table(traits: _Rows) -> ValueTable:
    """Return the table of all traits in the order of the columns."""
    keys = [key for key in {key: None for row in traits for key in row} if not _is_nothing(key, traits)]
    shown = set(keys)
    if len(keys) > MOST_ROWS:
        strength = {key: max(row[key].strength for row in traits if key in row) for key in keys}
        shown = set(sorted(keys, key=lambda key: -strength[key])[:MOST_ROWS])
    groups: dict[str, list[ValueRow]] = {}
    for key in keys:
        if key in shown:
            groups.setdefault(key[0], []).append(_row(key, traits))
    return ValueTable(list(groups.values()), len(keys) - len(shown))


def _is_nothing(key: tuple[str, str | None], traits: _Rows) -> bool:
    """Return whether no cluster has any values of this kind, other or missing, beyond its noise."""
    return key[1] in NO_CATEGORY and all(row[key].value <= 2 * (row[key].error or 0.0) for row in traits if key in row)


def _row(key: tuple[str, str | None], traits: _Rows) -> ValueRow:
    cells = [row.get(key) for row in traits]
    known = [trait for trait in cells if trait is not None and trait.kind != "text"]
    hidden = len(traits) > 1 and bool(known) and all(trait.error and not trait.trusted for trait in known)
    meaning = next((trait.meaning for trait in cells if trait is not None), "")
    return ValueRow(*key, cells, known[0].at(known[0].overall) if known else "", _picture(cells), meaning, hidden)


def _picture(cells: list[Trait | None]) -> str:
    known = {index: trait for index, trait in enumerate(cells) if trait is not None and trait.kind != "text"}
    if len(known) < 2:
        return ""
    low, high, words = _axis(list(known.values()))
    marks = [(index, trait.value, trait.error) for index, trait in known.items()]
    return strip(marks, next(iter(known.values())).overall, low, high, words)


def _axis(known: list[Trait]) -> tuple[float, float, str]:
    """Return the ends of the picture's axis, and what it shows in words."""
    low, high = (edge(trait.value for trait in known) for edge in (min, max))
    if known[0].kind == "share":
        return 0.0, 1.0, f"from {percent(low)} to {percent(high)}"
    errors = list(_reach(known))
    pad = 0.05 * (high - low) or abs(high) or 1.0
    words = f"from {known[0].at(low)} to {known[0].at(high)}" if known[0].kind == "date" else f"from {number(low)} to {number(high)}"
    return min([low, *(at[0] for at in errors)]) - pad, max([high, *(at[1] for at in errors)]) + pad, words


def _reach(known: list[Trait]) -> Iterator[tuple[float, float]]:
    """Yield the ends of the error lines, as far as they are not longer than the differences: longer ones are cut off."""
    span = max(trait.value for trait in known) - min(trait.value for trait in known)
    for trait in known:
        error = min(2 * (trait.error or 0.0), span or 2 * (trait.error or 0.0))
        yield trait.value - error, trait.value + error
