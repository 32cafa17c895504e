"""Data frames and arrays in Python, encoded by a schema: what the estimator does with ``schema`` and ``ranges``."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.silos.silo import numbered_columns
from feddp_kmeans.tables.advice import frame_advice, refused_columns
from feddp_kmeans.tables.cells import decimal_of, listed
from feddp_kmeans.tables.column import Column, Described
from feddp_kmeans.tables.engines import is_spark
from feddp_kmeans.tables.schema import Schema, as_arrow
from feddp_kmeans.tables.schema_source import schema_of_names
from feddp_kmeans.tables.short_schema import column_of_range, hint


def schema_given(schema: Any, ranges: Any, X: Any) -> Schema | None:
    """Return the schema of the parameters ``schema`` and ``ranges``; without both, None.

    ``schema`` is a Schema, its rules as a dict, or the path of a file. Ranges replace those of the schema; without one, the other columns
    of X are numbers without a range.
    """
    made = None if schema is None else _schema(schema)
    if ranges is None:
        return made
    if not isinstance(ranges, Mapping):
        raise InputError(f"ranges must be a dict of a range per column, such as {{'age': (0, 120)}}, got {type(ranges).__name__}.")
    columns = [column_of_range(name, ends) for name, ends in ranges.items()]
    if made is not None:
        return made.replaced(columns)
    if isinstance(X, Federation):
        raise InputError("ranges must be given with tables, got a Federation: encode its points with a schema.")
    names = names_of(X)
    for name in ranges:
        if name not in names:
            raise InputError(f"ranges must name columns of X, got {name!r:.80}{hint([name], names)}")
    return schema_of_names(names, columns)


def names_of(X: Any) -> list[str]:
    """Return the names of the columns of tables."""
    if is_spark(X):
        return list(X.columns)
    return list(_arrow(_tables(X)[0]).column_names)


def schema_of_coordinates(coordinates: Sequence[str], stated: Collection[Column]) -> Schema | None:
    """Return the schema of sites that have these coordinates: columns as stated, the others without a range; None if none is stated."""
    if not stated:
        return None
    column_of = {name: column.name for column in stated for name in column.coordinates}
    schema = schema_of_names(list(dict.fromkeys(column_of.get(name, name) for name in coordinates)), stated)
    if schema.columns != tuple(coordinates) or not {*column_of.values()} <= {*schema.names}:
        rule = f"have the columns that the server states, {listed([*map(repr, dict.fromkeys(column_of.values()))])}, with the same words"
        advice = "give sites and server the same --range and --categories, or one --schema file"
        raise InputError(f"sites must {rule}, got {listed(coordinates)}: {advice}.")
    return schema


def encoded(schema: Schema | None, X: Any, *, check: bool = False) -> Any:
    """Return tables as points: one array, or a list of them for a list of tables. A federation and None stay as they are.

    With ``check``, columns in which most cells are not what they must be are refused. That depends on private cells: before a run only.
    """
    if schema is None or X is None or isinstance(X, Federation):
        return X
    tables = [_arrow(table) for table in _tables(X)]
    points = [schema.encode(table) for table in tables]
    if check:
        wrong = {field.name: field.rule for field in schema.fields if _is_wrong(field, tables)}
        if wrong:
            raise InputError(refused_columns(wrong, "X", "words in most cells", frame_advice))
    return points if _is_list(X) else points[0]


def _is_wrong(field: Column, tables: Sequence[pa.Table]) -> bool:
    counts = np.array([field.strange(table[field.name], decimal_of(table)) for table in tables]).sum(axis=0)
    return bool(2 * counts[0] > counts[1])


def bounded(settings: Settings, schema: Schema | None) -> Settings:
    """Return the settings with what the schema makes public, a radius or columns without one, unless they have a radius or a box."""
    if schema is None or settings.radius is not None or settings.box is not None:
        return settings
    return replace(settings, radius=schema.radius, open_columns=schema.open if any(schema.open) and not all(schema.open) else None)


def profiles(schema: Schema | None, found: Clustering) -> list[list[Described]] | None:
    """Return each center in the user's terms; None without a schema."""
    if schema is None:
        return None
    errors = found.center_stddev if found.axis_stddev is None else found.axis_stddev
    return [schema.describe(center, error) for center, error in zip(found.centers, errors, strict=True)]


def _schema(given: Any) -> Schema:
    if isinstance(given, Schema):
        return given
    if isinstance(given, str | Path):
        return Schema.read(given)
    if isinstance(given, Mapping):
        return Schema.from_dict(dict(given) if {"columns", "format"} & given.keys() else {"columns": dict(given)})
    raise InputError(f"schema must be a Schema, a dict of rules per column, or the path of a file, got {type(given).__name__}.")


def _is_list(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and len(getattr(X[0], "shape", ())) == 2


def _tables(X: Any) -> list[Any]:
    return list(X) if _is_list(X) else [X]


def _arrow(table: Any) -> pa.Table:
    """Return a table; the columns of an array are x0, x1, ..."""
    if isinstance(table, pa.Table):
        return table
    array: FloatArray | None = table if isinstance(table, np.ndarray) else np.asarray(table) if isinstance(table, list | tuple) else None
    if array is None:
        return as_arrow(table)
    if array.ndim != 2:
        raise InputError(f"X must have two dimensions (rows, columns), got shape {array.shape}.")
    return as_arrow(dict(zip(numbered_columns(array.shape[1]), map(list, array.T), strict=True)))
