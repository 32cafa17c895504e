"""``feddp encode``: a public schema from the server data alone."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.columns import Column, NumberColumn
from feddp_kmeans.tables.learn_schema import learn_schema
from feddp_kmeans.tables.schema import Schema

_SHOWN = 6


def write_schema(
    server: Path, path: Path, *, ignore: Sequence[str], categories: Sequence[str], numbers: Sequence[str], force: bool
) -> Schema:
    """Learn a schema from public server data, write it and return it."""
    if path.exists() and not force:
        raise FedDPError(f"--out must not exist already (use --force to replace it), got {str(path)!r}.")
    if not path.parent.is_dir():
        raise FedDPError(f"--out must be in a folder that exists, got {str(path)!r}.")
    schema = learn_schema(server, ignore=ignore, categories=categories, numbers=numbers)
    schema.write(path)
    return schema


def show_schema(console: Console, schema: Schema) -> None:
    """Print what becomes of each column."""
    table = Table(title=f"{len(schema.names)} columns as {len(schema.columns)} coordinates, norm at most {schema.radius:.4g}")
    for name in ("column", "kind", "public values", "missing", "outside"):
        table.add_column(name, overflow="fold")
    for field in schema.fields:
        outside = "clipped" if isinstance(field, NumberColumn) else "other: all zero"
        table.add_row(_plain(field.name), field.kind, _plain(_values(field)), field.missing, outside)
    for name, reason in schema.ignored:
        table.add_row(_plain(name), "ignored", reason, "", "")
    console.print(table)


def _values(field: Column) -> str:
    if isinstance(field, NumberColumn):
        return f"{field.low:g} to {field.high:g}"
    more = len(field.categories) - _SHOWN
    return ", ".join(field.categories[:_SHOWN]) + (f", ... {more} more" if more > 0 else "")


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
