"""Digests of a public schema, one per column: by them a server finds sites that read their tables otherwise, and names the columns."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.columns import OpenColumn
from feddp_kmeans.tables.schema import ASKED_KINDS, Schema

Digests = dict[str, str]
"""By the name of each column, a digest of all that the schema states about it."""

_DIGEST = re.compile("[0-9a-f]{64}")
_NAMED = 5
"""Columns that a message names."""


def schema_digests(schema: Schema | None) -> Digests:
    """Return the digests of a schema; none for plain numbers."""
    return {} if schema is None else {_called(field): _digest(field.to_dict()) for field in schema.fields}


def _called(field: Column) -> str:
    """Return the name of a column; one that a question counts may be clustered too, and is another."""
    return f"{field.name} ({field.kind})" if field.kind in ASKED_KINDS else field.name


def read_digests(given: Mapping[Any, Any], columns: Sequence[str]) -> Digests:
    """Return the digests that a site sent, and for none those of these columns as numbers without a range; refuse anything else."""
    if not all(isinstance(name, str) and isinstance(digest, str) and _DIGEST.fullmatch(digest) for name, digest in given.items()):
        raise InputError("the schema of a site must be a digest for each column, got something else.")
    return dict(given) or {name: _digest({"name": name, "kind": OpenColumn.kind}) for name in columns}


def _digest(column: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(column, sort_keys=True).encode()).hexdigest()


def differing(own: Digests, expected: Digests) -> str:
    """Return a few words that name the columns about which two schemas differ."""
    names = sorted(name for name in {*own, *expected} if own.get(name) != expected.get(name))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"its schema states other kinds, ranges, categories or weights of {', '.join(f'{name!r:.80}' for name in names[:_NAMED])}{more}"
