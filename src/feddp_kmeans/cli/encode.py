"""``feddp encode``: a public schema, from the server data only."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from feddp_kmeans.cli import options
from feddp_kmeans.cli.folders import check_new_file
from feddp_kmeans.cli.terminal import out, say

if TYPE_CHECKING:
    from feddp_kmeans.tables.schema import Schema

_SHOWN = 6
"""Number of categories of a column that are printed."""


def encode(
    server: Annotated[Path, typer.Argument(help="The public server data. Never client data: ranges and categories would leak.")],
    path: Annotated[Path, typer.Option("--out", help="Where the schema goes, as JSON.")],
    ignore: options.Ignore = None,
    categories: Annotated[list[str] | None, typer.Option("--categories", help="A column of numbers to treat as categories.")] = None,
    numbers: Annotated[
        list[str] | None, typer.Option("--number", help="A column to keep as a number although it looks like an id.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing schema.")] = False,
) -> None:
    """Learn from public server data how mixed columns become numbers, and write the schema as JSON for the clients."""
    from feddp_kmeans.tables.learn_schema import learn_schema

    check_new_file(path, force=force)
    schema = learn_schema(server, ignore=ignore or (), categories=categories or (), numbers=numbers or ())
    schema.write(path)
    _show(schema)
    say(f"Written to {path}. It is public: edit it if you know that the clients have other ranges or categories.")


def _show(schema: "Schema") -> None:
    """Print how each column is encoded."""
    from feddp_kmeans.tables.columns import NumberColumn

    table = Table(title=f"{len(schema.names)} columns as {len(schema.columns)} coordinates, norm at most {schema.radius:.4g}")
    for name in ("column", "kind", "public values", "missing", "outside"):
        table.add_column(name, overflow="fold")
    for field in schema.fields:
        if isinstance(field, NumberColumn):
            values, outside = f"{field.low:g} to {field.high:g}", "clipped"
        else:
            more = len(field.categories) - _SHOWN
            values = ", ".join(field.categories[:_SHOWN]) + (f", ... {more} more" if more > 0 else "")
            outside = "other: all zero"
        table.add_row(escape(field.name), field.kind, escape(values), field.missing, outside)
    for name, reason in schema.ignored:
        table.add_row(escape(name), "ignored", reason, "", "")
    out.print(table)
