"""Excel workbooks: their first sheet. Its first row that is not empty names the columns; cells below other names are not read.

Every cell becomes text, a date as 2026-03-01, so that what it means depends on that cell only; a column of a sheet has no type.
"""

import datetime as dt
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.array_files import check_unpacked
from feddp_kmeans.tables.csv_files import is_row

EXCEL = (".xlsx", ".xlsm")
_LONGEST_WHOLE = 15
"""Digits of a whole number that Excel keeps."""


def excel_names(path: Path) -> list[str]:
    """Return the names of the columns, without white space around them."""
    names = list(_header(path, _rows(path)).values())
    if is_row(names, "."):
        raise InputError(f"{path.name} must start with a row that names its columns, got a row of numbers.")
    return names


def excel_tables(path: Path, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
    """Yield these columns as text, at most ``rows`` rows at a time, without rows that are empty."""
    sheet = _rows(path)
    places = {name: place for place, name in _header(path, sheet).items()}
    while part := list(islice(sheet, rows)):
        kept = [row for row in part if any(row[place] != "" for place in places.values())]
        table = pa.table({name: pa.array([_text(row[places[name]]) for row in kept], pa.string()) for name in columns})
        yield table.replace_schema_metadata({"decimal": "."})


def _rows(path: Path) -> Iterator[list[Any]]:
    """Yield the rows of the first sheet; an empty cell is an empty text."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise InputError(f"{path.name} needs one more library: pip install 'feddp-kmeans[excel]', or save it as .csv.") from None
    with zipfile.ZipFile(path) as archive:
        check_unpacked(path, archive)
        if archive.testzip() is not None:  # sizes are as stated only if every member unpacks to them
            raise zipfile.BadZipFile
    with CalamineWorkbook.from_path(path) as book:
        yield from book.get_sheet_by_index(0).iter_rows()


def _header(path: Path, rows: Iterator[list[Any]]) -> dict[int, str]:
    """Return the named columns by their place, from the first row that is not empty."""
    for row in rows:
        if names := {place: text for place, cell in enumerate(row) if (text := _text(cell).strip())}:
            return names
    raise InputError(f"{path.name} must have a row that names its columns in its first sheet, got an empty sheet.")


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 10**_LONGEST_WHOLE else repr(cell)
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    if isinstance(cell, dt.timedelta):
        return repr(cell.total_seconds())
    return str(cell)
