"""A schema learnt from public server data, never from clients: a range or a list of categories taken from clients would leak."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables import cells
from feddp_kmeans.tables.columns import CategoryColumn, Column, NumberColumn
from feddp_kmeans.tables.formats import is_csv, named_errors, read_schema, read_tables
from feddp_kmeans.tables.schema import Schema, as_arrow

MANY = 50
"""A text column with more distinct words than this is taken for free text or an id."""
FEW_ROWS = 20
"""Columns with fewer values than this are never taken for ids."""
_ID = re.compile(r"(^|[_\s-])(id|uuid|guid)$|[a-z]I[dD]$", re.IGNORECASE)


def read_raw(path: Path) -> pa.Table:
    """Return a whole table as it is in its file; cells of a CSV file are text. For server data, which is small and public."""
    schema = read_schema(path)
    with named_errors(path):
        parts = list(read_tables(path, schema.names, 1 << 16))
        return pa.concat_tables(parts) if parts else schema.empty_table()


def needs_schema(path: Path, ignore: Collection[str] = ()) -> bool:
    """Return whether a public table has a column that is neither ignored nor numeric; all cells of a CSV file are checked."""
    if not is_csv(path):
        return any(not cells.is_numeric(field.type) for field in read_schema(path) if field.name not in ignore)
    table = read_raw(path)
    return any(cells.count_words(table[name], cells.decimal_of(table))[0] for name in table.column_names if name not in ignore)


def learn_schema(server: Any, *, ignore: Collection[str] = (), categories: Collection[str] = (), numbers: Collection[str] = ()) -> Schema:
    """Return the schema of public server data, with the ranges and categories found there.

    ``server`` is the path of a table, or a data frame. The kind of a column is guessed unless ``categories`` or ``numbers`` names it.
    """
    source = server.name if isinstance(server, Path) else "the server data"
    table = read_raw(server) if isinstance(server, Path) else as_arrow(server)
    names = table.column_names
    cells.check_present((*ignore, *categories, *numbers), names, source)
    cells.check_distinct(names, f"columns of {source}")
    if "" in names and "" not in ignore:
        raise InputError(f"columns of {source} must have names, got column {names.index('')} without one: drop it with --ignore ''.")
    fields: list[Column] = []
    ignored = [(name, "asked for") for name in ignore]
    kinds = dict.fromkeys(numbers, "number") | dict.fromkeys(categories, "category")
    for name in names:
        if name in ignore:
            continue
        if made := _learn(table, name, source, kinds.get(name)):
            fields.append(made)
        else:
            ignored.append((name, "fewer than two values in the server data"))
    if not fields:
        raise InputError(f"{source} must have a column with at least two values, got none.")
    return Schema(tuple(fields), tuple(ignored))


def _learn(table: pa.Table, name: str, source: str, forced: str | None) -> Column | None:
    column = table[name]
    if not cells.is_readable(column.type):
        advice = "drop it with --ignore, or make it a number"
        raise InputError(f"column {name!r:.80} of {source} must hold numbers or categories, got {column.type}: {advice}.")
    text, values = cells.as_text(column), cells.as_numbers(column, cells.decimal_of(table))
    absent = cells.is_missing(text).to_numpy(zero_copy_only=False)
    is_typed = b"decimal" not in (table.schema.metadata or {})  # only tables from CSV files have a decimal mark
    looks_like_number = not cells.is_text(column.type) or not (is_typed or (np.isnan(values) & ~absent).any())
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
            f"column {name!r:.80} of {source} must say something about a row, got {len(present)} distinct whole numbers, like an id: "
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
            f"column {name!r:.80} of {source} must be a category, got {len(words)} distinct values in {n_present} rows, like text or an "
            "id: drop it with --ignore, or list its categories in a schema file."
        )
    if not words:
        return None
    return CategoryColumn(name, tuple(words), missing="own" if absent.any() else "other")
