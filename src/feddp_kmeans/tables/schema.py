"""A public schema: how each column of a mixed table becomes coordinates. Learnt from server data or written by hand, never from clients."""

import json
import math
from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_format, field_of, parse_json
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.tables.cells import check_distinct, check_present, decimal_of, is_line, is_readable
from feddp_kmeans.tables.columns import CategoryColumn, Column, Described, NumberColumn

FORMAT, VERSION = "feddp-schema", 1
_KINDS: dict[str, type[Column]] = {"number": NumberColumn, "category": CategoryColumn}


@dataclass(frozen=True)
class Schema:
    """The encoding of a table. Every field is public and is sent to the clients as JSON."""

    fields: tuple[Column, ...]
    ignored: tuple[tuple[str, str], ...] = ()
    """Columns that are left out, and the reasons. They need not be in a table."""

    def __post_init__(self) -> None:
        if not self.fields:
            raise InputError("columns of a schema must be at least one, got none.")
        names = [*(field.name for field in self.fields), *(name for name, _ in self.ignored)]
        check_distinct(names, "columns of a schema")
        check_distinct(self.columns, "coordinates of a schema")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the encoded coordinates."""
        return tuple(name for field in self.fields for name in field.coordinates)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns that a table must have."""
        return tuple(field.name for field in self.fields)

    @property
    def radius(self) -> float:
        """Return a public bound on the norm of an encoded row, rounded up."""
        return math.sqrt(math.fsum(field.energy for field in self.fields)) * (1 + 1e-12)

    def encode(self, table: Any) -> FloatArray:
        """Return the coordinates of each row of a table from Arrow, pandas, polars or anything that Arrow can read."""
        raw = table if isinstance(table, pa.Table) else as_arrow(table)
        self.check_columns(raw.schema, "table")
        return np.concatenate([field.encode(raw[field.name], decimal_of(raw)) for field in self.fields], axis=1)

    def check_columns(self, found: pa.Schema, source: str) -> None:
        """Refuse a table that lacks a column, or has a column of a type that is neither number nor text."""
        check_distinct(found.names, f"columns of {source}")
        check_present(self.names, found.names, source)
        for field in self.fields:
            if not is_readable(kind := found.field(field.name).type):
                raise InputError(f"column {field.name!r:.80} of {source} must hold {field.kind} values, got {kind}.")

    def describe(self, center: FloatArray, stddev: float) -> list[Described]:
        """Return a center in the user's terms: numbers in their unit, categories as shares, each with its error."""
        center = np.asarray(center, dtype=np.float64)
        if center.shape != (len(self.columns),):
            raise InputError(f"center must have {len(self.columns)} coordinates, got shape {center.shape}.")
        ends = np.cumsum([len(field.coordinates) for field in self.fields])
        parts = np.split(center, ends[:-1])
        return [field.describe(part, float(stddev)) for field, part in zip(self.fields, parts, strict=True)]

    def without(self, names: Collection[str]) -> "Schema":
        """Return the schema without these columns."""
        kept = tuple(field for field in self.fields if field.name not in names)
        return Schema(kept, (*self.ignored, *((field.name, "asked for") for field in self.fields if field.name in names)))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data."""
        columns = [{"name": field.name, "kind": field.kind} | asdict(field) for field in self.fields]
        ignored = [{"name": name, "reason": reason} for name, reason in self.ignored]
        return {"format": FORMAT, "version": VERSION, "columns": columns, "ignored": ignored}

    @classmethod
    def from_dict(cls, data: Any) -> "Schema":
        """Return the schema that this plain data states; refuse anything else in one line."""
        _check_keys(data, "schema", {"format", "version", "columns"}, {"ignored"})
        if data["format"] != FORMAT:
            raise InputError(f"format of a schema must be {FORMAT!r}, got {data['format']!r:.80}.")
        check_format(data, VERSION, "schema", "version")
        ignored = field_of({"ignored": []} | data, "ignored", list, "a schema")
        for entry in ignored:
            _check_keys(entry, "ignored column", {"name"}, {"reason"})
            if not all(is_line(word) for word in entry.values()):
                raise InputError(f"ignored column must have a name and a reason, one line each, got {entry!r:.80}.")
        fields = tuple(map(_column, field_of(data, "columns", list, "a schema")))
        return cls(fields, tuple((entry["name"], entry.get("reason", "asked for")) for entry in ignored))

    def write(self, path: Path) -> None:
        """Write the schema as readable JSON."""
        write_whole(path, (json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> "Schema":
        """Return the schema in a JSON file."""
        try:
            return cls.from_dict(parse_json(path.read_bytes()))
        except OSError as error:
            raise InputError(f"schema must be a readable JSON file, got {str(path)!r}: {error.strerror}.") from None
        except FedDPError as error:
            raise InputError(f"{path.name}: {error}") from None


def as_arrow(table: Any) -> pa.Table:
    """Return a data frame as an Arrow table."""
    try:
        return pa.table(table)
    except (TypeError, ValueError, pa.ArrowException):
        for name in getattr(table, "columns", ()):
            try:
                pa.array(table[name])
            except Exception:  # noqa: BLE001 - any error's text may quote a cell
                raise InputError(f"column {name!r:.80} of table must hold words or numbers only, got both, or other objects.") from None
        raise InputError(f"table must be a data frame or an Arrow table, got {type(table).__name__}.") from None


def _column(entry: Any) -> Column:
    kind = field_of(entry, "kind", str, "column of a schema")
    what = f"column {entry.get('name')!r:.80}"
    if kind not in _KINDS:
        raise InputError(f"kind of {what} must be one of {list(_KINDS)}, got {kind!r:.80}.")
    needed = {"name", "kind", "low", "high"} if kind == "number" else {"name", "kind", "categories"}
    _check_keys(entry, what, needed, {"weight", "missing"})
    return _KINDS[kind](**{key: value for key, value in entry.items() if key != "kind"})


def _check_keys(data: Any, what: str, needed: set[str], allowed: set[str]) -> None:
    if not isinstance(data, dict):
        raise InputError(f"{what} must be an object, got {data!r:.80}.")
    if not needed <= data.keys() <= needed | allowed:
        raise InputError(f"{what} must have the keys {sorted(needed)} and no others but {sorted(allowed)}, got {[*data]!r:.200}.")
