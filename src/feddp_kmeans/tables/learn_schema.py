"""A schema learnt from public server data, never from clients: a range or a list of categories taken from clients would leak."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables import cells
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.formats import has_types, named_errors, read_schema, read_tables
from feddp_kmeans.tables.propose import Proposal, check_scales, proposal
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.schema import Schema, as_arrow
from feddp_kmeans.tables.short_schema import ASKED


def read_raw(path: Path, reading: Reading = AS_THE_HEADER_SAYS) -> pa.Table:
    """Return a whole table as it is in its file; cells of a CSV file are text. For server data, which is small and public."""
    schema = read_schema(path, reading)
    with named_errors(path):
        parts = list(read_tables(path, schema.names, 1 << 16, reading=reading))
        return pa.concat_tables(parts) if parts else schema.empty_table()


def needs_schema(path: Path, ignore: Collection[str] = (), reading: Reading = AS_THE_HEADER_SAYS) -> bool:
    """Return whether a public table has a column that is neither ignored nor numeric; all cells of a CSV file are checked."""
    if has_types(path):
        return any(not cells.is_numeric(field.type) for field in read_schema(path) if field.name not in ignore)
    table = read_raw(path, reading)
    return any(cells.count_words(table[name], cells.decimal_of(table))[0] for name in table.column_names if name not in ignore)


def proposals(
    server: Any,
    *,
    ignore: Collection[str] = (),
    categories: Collection[str] = (),
    numbers: Collection[str] = (),
    scales: Mapping[str, str] | None = None,
    columns: Collection[Column] = (),
    reading: Reading = AS_THE_HEADER_SAYS,
) -> list[Proposal]:
    """Return what each column of public server data could be; the arguments are those of ``learn_schema``."""
    is_path = isinstance(server, str | Path)
    source = Path(server).name if is_path else "the server data"
    table = read_raw(Path(server), reading) if is_path else as_arrow(server)
    scales, given = dict(scales or {}), {column.name: column for column in columns}
    names = table.column_names
    cells.check_present((*ignore, *categories, *numbers, *scales, *given), names, source)
    cells.check_distinct(names, f"columns of {source}")
    check_scales(scales, source)
    kinds = dict.fromkeys(numbers, "number") | dict.fromkeys(categories, "category")
    made = []
    for name in names:
        if name in ignore:
            made.append(Proposal(name, None, ASKED))
        elif name in given:
            made.append(Proposal(name, given[name], "stated by you"))
        else:
            made.append(proposal(table, name, kinds.get(name), scales.get(name)))
    if not any(found.column for found in made):
        why = "; ".join(f"{found.name!r:.40} {found.why}" for found in made[:3])
        raise InputError(f"{source} must have a column that can be used, got none: {why or 'no columns'}.")
    return made


def learn_schema(
    server: Any,
    *,
    ignore: Collection[str] = (),
    categories: Collection[str] = (),
    numbers: Collection[str] = (),
    scales: Mapping[str, str] | None = None,
    columns: Collection[Column] = (),
    reading: Reading = AS_THE_HEADER_SAYS,
) -> Schema:
    """Return the schema of public server data, with the ranges and categories found there. Never of client data: they would leak.

    Parameters
    ----------
    server : str or Path of a table, or a data frame
        The public data.
    ignore : collection of str, default=()
        Columns to leave out.
    categories : collection of str, default=()
        Columns that hold categories, also if they look like numbers or ids.
    numbers : collection of str, default=()
        Columns that hold numbers, also if they look like ids.
    scales : mapping of str to {"linear", "log", "quantile"}, default=None
        Columns of numbers on another scale than a linear one.
    columns : collection of Column, default=()
        Columns that are known already and not learnt.
    reading : Reading, default=AS_THE_HEADER_SAYS
        How a text file is read.

    Returns
    -------
    schema : Schema
        What a column holds is guessed where it is not stated. Columns that cannot be used are in ``ignored``, with the reasons.

    Examples
    --------
    >>> import pyarrow as pa
    >>> public = pa.table({"age": [30, 70, 31], "joined": ["2020-01-31", "2021-05-06", None], "member": ["yes", "no", "no"]})
    >>> [(field.name, field.kind, field.public) for field in learn_schema(public).fields]
    [('age', 'number', '30 to 70'), ('joined', 'date', '2020-01-31 to 2021-05-06: trend'), ('member', 'boolean', 'yes or no')]

    """
    how: dict[str, Any] = {"ignore": ignore, "categories": categories, "numbers": numbers, "scales": scales, "columns": columns}
    return schema_of(proposals(server, **how, reading=reading))


def schema_of(found: Collection[Proposal]) -> Schema:
    """Return the schema of these columns; those that cannot be used are ignored."""
    return Schema(tuple(one.column for one in found if one.column), tuple((one.name, one.why) for one in found if not one.column))
