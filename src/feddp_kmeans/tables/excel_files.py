"""Excel workbooks: one sheet. Its first row that is not empty names the columns; cells below other names are not read.

Every cell becomes text, a date as 2026-03-01, so that what it means depends on that cell only; a column of a sheet has no type.
"""

import datetime as dt
import shlex
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.array_files import check_unpacked
from feddp_kmeans.tables.cells import NUMBERED, is_row, listed

EXCEL = (".xlsx", ".xlsm")
_LONGEST_WHOLE = 15
"""Digits of a whole number that Excel keeps."""


def excel_names(path: Path, sheet: str | None = None) -> list[str]:
    """Return the names of the columns, without white space around them."""
    names = list(_header(_rows(path, sheet)).values())
    if is_row(names, "."):
        raise InputError(f"{path.name} must start with a row that names its columns, got a row with numbers: {NUMBERED}.")
    return names


def excel_tables(path: Path, columns: Sequence[str], rows: int, sheet: str | None = None) -> Iterator[pa.Table]:
    """Yield these columns as text, at most ``rows`` rows at a time, without rows that are empty."""
    found = _rows(path, sheet)
    places = {name: place for place, name in _header(found).items()}
    while part := list(islice(found, rows)):
        kept = [row for row in part if any(row[place] != "" for place in places.values())]
        table = pa.table({name: pa.array([_text(row[places[name]]) for row in kept], pa.string()) for name in columns})
        yield table.replace_schema_metadata({"decimal": "."})


def _rows(path: Path, sheet: str | None) -> Iterator[list[Any]]:
    """Yield the rows of a sheet; an empty cell is an empty text."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise InputError(f"{path.name} needs one more library: pip install 'feddp-kmeans[excel]', or save it as .csv.") from None
    with zipfile.ZipFile(path) as archive:
        check_unpacked(path, archive)
        if archive.testzip() is not None:  # sizes are as stated only if every member unpacks to them
            raise zipfile.BadZipFile
    with CalamineWorkbook.from_path(path) as book:
        yield from _chosen(path, book, sheet).iter_rows()


def _chosen(path: Path, book: Any, name: str | None) -> Any:
    """Return the sheet of this name; without one, the only sheet that is neither hidden nor empty."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    tables = [sheet for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    names = [sheet.name for sheet in tables if name is not None or sheet.visible == SheetVisibleEnum.Visible]
    if name is not None:
        if name not in names:
            raise InputError(f"{path.name} must have the sheet that --sheet names, got {name!r:.80}; it has {listed([*map(repr, names)])}.")
        names = [name]
    sheets = [book.get_sheet_by_name(shown) for shown in names]
    filled = [sheet for sheet in sheets if _header(sheet.iter_rows())]
    if len(filled) > 1:
        advice = f"say which one is the table, as in --sheet {shlex.quote(filled[0].name)}"
        raise InputError(f"{path.name} must have one sheet that is not empty, got {listed([repr(one.name) for one in filled])}: {advice}.")
    if not filled:
        raise InputError(f"{path.name} must have a row that names its columns, got nothing in sheet {listed([*map(repr, names)])}.")
    return filled[0]


def _header(rows: Iterator[list[Any]]) -> dict[int, str]:
    """Return the named columns by their place, from the first row that is not empty; none if all are empty."""
    named = ({place: text for place, cell in enumerate(row) if (text := _text(cell).strip())} for row in rows)
    return next(filter(None, named), {})


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
