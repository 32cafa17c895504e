"""Excel workbooks, written by another library than the one that reads them."""

import datetime as dt
import sys
import zipfile

import openpyxl
import pyarrow as pa
import pytest

from feddp_kmeans.errors import FedDPError, UnreadableFileError
from feddp_kmeans.tables.client_files import open_clients, open_table
from feddp_kmeans.tables.formats import read_schema, read_tables
from feddp_kmeans.tables.learn_schema import learn_schema, needs_schema
from feddp_kmeans.tables.reading import Reading


def workbook(path, *rows, start=(1, 1), before=(), **more):
    """Write rows into a sheet, between sheets that hold nothing, are hidden, or hold one cell."""
    book = openpyxl.Workbook()
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            book.active.cell(start[0] + i, start[1] + j, cell)
    for name in before:
        book.create_sheet(name, 0)
    hidden = book.create_sheet("lists")
    hidden["A1"], hidden.sheet_state = "not read", "hidden"
    for name, cell in more.items():
        book.create_sheet(name)["B2"] = cell
    if more:
        book.create_chartsheet("picture")
    book.save(path)
    return path


def test_cells_become_text_by_themselves_and_dates_are_dates(tmp_path):
    when = dt.datetime(2026, 3, 1, 12, 30)  # noqa: DTZ001 - Excel knows no zones
    rows = [[1, 2.5, "Köln", True, dt.date(2026, 3, 1), when], [-7, 1e-7, None, False, None, "word"], [1e300, 12345678901, "x", 1, 2, 3]]
    path = workbook(tmp_path / "a.xlsx", [" a ", "b", "city", "flag", "day", "when"], *rows)
    assert read_schema(path).names == ["a", "b", "city", "flag", "day", "when"]
    found = pa.concat_tables(read_tables(path, read_schema(path).names, 2)).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("1", "2.5", "Köln", "true", "2026-03-01", "2026-03-01T12:30:00"),
        ("-7", "1e-07", "", "false", "", "word"),
        ("1e+300", "12345678901", "x", "1", "2", "3"),
    ]


def test_a_sheet_is_a_client_like_a_text_file(tmp_path):
    workbook(tmp_path / "a.xlsx", ["y", "x"], [2, 1], [4, 3], [None, 5])
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")
    first, second = open_clients(str(tmp_path), like=("x", "y"))
    assert next(piece.tolist() for piece in first.pieces(2)) == [[1, 2], [3, 4]]
    assert len(first.read()) == 3
    assert second.read().tolist() == [[1, 2]]
    assert needs_schema(workbook(tmp_path / "w.xlsx", ["x", "w"], [1, "a"], [2, "b"]))
    assert learn_schema(tmp_path / "w.xlsx").fields[1].categories == ("a", "b")


def test_the_sheet_is_the_only_one_that_is_not_empty_or_the_one_that_is_named(tmp_path):
    rows = [["x", "y"], [1, 2], [3, 4]]
    assert open_table(workbook(tmp_path / "a.xlsx", *rows, before=("empty", "blank"), spaces="  ")).read().tolist() == [[1, 2], [3, 4]]
    path = workbook(tmp_path / "b.xlsx", *rows, before=("empty",), notes="z")
    with pytest.raises(FedDPError) as refused:
        open_table(path)
    told = "must have one sheet that is not empty, got 'Sheet', 'notes': say which one is the table, as in --sheet Sheet."
    assert str(refused.value) == f"b.xlsx {told}"
    table = open_table(path, reading=Reading(sheet="Sheet"))
    assert (table.counted().usable, table.read().tolist()) == (2, [[1, 2], [3, 4]])
    assert read_schema(path, Reading(sheet="notes")).names == ["z"]
    assert read_schema(path, Reading(sheet="lists")).names == ["not read"]
    assert learn_schema(path, reading=Reading(sheet="Sheet")).names == ("x", "y")
    for name, told in (
        ("Notes", r"must have the sheet that --sheet names, got 'Notes'; it has 'empty', 'Sheet', 'lists', 'notes'\.$"),
        ("picture", r"must have the sheet that --sheet names, got 'picture'"),
        ("empty", r"must have a row that names its columns, got nothing in sheet 'empty'\.$"),
    ):
        with pytest.raises(FedDPError, match=rf"^b\.xlsx {told}"):
            open_table(path, reading=Reading(sheet=name))


def test_a_cell_outside_the_named_columns_changes_nothing(tmp_path):
    """Neither where the sheet seems to start nor how wide it is depends on a row."""
    rows = [["x", "y"], [1, 2], [None, None], [3, 4]]
    plain = open_table(workbook(tmp_path / "a.xlsx", *rows, start=(3, 3))).read()
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    book.active["A4"], book.active["H6"], book.active["B9"] = "stray", 7, 8
    book.save(tmp_path / "b.xlsx")
    assert plain.tolist() == open_table(tmp_path / "b.xlsx").read().tolist() == [[1, 2], [3, 4]]


def test_a_sheet_without_names_is_refused_and_a_broken_book_is_broken(tmp_path):
    with pytest.raises(FedDPError, match=r"a\.xlsx must have a row that names its columns, got nothing in sheet 'Sheet'\.$"):
        open_table(workbook(tmp_path / "a.xlsx"))
    with pytest.raises(FedDPError, match="got a row with numbers"):
        open_table(workbook(tmp_path / "b.xlsx", [3, 1, 2], [1, 2, 3]))
    content = workbook(tmp_path / "c.xlsx", ["x"], [1]).read_bytes()
    for broken in (b"", b"PK", content[:-30], content[:300] + b"?" + content[301:]):
        (tmp_path / "c.xlsx").write_bytes(broken)
        with pytest.raises(UnreadableFileError, match=r"c\.xlsx must be a readable \.xlsx table"):
            open_table(tmp_path / "c.xlsx").check()


def test_a_book_that_unpacks_to_far_more_is_refused_whatever_it_states(tmp_path):
    workbook(tmp_path / "a.xlsx", ["x"], [1])
    with zipfile.ZipFile(tmp_path / "a.xlsx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * (300 << 20))
    with pytest.raises(FedDPError, match="must not unpack to far more than its own size"):
        open_table(tmp_path / "a.xlsx")
    content = (tmp_path / "a.xlsx").read_bytes()
    (tmp_path / "a.xlsx").write_bytes(content.replace((300 << 20).to_bytes(4, "little"), (300).to_bytes(4, "little")))
    with pytest.raises(UnreadableFileError, match="it is broken"):
        open_table(tmp_path / "a.xlsx")


def test_without_the_library_one_line_says_what_to_install(tmp_path, monkeypatch):
    path = workbook(tmp_path / "a.xlsx", ["x"], [1])
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(FedDPError, match=r"^a\.xlsx needs one more library: pip install 'feddp-kmeans\[excel\]', or save it as \.csv\.$"):
        open_table(path)
