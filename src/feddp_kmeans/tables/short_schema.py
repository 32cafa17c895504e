"""The short form of a schema, for people: one table of rules per column, in TOML, JSON or Python, and as options of a command."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Any

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.boolean_columns import NO, YES, BooleanColumn
from feddp_kmeans.tables.cells import listed
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.date_columns import DateColumn
from feddp_kmeans.tables.dates import day_of
from feddp_kmeans.tables.number_scales import LINEAR, QUANTILE

ASKED = "asked for"
_KEYS = {
    "range": {"scale", "unit", "weight", "missing"},
    "knots": {"scale", "weight", "missing"},
    "number": set(),
    "categories": {"weight", "missing"},
    "boolean": {"weight", "missing"},
    "date": {"parts", "order", "weight", "missing"},
    "ignore": set(),
}
"""The key that says what a column holds, and the keys that may stand beside it."""
_RULES = {
    "range": "two numbers",
    "date": "two dates, or true",
    "boolean": "true, or the words for yes and for no",
    "number": "true",
    "ignore": "true, or the reason",
}
_OWN = "own"
_WHOLE = 1e15
"""Whole numbers below this are written without a decimal point."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def columns_of(given: Any) -> tuple[tuple[Column, ...], tuple[tuple[str, str], ...]]:
    """Return the columns that a mapping of names to rules states, and those that it ignores, with the reasons."""
    if not isinstance(given, Mapping):
        raise InputError(f"columns of a schema must be a table of rules per column, got {given!r:.80}.")
    made = [(name, _column(name, rules)) for name, rules in given.items()]
    ignored = tuple((str(name), column) for name, column in made if isinstance(column, str))
    return tuple(column for _, column in made if isinstance(column, Column)), ignored


def rules_of(column: Column) -> dict[str, Any]:
    """Return the rules of a column in the short form."""
    made = column.to_dict()
    kept: dict[str, Any] = {key: made[key] for key in ("scale", "unit", "order", "weight") if key in made}
    if made.get("missing") is not None:
        kept["missing"] = _OWN
    if isinstance(column, NumberColumn):
        return {"knots": list(column.knots)} | kept if column.knots else {"range": [column.low, column.high]} | kept
    if isinstance(column, CategoryColumn):
        return {"categories": list(column.categories)} | kept
    if isinstance(column, BooleanColumn):
        return {"boolean": True if (column.yes, column.no) == (YES, NO) else [list(column.yes), list(column.no)]} | kept
    if isinstance(column, DateColumn):
        return {"date": [column.low, column.high] if column.low else True, "parts": list(column.parts)} | kept
    return {"number": True}


def toml_text(columns: Collection[Column], ignored: Collection[tuple[str, str]]) -> str:
    """Return a schema in the short form as TOML."""
    tables = [(column.name, rules_of(column)) for column in columns] + [
        (name, {"ignore": reason if reason != ASKED else True}) for name, reason in ignored
    ]
    return "\n".join(
        f"[columns.{_key(name)}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in rules.items()) for name, rules in tables
    )


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    """Return a value as TOML: its words, numbers and lists are written as in JSON."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        value = int(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def column_of_range(name: str, ends: Any) -> Column:
    """Return the column of a range: two numbers and perhaps a scale, or two dates."""
    parts = _dates_as_text(ends)
    if _are_days(parts):
        return DateColumn(name, parts[0], parts[1])
    if not 2 <= len(parts) <= 3:
        raise InputError(f"range of column {name!r:.80} must be two numbers or two dates, and perhaps a scale, got {ends!r:.80}.")
    return NumberColumn(name, parts[0], parts[1], scale=parts[2] if len(parts) == 3 else LINEAR)


def _dates_as_text(ends: Any) -> list[Any]:
    return [part.isoformat() if isinstance(part, date) else part for part in ends] if isinstance(ends, list | tuple) else []


def _are_days(parts: Sequence[Any]) -> bool:
    return len(parts) == 2 and all(isinstance(part, str) and day_of(part) is not None for part in parts)


def columns_of_options(ranges: Sequence[str], categories: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns that options state: NAME=LOW:HIGH, perhaps with :log, and NAME=WORD,WORD."""
    made: list[Column] = []
    for text in ranges:
        name, _, ends = text.rpartition("=")
        parts = ends.split(":")
        if not name or len(parts) not in {2, 3}:
            raise InputError(
                f"--range must be NAME=LOW:HIGH, such as age=0:120, income=0:1e6:log or joined=2015-01-01:2026-12-31, got {text!r:.80}."
            )
        made.append(column_of_range(name, [_number(part) for part in parts]))
    for text in categories:
        name, _, words = text.partition("=")
        if not name or not words:
            raise InputError(f"--categories must be NAME=WORD,WORD, such as sex=female,male, got {text!r:.80}.")
        made.append(CategoryColumn(name, tuple(word.strip() for word in words.split(","))))
    return tuple(made)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip()


def _column(name: Any, rules: Any) -> Column | str:
    """Return a column, or the reason why it is ignored."""
    what = f"column {name!r:.80}"
    if not isinstance(rules, Mapping):
        raise InputError(f"{what} of a schema must have rules, such as range = [0, 120], got {rules!r:.80}.")
    stated = [key for key in rules if key in _KEYS]
    if len(stated) != 1:
        near = hint([key for key in rules if key not in _KEYS], [*_KEYS]) if not stated else "."
        got = listed([*map(str, rules)]) if rules else "none"
        raise InputError(f"{what} must have one of the keys {', '.join(_KEYS)}, got {got}{near}")
    said = stated[0]
    key = "date" if said == "range" and _are_days(_dates_as_text(rules[said])) else said
    if strange := [other for other in rules if other != said and other not in _KEYS[key]]:
        known = ", ".join(sorted(_KEYS[key])) or "no others"
        raise InputError(f"{what} must have, besides {key}, the keys {known}, got {strange[0]!r:.80}{hint(strange, [*_KEYS[key]])}")
    value, more = rules[said], {other: rules[other] for other in rules if other != said}
    if more.get("missing") == _OWN and key != "categories":
        more["missing"] = "indicator"
    return _made(key, name, value, more)


def _made(key: str, name: str, value: Any, more: dict[str, Any]) -> Column | str:
    made: Column | None = None
    if key == "ignore" and (value is True or (isinstance(value, str) and value)):
        return ASKED if value is True else str(value)
    if key in {"number", "boolean", "date"} and value is True:
        made = {"number": OpenColumn, "boolean": BooleanColumn, "date": DateColumn}[key](name, **more)
    elif key == "knots":
        made = NumberColumn(name, knots=value, **({"scale": QUANTILE} | more))
    elif key == "categories":
        made = CategoryColumn(name, value, **more)
    elif isinstance(value, list | tuple) and len(value) == 2:
        made = _of_two(key, name, _dates_as_text(value), more)
    if made is None:
        raise InputError(f"{key} of column {name!r:.80} must be {_RULES[key]}, got {value!r:.80}.")
    return made


def _of_two(key: str, name: str, pair: list[Any], more: dict[str, Any]) -> Column | None:
    if key == "boolean":
        yes, no = ((side,) if isinstance(side, str) else side for side in pair)
        return BooleanColumn(name, yes, no, **more)
    kinds: dict[str, type[Column]] = {"range": NumberColumn, "date": DateColumn}
    return kinds[key](name, *pair, **more) if key in kinds else None  # type: ignore[call-arg]


def hint(words: Sequence[Any], known: Sequence[str]) -> str:
    """Return the end of a message about unknown words: a near miss among those known, if there is one."""
    near = [match for word in words for match in get_close_matches(str(word), known, 1, 0.6)]
    return f": did you mean {near[0]}?" if near else "."
