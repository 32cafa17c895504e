"""A public schema: how each column of a mixed table becomes coordinates.

Learnt from server data or written by hand; of what clients hold only knots are learnt, privately (``feddp_kmeans.knots``).
"""

import json
import math
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_format, field_of, parse_json
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.tables.advice import Advice, frame_advice, refused_columns, words_advice
from feddp_kmeans.tables.boolean_columns import BooleanColumn
from feddp_kmeans.tables.cells import check_distinct, check_present, decimal_of, is_line, listed
from feddp_kmeans.tables.column import Column, Described
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.date_columns import DateColumn
from feddp_kmeans.tables.profile_columns import ProfileColumn
from feddp_kmeans.tables.short_schema import ASKED, columns_of, toml_text
from feddp_kmeans.tables.word_columns import WordColumn

FORMAT, VERSION = "feddp-schema", 1
TOML = ".toml"
_KINDS: dict[str, type[Column]] = {kind.kind: kind for kind in (NumberColumn, CategoryColumn, BooleanColumn, DateColumn, OpenColumn)}

ASKED_KINDS = frozenset({ProfileColumn.kind, WordColumn.kind})
"""Kinds of columns that a question about finished clusters counts, and no run clusters."""


@dataclass(frozen=True)
class Schema:
    """The encoding of a table. Every field is public and is sent to the clients as JSON."""

    fields: tuple[Column, ...]
    ignored: tuple[tuple[str, str], ...] = ()
    """Columns that are left out, and the reasons. They need not be in a table."""

    def __post_init__(self) -> None:
        if not self.fields:
            raise InputError("columns of a schema must be at least one that is not ignored, got none.")
        names = [*(field.name for field in self.fields), *(name for name, _ in self.ignored)]
        check_distinct(names, "columns of a schema")
        check_distinct(self.columns, "coordinates of a schema")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the encoded coordinates."""
        return tuple(name for field in self.fields for name in field.coordinates)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns that a table must have, each once."""
        return tuple(dict.fromkeys(field.name for field in self.fields))

    @property
    def open(self) -> tuple[bool, ...]:
        """Return for each coordinate whether it has no public bound; the run finds its scale privately."""
        return tuple(field.is_open for field in self.fields for _ in field.coordinates)

    @property
    def radius(self) -> float | None:
        """Return a public bound on the norm of an encoded row, rounded up; None if a column has no range."""
        return None if any(self.open) else math.sqrt(math.fsum(field.energy for field in self.fields)) * (1 + 1e-12)

    def encode(self, table: Any) -> FloatArray:
        """Return the coordinates of each row of a table from Arrow, pandas, polars or anything that Arrow can read."""
        raw = table if isinstance(table, pa.Table) else as_arrow(table)
        self.check_columns(raw.schema, "table", frame_advice)
        return np.concatenate([field.encode(raw[field.name], decimal_of(raw)) for field in self.fields], axis=1)

    def check_columns(self, found: pa.Schema, source: str, advise: Advice = words_advice) -> None:
        """Refuse a table that lacks a column, or has columns of types that cannot be encoded."""
        check_distinct(found.names, f"columns of {source}")
        check_present(self.names, found.names, source)
        if wrong := {field.name: field.rule for field in self.fields if not field.reads(found.field(field.name).type)}:
            types = listed(list(dict.fromkeys(str(found.field(name).type) for name in wrong)))
            raise InputError(refused_columns(wrong, source, types, advise))

    def describe(self, center: FloatArray, stddev: float | FloatArray) -> list[Described]:
        """Return a center in the user's terms: numbers in their unit, categories as shares, each with its error.

        ``stddev`` is that of the noise: one number, or one per coordinate.
        """
        center, errors = np.asarray(center, dtype=np.float64), np.asarray(stddev, dtype=np.float64)
        if center.shape != (len(self.columns),) or errors.shape not in {(), center.shape}:
            raise InputError(
                f"center must have {len(self.columns)} coordinates, got shape {center.shape} and {errors.shape} for the noise."
            )
        ends = np.cumsum([len(field.coordinates) for field in self.fields])[:-1]
        parts = zip(self.fields, np.split(center, ends), np.split(np.broadcast_to(errors, center.shape), ends), strict=True)
        return [described for field, part, error in parts for described in field.describe(part, error)]

    def replaced(self, columns: Collection[Column]) -> "Schema":
        """Return the schema with these columns in place of those of the same name, and after the others if there are none."""
        by_name = {column.name: column for column in columns}
        kept = [by_name.pop(field.name, field) for field in self.fields]
        return type(self)((*kept, *by_name.values()), tuple(pair for pair in self.ignored if pair[0] not in by_name))

    def without(self, names: Collection[str]) -> "Schema":
        """Return the schema without these columns."""
        kept = tuple(field for field in self.fields if field.name not in names)
        return type(self)(kept, (*self.ignored, *((field.name, ASKED) for field in self.fields if field.name in names)))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data."""
        columns = [field.to_dict() for field in self.fields]
        ignored = [{"name": name, "reason": reason} for name, reason in self.ignored]
        return {"format": FORMAT, "version": VERSION, "columns": columns, "ignored": ignored}

    @classmethod
    def from_dict(cls, data: Any) -> "Schema":
        """Return the schema that this plain data states, in full or in the short form; refuse anything else in one line."""
        if isinstance(data, dict) and "format" not in data and isinstance(data.get("columns"), dict):
            _check_keys(data, "schema", {"columns"}, set())
            return cls(*columns_of(data["columns"]))
        if isinstance(data, dict) and data and not {"format", "columns"} & data.keys():
            raise InputError(f"schema must have a table of rules per column, such as [columns.age], got {[*data]!r:.80}.")
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
        made = ProfileSchema if any(field.kind in ASKED_KINDS for field in fields) else cls
        return made(fields, tuple((entry["name"], entry.get("reason", ASKED)) for entry in ignored))

    def write(self, path: str | Path, note: str = "") -> None:
        """Write the schema: in the short form if the name ends in .toml, after the note if there is one, else in full as JSON."""
        path = Path(path)
        if path.suffix.lower() == TOML:
            text = (f"# {note}\n\n" if note else "") + toml_text(self.fields, self.ignored)
        else:
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(path, text.encode())

    @classmethod
    def read(cls, path: str | Path) -> "Schema":
        """Return the schema in a TOML file, if its name ends in .toml, or else in a JSON file."""
        path = Path(path)
        try:
            content = path.read_bytes()
            return cls.from_dict(_parse_toml(content) if path.suffix.lower() == TOML else parse_json(content))
        except OSError as error:
            raise InputError(f"schema must be a readable JSON or TOML file, got {str(path)!r}: {error.strerror}.") from None
        except FedDPError as error:
            raise InputError(f"{path.name}: {error}") from None


class ProfileSchema(Schema):
    """The columns of a finished run, then those of a profile, which may be the same."""

    def __post_init__(self) -> None:
        if not self.fields:
            raise InputError("columns must be at least one, got none.")

    @property
    def clustered(self) -> tuple[str, ...]:
        """Return the coordinates of the finished run."""
        return tuple(name for field in self.fields if field.kind not in ASKED_KINDS for name in field.coordinates)

    @property
    def profiled(self) -> tuple[ProfileColumn, ...]:
        """Return the columns of the profile."""
        return tuple(field for field in self.fields if isinstance(field, ProfileColumn))


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


def _parse_toml(content: bytes) -> Any:
    """Return what this TOML states; refuse what is none in one line."""
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"TOML must be readable, got: {(str(error).splitlines() or [''])[0]:.200}.") from None


def _column(entry: Any) -> Column:
    kind = field_of(entry, "kind", str, "column of a schema")
    what = f"column {entry.get('name')!r:.80}"
    if kind in ASKED_KINDS:
        return _asked_column(entry, what)
    if kind not in _KINDS:
        raise InputError(f"kind of {what} must be one of {list(_KINDS)}, got {kind!r:.80}.")
    needed = {"name", "kind"} | {"number": {"low", "high"} if "knots" not in entry else set(), "category": {"categories"}}.get(kind, set())
    _check_keys(entry, what, needed, {field.name for field in fields(_KINDS[kind])} - needed)  # type: ignore[arg-type]
    return _KINDS[kind](**{key: value for key, value in entry.items() if key != "kind"})


def _asked_column(entry: dict[str, Any], what: str) -> Column:
    """Return a column that a question about clusters counts: its classes, or its words."""
    if entry["kind"] == ProfileColumn.kind:
        _check_keys(entry, what, {"name", "kind", "of"}, set())
        return ProfileColumn(_column(entry["of"]))
    _check_keys(entry, what, {"name", "kind", "listed"}, {"most"})
    listed = field_of(entry, "listed", list, what)
    most = {"most": field_of(entry, "most", int, what)} if "most" in entry else {}
    return WordColumn(field_of(entry, "name", str, what), tuple(map(str, listed)), **most)


def _check_keys(data: Any, what: str, needed: set[str], allowed: set[str]) -> None:
    if not isinstance(data, dict):
        raise InputError(f"{what} must be an object, got {data!r:.80}.")
    if not needed <= data.keys() <= needed | allowed:
        raise InputError(f"{what} must have the keys {sorted(needed)} and no others but {sorted(allowed)}, got {[*data]!r:.200}.")
