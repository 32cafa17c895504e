"""``feddp encode``: what each column of a public table could be, and a schema of it."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from feddp_kmeans.cli import options
from feddp_kmeans.cli.folders import check_new_file
from feddp_kmeans.cli.terminal import out, say
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.reading import Reading

if TYPE_CHECKING:
    from feddp_kmeans.tables.propose import Proposal

_FIT = "-k 5 --epsilon 1"


@options.takes_reading
def encode(
    reading: Reading,
    table: Annotated[
        Path | None,
        typer.Argument(help="A PUBLIC table, if any. Never clients' data: the ranges and words shown are taken from it, and would leak."),
    ] = None,
    path: Annotated[Path | None, typer.Option("--out", help="Where the schema goes: short if it ends in .toml, else JSON.")] = None,
    ranges: options.Ranges = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(
            "--categories", metavar="NAME[=WORD,WORD]", help="A column of categories: those stated, or those in the public table."
        ),
    ] = None,
    ignore: options.Ignore = None,
    numbers: Annotated[
        list[str] | None, typer.Option("--number", metavar="NAME", help="A column to keep as a number although it looks like an id.")
    ] = None,
    logs: Annotated[list[str] | None, typer.Option("--log", metavar="NAME", help="A column of numbers on a log scale.")] = None,
    quantiles: Annotated[
        list[str] | None, typer.Option("--quantile", metavar="NAME", help="A column of numbers on the scale of its deciles.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing schema.")] = False,
) -> None:
    """Show how the columns of a PUBLIC table become numbers, and why; with --out, write it as a schema for --schema.

    Columns that cannot be used are left out, with the reason. Without a table, --range and --categories make the schema.

    Examples:
      feddp encode public.csv
      feddp encode public.csv --log income --ignore name --out schema.toml
      feddp encode --range age=0:120 --categories sex=female,male --out schema.toml

    """
    from feddp_kmeans.tables.learn_schema import proposals, schema_of
    from feddp_kmeans.tables.point_files import REPLACED
    from feddp_kmeans.tables.propose import Proposal
    from feddp_kmeans.tables.row_counts import log_not_text
    from feddp_kmeans.tables.short_schema import columns_of_options

    if path is not None:
        check_new_file(path, force=force)
    columns = columns_of_options(ranges or (), [text for text in categories or () if "=" in text])
    names = [text for text in categories or () if "=" not in text]
    if table is not None:
        scales = dict.fromkeys(logs or (), "log") | dict.fromkeys(quantiles or (), "quantile")
        found = proposals(
            table, ignore=ignore or (), categories=names, numbers=numbers or (), scales=scales, columns=columns, reading=reading
        )
        out.print(f"{table.name} must be public: what is shown here is taken from it. Of clients' data it would leak.", style="yellow")
    elif columns and not (names or numbers or logs or quantiles):
        found = [Proposal(column.name, column, "stated by you") for column in columns]
        found += [Proposal(name, None, "asked for") for name in ignore or ()]
    else:
        raise InputError("feddp encode must be given a public table, or --range NAME=LOW:HIGH and --categories NAME=WORD,WORD.")
    schema = schema_of(found)
    if table is not None and any(one.column is not None and REPLACED in one.column.public for one in found):
        log_not_text(table.name, reading.encoding)
    _show(found, len(schema.columns))
    if path is not None:
        schema.write(path)
        say(f"Written to {path}. It is public: edit it if you know that the clients have other ranges or words.")
    for line in _next(table, path):
        out.print(line, highlight=False, soft_wrap=True, markup=False)


def _show(found: "list[Proposal]", n_coordinates: int) -> None:
    """Print what becomes of each column, and why."""
    n_used = sum(one.column is not None for one in found)
    table = Table(title=f"{n_used} of {len(found)} columns are used, as {n_coordinates} coordinates", title_justify="left")
    for name in ("column", "used as", "public values", "missing", "why"):
        table.add_column(name, overflow="fold")
    for one in found:
        used = one.column
        told = ("ignored", "", "") if used is None else (used.kind, used.public, used.missing)
        table.add_row(escape(one.name), *map(escape, (*told, one.why)))
    out.print(table)


def _next(table: Path | None, path: Path | None) -> list[str]:
    """Return the commands that come next."""
    server = [] if table is None else ["--server", str(table)]
    if path is not None:
        return [f"Next: {shlex.join(['feddp', 'fit', 'CLIENTS', *server, '--schema', str(path)])} {_FIT}"]
    asked = sys.argv[2:]
    if table is None:
        return [f"Nothing is written. Next: {shlex.join(['feddp', 'fit', 'CLIENTS', *asked])} {_FIT}"]
    return [
        f"Nothing is written. Next: {shlex.join(['feddp', 'encode', *asked, '--out', 'schema.toml'])}",
        f"Then: {shlex.join(['feddp', 'fit', 'CLIENTS', *server, '--schema', 'schema.toml'])} {_FIT}",
    ]
