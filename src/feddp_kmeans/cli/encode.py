"""``feddp encode``: a public schema from the server data alone."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.data.columns import Column, NumberColumn
from feddp_kmeans.data.encoding import Schema
from feddp_kmeans.data.learn import learn_schema

out = Console()
_SHOWN = 6


def encode(
    server: Annotated[Path, typer.Argument(help="The public server data. Never a client's: ranges and categories would leak.")],
    path: Annotated[Path, typer.Option("--out", help="Where the schema goes, as JSON.")],
    ignore: Annotated[list[str] | None, typer.Option("--ignore", help="A column to leave out; may be given again.")] = None,
    categories: Annotated[list[str] | None, typer.Option("--categories", help="A column of numbers that are categories.")] = None,
    numbers: Annotated[list[str] | None, typer.Option("--number", help="A column that is a number though it looks like an id.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a schema that is there already.")] = False,
) -> None:
    """Learn from public server data how mixed columns become numbers, and write it as JSON for the clients."""
    if path.exists() and not force:
        raise FedDPError(f"--out must not exist already (use --force to replace it), got {str(path)!r}.")
    if not path.parent.is_dir():
        raise FedDPError(f"--out must be in a folder that exists, got {str(path)!r}.")
    schema = learn_schema(server, ignore=ignore or (), categories=categories or (), numbers=numbers or ())
    schema.write(path)
    show_schema(out, schema)
    out.print(
        f"Written to {path}. It is public: edit it where the ranges or categories of the clients are known to differ.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


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
