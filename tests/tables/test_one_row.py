"""How a row is read depends on that row and public facts: one row more or less moves one unit, and no other row."""

import gzip
import io
import math
from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from feddp_kmeans.silos.batches import finite_rows
from feddp_kmeans.silos.memory import as_points
from feddp_kmeans.tables import csv_files
from feddp_kmeans.tables.cells import as_numbers
from feddp_kmeans.tables.client_files import open_table, read_grouped
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.schema import Schema

FAST = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
WIDE = settings(max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))
SCHEMA = Schema((NumberColumn("a", -9, 9, missing="indicator"), CategoryColumn("w", ("x", "1", "é"), missing="own")))
ENCODINGS = {"utf-8": b"", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
NAMED = ("cp1252", "latin-1", "shift_jis", "gb18030", "iso2022_jp", "utf-7", "utf-32-be", "cp500", "raw_unicode_escape")

PIECES = st.sampled_from(
    ['"', '""', '","', "a", "x", "1", "1.5", "1,5", "-2e3", "NA", "", " ", "é", "\0", ";", ",", "\t", "#", ":", "\r", "\n", "\\", "true"]
)
WORDS = st.lists(PIECES, max_size=12).map("".join)
BYTES = [b"\xff", b"\xc3", b"\xe9", b"\xf0\x9f", b'"', b",", b"\0", b"1", b"\n\0", b"\0\n", b"\r", b"\n", b"\xd8\x00"]
RAW = st.one_of(st.lists(st.sampled_from(BYTES)).map(b"".join), st.binary(max_size=30), st.just(b"7," * 40), st.just(b'"' + b"9" * 200))
ROWS = st.lists(
    st.one_of(
        st.tuples(st.floats(-9, 9, width=16).map(str), st.sampled_from(["1", "2.5", "x", "", '"q, ""q"""', "é"])).map(list),
        WORDS.map(lambda word: [word]),
    ),
    max_size=12,
)


def units(points):
    """Return the points as a multiset, without the rows that a client drops."""
    return Counter(map(tuple, points[finite_rows(points)].tolist()))


def check_one_unit(read, rows, place, row):
    """With one row more, one unit more at most is read, and all others as before."""
    without, found = read(rows[:place] + rows[place:]), read([*rows[:place], row, *rows[place:]])
    assert not without - found
    assert (found - without).total() <= 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


def one_row_of_a_csv(folder, data):
    encoding, newline = data.draw(st.sampled_from([*ENCODINGS, *NAMED])), data.draw(st.sampled_from(["\n", "\r\n"]))
    mark = data.draw(st.sampled_from(",;\t|^]§"))
    reading = Reading(mark if mark in "^]§" else None, None if encoding in ENCODINGS else encoding)
    end = newline.encode(encoding)
    inner, carriage = "\n".encode(encoding), "\r".encode(encoding)

    def cut(row):
        """Return a row without the end of a line: with it, it would be two. At the end of a file half of one would be read as one."""
        row = row.split(inner)[0]
        while newline == "\r\n" and row.endswith(carriage):
            row = row.removesuffix(carriage)
        return row

    rows = [cut(mark.join(row).encode(encoding, "replace")) for row in data.draw(ROWS)]
    row = cut(data.draw(st.one_of(RAW, st.tuples(WORDS, WORDS).map(lambda two: mark.join(two).encode(encoding, "replace")))))
    place = data.draw(st.integers(0, len(rows)))
    path = folder / data.draw(st.sampled_from(["a.csv", "a.tsv.gz"]))

    def read(rows):
        content = end.join([f"a{mark}w".encode(encoding), *rows]) + data.draw(st.sampled_from([b"", end]))
        content = ENCODINGS.get(encoding, b"") + content
        path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
        plain = open_table(path, reading=reading).read()
        encoded, owners = read_grouped(open_table(path, SCHEMA, reading=reading), "a")
        assert len(encoded) == len(owners) == len(plain)
        assert np.isfinite(encoded).all()
        return units(plain) + Counter((0, *row) for row in encoded.tolist())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "_BLOCK", data.draw(st.sampled_from([3, 8, 50, 1 << 19])))
        patch.setattr(csv_files, "MOST_LINE", data.draw(st.sampled_from([50, 1 << 24])) if csv_files._BLOCK <= 50 else 1 << 24)
        without, found = read(rows), read([*rows[:place], row, *rows[place:]])
    gone, new = without - found, found - without
    assert not gone
    assert sum(len(unit) == 2 for unit in new.elements()) <= 1  # the plain point
    assert sum(len(unit) != 2 for unit in new.elements()) <= 1  # the encoded one


@FAST
@given(data=st.data())
def test_one_row_of_a_csv_moves_one_unit(folder, data):
    one_row_of_a_csv(folder, data)


@pytest.mark.slow
@WIDE
@given(data=st.data())
def test_one_row_of_a_csv_moves_one_unit_in_many_more_tries(folder, data):
    one_row_of_a_csv(folder, data)


@pytest.mark.parametrize(
    "row",
    [
        b'1,"2',
        b'"1,2',
        b'1"",2',
        b"1,2,3",
        b"1",
        b"",
        b"\xff\xff,3",
        b"\0,\0",
        b"1,5;2",
        b"word,word",
        b'"',
        b"1,2\r3,4",
        b'1,"a"b',
        b"9" * 99,
    ],
)
def test_a_row_of_any_kind_leaves_the_others_alone(tmp_path, row):
    """Each of these swallowed, refused or changed the rows after it, or before it, when one row could decide how all are read."""
    rows = [b"0.5,1.5"] * 3
    path = tmp_path / "a.csv"
    for place in range(4):
        path.write_bytes(b"\n".join([b"a,b", *rows[:place], row, *rows[place:]]))
        points = open_table(path).read()
        assert (points == [0.5, 1.5]).all(axis=1).sum() == 3
        assert finite_rows(points).sum() <= 4


def test_the_header_decides_the_decimal_mark_and_not_the_first_rows(tmp_path):
    for first in ("1.5;2", "1,5;2", "x;y", ";"):
        (tmp_path / "a.csv").write_text(f"a;b\n{first}\n3,5;4.5\n1.000,5;7\n")
        assert open_table(tmp_path / "a.csv").read()[1].tolist() == [3.5, 4.5]
        assert math.isnan(open_table(tmp_path / "a.csv").read()[2, 0])
        (tmp_path / "b.csv").write_text(f"a,b\n{first.replace(';', '|')}\n3.5,4.5\n")
        assert open_table(tmp_path / "b.csv").read()[-1].tolist() == [3.5, 4.5]


@pytest.mark.parametrize("newline", [b"\n", b"\n\0", b"\0\n"])
def test_a_line_that_is_too_long_is_left_out_wherever_it_stands(monkeypatch, newline):
    monkeypatch.setattr(csv_files, "MOST_LINE", 20)
    for block, length, before, end in product((1, 7, 20), (20, 21, 70), range(12), (b"", newline, newline + b"56")):
        monkeypatch.setattr(csv_files, "_BLOCK", block)
        lost, expected = [], [b"2,3"] * before + [b"1" * length] * (length <= 20) + [b"56"] * end.endswith(b"56")
        content = (b"2,3" + newline) * before + b"1" * length + end
        found = b"".join(csv_files.line_blocks(io.BytesIO(content), newline, lost.append))
        assert found == b"".join(line + newline for line in expected)
        assert sum(lost) == (length > 20)


@FAST
@given(rows=st.lists(WORDS.map(str.encode) | RAW | st.sampled_from([b"1 1:2 3:4", b"-1 2:0.5", b"0"])), row=RAW, place=st.integers(0, 9))
@example(rows=[b"1 1:2", b"1 2:3"], row=b"1 1:x", place=1)
@example(rows=[b"1 1:2", b"1 2:3"], row=b"1 0:1", place=1)
def test_one_row_of_svmlight_moves_one_unit(folder, rows, row, place):
    def read(rows):
        (folder / "a.svm").write_bytes(b"\n".join(row.split(b"\n")[0] for row in rows))
        return units(open_table(folder / "a.svm", like=("x1", "x2", "x3")).read())

    check_one_unit(read, rows, min(place, len(rows)), row)


TEXT = st.sampled_from([b"x", b"1", b"\xff\xfe", b"x\xc3", "é".encode(), b"", b"2.5", b"NA"]) | st.none()


@FAST
@given(
    rows=st.lists(st.tuples(st.floats() | st.none(), TEXT), max_size=8),
    row=st.tuples(st.floats() | st.none(), TEXT),
    name=st.sampled_from(["a.parquet", "a.arrow", "d.arrow", "v.arrow"]),
    place=st.integers(0, 9),
)
def test_one_row_of_a_typed_table_moves_one_unit(folder, rows, row, name, place):
    """Text that is no UTF-8 is a bad cell of one row, not a bad file."""

    def read(rows):
        words = pa.array([word for _, word in rows], pa.binary()).view(pa.string())
        if name[0] == "d":
            places = pa.array(range(len(rows)), pa.int32())
            words = pa.DictionaryArray.from_arrays(places, words)
        elif name[0] == "v":
            words = pa.array([word for _, word in rows], pa.large_binary()).view(pa.large_string())
        table = pa.table({"a": pa.array([x for x, _ in rows], pa.float64()), "w": words})
        path = folder / name
        path.unlink(missing_ok=True)
        if name.endswith("parquet"):
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(str(path), table.schema) as file:
                file.write_table(table)
        plain = open_table(path, ignore=["w"]).read()
        encoded = open_table(path, SCHEMA).read()
        assert len(encoded) == len(rows)
        return units(plain) + units(encoded)

    without = read(rows)
    found = read([*rows[: min(place, len(rows))], row, *rows[min(place, len(rows)) :]])
    assert not without - found
    assert (found - without).total() <= 2  # the plain point and the encoded one


CELL = st.one_of(st.floats(), st.integers(-9, 9), st.booleans(), st.none(), st.sampled_from(["1.5", "nan", "-inf"]))


@FAST
@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8), row=st.tuples(CELL, CELL), place=st.integers(0, 9))
def test_one_row_of_a_frame_moves_one_unit(rows, row, place):
    check_one_unit(lambda rows: units(as_points(np.array(rows, dtype=object), "X")), rows, min(place, len(rows)), row)


NUMBERLIKE = "0123456789+-.,eE infatyrusl_()xX\u00a0\t"


@settings(max_examples=100, deadline=None)
@given(
    cells=st.lists(st.text("0123456789+-.,eE infatyrusl_()xX\u00a0\t", max_size=9), min_size=1, max_size=6), decimal=st.sampled_from(".,")
)
@example(cells=["1,"], decimal=",")
@example(cells=["1,5"], decimal=".")
@example(cells=["+-5"], decimal=".")
@example(cells=["nan(1)"], decimal=".")
@example(cells=[" 1.5 "], decimal=",")
def test_a_cell_is_the_same_number_whatever_stands_beside_it(cells, decimal):
    """Columns of plain numbers take a shorter way: it leads to the same bits."""
    alone = [as_numbers(pa.array([cell]), decimal)[0] for cell in cells]
    for odd in (None, "", "word", "1,5", "2.5", " 7 ", "+1", "true"):
        together = as_numbers(pa.array([*cells, odd], pa.string()), decimal)[:-1]
        assert np.array_equal(together, alone, equal_nan=True)


@pytest.mark.parametrize("rows", [b"", b"1\n"])
def test_a_mark_at_the_start_of_a_row_is_read_alike_wherever_the_row_is(folder, rows, monkeypatch):
    """Arrow takes a mark off whatever it is given, and where a block begins depends on the rows before."""
    path = folder / "mark.csv"
    for block in (1, 1 << 10):
        monkeypatch.setattr(csv_files, "_BLOCK", block)
        path.write_bytes(b"a\n" + rows + b"\xef\xbb\xbf5\n")
        assert np.isnan(open_table(path).read()[-1, 0])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_half_a_character_that_looks_like_a_line_feed_makes_no_two_rows_of_one(folder, encoding):
    path = folder / "halves.csv"
    torn = {"utf-16-le": "\u0a05\u0100", "utf-16-be": "\u0500\u0a01"}[encoding]
    path.write_bytes(ENCODINGS[encoding] + f"a\n1\n{torn}\n2\n".encode(encoding))
    assert open_table(path).read().ravel().tolist() == [1.0, 2.0]


def test_a_line_feed_that_is_spelt_in_another_way_makes_no_two_rows_of_one(folder):
    path, lost = folder / "spelt.csv", []
    path.write_bytes(b"a\n1\n5+AAo-6\n2\n")
    table = open_table(path, reading=Reading(encoding="utf-7"))
    assert [points.tolist() for _, points in table.parts(9, left_out=lost.append)] == [[[1.0], [2.0]]]
    assert sum(lost) == 1
