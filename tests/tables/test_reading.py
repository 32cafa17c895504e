"""Text files as people have them: packed, in any encoding, with any delimiter; what a file does not say, a public option does."""

import bz2
import gzip
import resource

import numpy as np
import pyarrow as pa
import pytest

from feddp_kmeans.errors import FedDPError, UnreadableFileError
from feddp_kmeans.tables import csv_files
from feddp_kmeans.tables.client_files import open_clients, open_table
from feddp_kmeans.tables.learn_schema import learn_schema, read_raw
from feddp_kmeans.tables.reading import Reading
from tests.logs import logged

TEXT = "größe,b\n1.5,2\n3,4\n"
PACKS = {
    "a.csv.gz": gzip.compress,
    "a.TSV.GZ": lambda content: gzip.compress(content[:9]) + gzip.compress(content[9:]),  # two members, as cat makes them
    "a.txt.bz2": bz2.compress,
    "a.csv.zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("name", sorted(PACKS))
def test_packed_text_is_read_like_plain_text_and_a_part_of_it_is_broken(tmp_path, name):
    path, packed = tmp_path / name, PACKS[name](TEXT.encode())
    path.write_bytes(packed)
    assert open_table(path).columns == ("größe", "b")
    assert open_table(path).read().tolist() == [[1.5, 2], [3, 4]]
    for broken in (packed[:-3], packed[:12], TEXT.encode()):
        path.write_bytes(broken)
        with pytest.raises(UnreadableFileError, match=r"must be a readable \.\w+\.\w+ table: it is broken"):
            open_table(path).check()


def test_a_file_that_unpacks_to_far_more_is_read_in_bounded_memory(tmp_path):
    """100 MB in 100 kB: lines are read in blocks, one long line is left out, and a header that does not end is refused early."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 5_000_000 + b"7" * 80_000_000, 1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    total = sum(piece.sum(axis=0) for piece in open_table(path).pieces(10_000))
    path.write_bytes(gzip.compress(b"a" * 100_000_000, 1))
    with pytest.raises(FedDPError, match="must start with one line that names its columns"):
        open_table(path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert total.tolist() == [5e6, 1e7]
    assert grown < 120_000  # kB; as one array it is 80 MB, and 100 MB of text


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-32-be", "shift_jis_2004", "utf-8-sig", "cp500"])
def test_an_encoding_by_name(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode(encoding))
    table = open_table(path, reading=Reading(encoding=encoding))
    assert table.columns == ("größe", "b")
    assert table.read().tolist() == [[1.5, 2], [3, 4]]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_goes_first(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode(encoding))
    for reading in (Reading(), Reading(encoding="cp1252"), Reading(encoding="utf-16")):
        assert open_table(path, reading=reading).columns == ("größe", "b")


def test_bytes_that_are_not_text_get_advice(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(
        UnreadableFileError, match=r"^a\.csv must start with a line of text .*: it is not utf-8; name its encoding, such as --e"
    ):
        open_table(path)
    path.write_bytes(TEXT.encode("utf-16-le"))
    with pytest.raises(UnreadableFileError, match=r"it is not utf-8; name its encoding, such as --encoding utf-16\.$"):
        open_table(path)
    path.write_bytes("city,b\nKöln,1\nBonn,2\n".encode("latin-1"))
    schema = learn_schema(path, categories=["city"], reading=Reading(encoding="latin-1"))
    assert schema.fields[0].categories == ("Bonn", "Köln")
    for encoding, advice in (
        (None, ["a.csv: some cells hold bytes that are not UTF-8 text; --encoding names another, such as cp1252."]),
        ("latin-1", []),
    ):
        with logged() as told:
            open_table(path, schema, reading=Reading(encoding=encoding)).check()
        assert told == advice


@pytest.mark.parametrize("mark", ["^", "~", ":", " ", "\x01", "]", "\\", "§", "¦", "tab", "\\t"])
def test_any_one_character_may_be_the_delimiter(tmp_path, mark):
    reading = Reading(delimiter=mark)
    cells = [['a "x"', f"b{reading.delimiter}c", "w"], ["1,5", "2", f"p{reading.delimiter}q"], ["3", "4", "x"]]
    quoted = ["".join(f'"{cell.replace(chr(34), 2 * chr(34))}"{reading.delimiter}' for cell in row)[:-1] for row in cells]
    (tmp_path / "a.csv").write_text("\n".join(quoted))
    table = open_table(tmp_path / "a.csv", ignore=["w"], reading=reading)
    assert table.columns == ('a "x"', f"b{reading.delimiter}c")
    assert table.read().tolist() == [[1.5, 2], [3, 4]]
    assert read_raw(tmp_path / "a.csv", reading)["w"].to_pylist() == [f"p{reading.delimiter}q", "x"]


@pytest.mark.parametrize(
    "options",
    [{"delimiter": d} for d in ("", ",,", "a", "7", '"', "\n", "é", 3)]
    + [{"encoding": e} for e in ("x", "", "idna", "zlib", "unicode_escape", "punycode", 3)],
)
def test_what_is_no_delimiter_or_encoding_is_refused_by_name(options):
    with pytest.raises(FedDPError, match=f"^{next(iter(options))} must be "):
        Reading(**options)


def test_names_are_read_without_the_space_around_them_and_columns_without_a_name_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(' , a ,"b\u00a0",\n0,1,2,\n1,3,4,\n')
    table = open_table(path)
    assert (table.columns, table.read().tolist()) == (("a", "b"), [[1, 2], [3, 4]])
    path.write_text("a,a \n1,2\n")
    with pytest.raises(FedDPError, match="distinct names, got 'a' twice"):
        open_table(path)


@pytest.mark.parametrize("hint", ["sep=^", '"sep=^"', "sep=^\r"])
def test_a_line_that_tells_excel_the_delimiter_is_no_header(tmp_path, hint):
    path = tmp_path / "a.csv"
    for encoding in ("utf-8-sig", "utf-16"):
        path.write_bytes(f"{hint}\na^b\n1,5^2\n3^4\n".encode(encoding))
        assert open_table(path).columns == ("a", "b")
        assert open_table(path).read().tolist() == [[1.5, 2], [3, 4]]
    path.write_text("sep=;\n")
    with pytest.raises(FedDPError, match=r"a\.csv must"):
        open_table(path)


def test_one_column_that_was_not_split_gets_advice(tmp_path):
    (tmp_path / "a.csv").write_text("a^b\n1^2\n3^4\n")
    with pytest.raises(FedDPError, match=r"must hold numbers.*: if its cells are separated by '\^', say so with --delimiter; otherwise"):
        open_clients(str(tmp_path))
    assert [t.read().tolist() for t in open_clients(str(tmp_path), reading=Reading("^"))] == [[[1, 2], [3, 4]]]


def test_the_header_of_a_large_packed_file_is_read_alone(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 100_000)
    monkeypatch.setattr(csv_files, "line_blocks", None)
    assert csv_files.read_header(tmp_path / "a.csv").names == ["a", "b"]
    assert np.isfinite(csv_files.read_header(tmp_path / "a.csv").start)


@pytest.mark.parametrize("sheet", ["", 3])
def test_a_sheet_is_a_name(sheet):
    with pytest.raises(FedDPError, match="sheet must be the name of a sheet, got"):
        Reading(sheet=sheet)
