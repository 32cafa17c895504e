"""A schema learnt from the public server data. It never sees a client: a range or a list of categories read off clients would leak."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import (
    as_numbers,
    as_text,
    check_distinct,
    count_words,
    decimal_of,
    is_missing,
    is_numeric,
    is_readable,
    is_text,
    listed,
)
from feddp_kmeans.tables.columns import CategoryColumn, Column, NumberColumn
from feddp_kmeans.tables.formats import CSV, check_file, named_errors, read_schema, read_tables
from feddp_kmeans.tables.schema import Schema, as_arrow

MANY = 50
"""Distinct words from which a text column is taken for free text or an id."""
FEW_ROWS = 20
"""Rows below which nothing is said about ids."""
_ID = re.compile(r"(^|[_\s-])(id|uuid|guid)$|[a-z]I[dD]$", re.IGNORECASE)


def read_raw(path: Path) -> pa.Table:
    """Return a whole table as it stands in its file; cells of a CSV are text. For server data, which is small and public."""
    check_file(path)
    with named_errors(path):
        schema = read_schema(path)
        parts = list(read_tables(path, schema.names, 1 << 16))
        return pa.concat_tables(parts) if parts else schema.empty_table()


def needs_schema(path: Path, ignore: Collection[str] = ()) -> bool:
    """Return whether a public table has a column, besides those ignored, that is not numeric: cells of a CSV are all looked at."""
    check_file(path)
    if path.suffix.lower() in CSV:
        table = read_raw(path)
        return any(count_words(table[name], decimal_of(table))[0] for name in table.column_names if name not in ignore)
    with named_errors(path):
        return any(not is_numeric(field.type) for field in read_schema(path) if field.name not in ignore)


def learn_schema(server: Any, *, ignore: Collection[str] = (), categories: Collection[str] = (), numbers: Collection[str] = ()) -> Schema:
    """Return the schema of public server data: ranges and categories as they are in it.

    ``server`` is the path of a table or a data frame. Kinds are as they look, unless a column is named in ``categories`` or ``numbers``.
    """
    source, untyped = (server.name, server.suffix.lower() in CSV) if isinstance(server, Path) else ("the server data", False)
    table = read_raw(server) if isinstance(server, Path) else as_arrow(server)
    _check_names(table.column_names, (*ignore, *categories, *numbers), ignore, source)
    decimal = decimal_of(table)
    fields: list[Column] = []
    ignored = [(name, "asked for") for name in ignore]
    for name in table.column_names:
        if name in ignore:
            continue
        forced = "category" if name in categories else "number" if name in numbers else None
        made = _learn(table[name], name, source, decimal, forced, untyped=untyped)
        if made is None:
            ignored.append((name, "fewer than two values in the server data"))
        else:
            fields.append(made)
    if not fields:
        raise InputError(f"{source} must have a column with at least two values, got none.")
    return Schema(tuple(fields), tuple(ignored))


def _check_names(names: list[str], asked: Collection[str], ignore: Collection[str], source: str) -> None:
    for name in asked:
        if name not in names:
            raise InputError(f"column {name!r} must be in {source}, which has {listed(names)}.")
    check_distinct(names, source)
    if "" in names and "" not in ignore:
        raise InputError(f"columns of {source} must have names, got column {names.index('')} without one: drop it with --ignore ''.")


def _learn(column: Any, name: str, source: str, decimal: str, forced: str | None, *, untyped: bool) -> Column | None:
    if not is_readable(column.type):
        raise InputError(
            f"column {name!r} of {source} must hold numbers or categories, got {column.type}: drop it with --ignore, or make it a number."
        )
    text = as_text(column)
    absent = is_missing(text).to_numpy(zero_copy_only=False)
    values = as_numbers(column, decimal)
    looks_like_number = not is_text(column.type) or (untyped and not (np.isnan(values) & ~absent).any())
    if forced == "number" or (forced is None and looks_like_number):
        return _learn_number(values, name, source, forced=forced is not None)
    return _learn_category(text, absent, name, source, forced=forced is not None)


def _learn_number(values: Any, name: str, source: str, *, forced: bool) -> Column | None:
    present = values[np.isfinite(values)]
    if len(present) == 0 or present.min() == present.max():
        return None
    low, high = float(present.min()), float(present.max())
    whole = bool((present == np.floor(present)).all())
    distinct = len(np.unique(present)) == len(present) >= FEW_ROWS
    if not forced and whole and distinct and (_ID.search(name) or high - low == len(present) - 1):
        raise InputError(
            f"column {name!r} of {source} must say something about a row, got {len(present)} distinct whole numbers, like an id: "
            "drop it with --ignore, or keep it with --number."
        )
    return NumberColumn(name, low, high, missing="indicator" if np.isnan(values).any() else "middle")


def _learn_category(text: Any, absent: Any, name: str, source: str, *, forced: bool) -> Column | None:
    words = sorted(word for word in pc.unique(text.filter(pa.array(~absent))).to_pylist() if word is not None)
    if len(words) + bool(absent.any()) < 2:
        return None
    n_present = int((~absent).sum())
    if not forced and (len(words) > MANY or (n_present >= FEW_ROWS and len(words) > n_present / 2)):
        raise InputError(
            f"column {name!r} of {source} must be a category, got {len(words)} distinct values in {n_present} rows, like text or an id: "
            "drop it with --ignore, or list its categories in a schema file."
        )
    if not words:
        return None
    return CategoryColumn(name, tuple(words), missing="own" if absent.any() else "other")
