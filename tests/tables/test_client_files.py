"""Tables on disk: read in pieces, refused by name."""

import logging
import shlex
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.memory import TableSilo
from feddp_kmeans.silos.sorted_rows import SortedSilo
from feddp_kmeans.tables import client_files, point_files
from feddp_kmeans.tables.client_files import check_client_column, client_paths, open_clients, open_table, read_grouped, sorted_starts
from feddp_kmeans.tables.inputs import open_inputs
from feddp_kmeans.tables.row_counts import FILLED
from feddp_kmeans.tables.stated_columns import StatedColumns
from tests.logs import logged


def write(path, text):
    path.write_text(text)
    return path


def test_csv_with_empty_cells_and_whole_numbers(tmp_path):
    table = open_table(write(tmp_path / "a.csv", "höhe,b,flag\n1,2.5,true\n,4,false\n"))
    assert table.columns == ("höhe", "b", "flag")
    assert np.array_equal(table.read(), [[1, 2.5, 1], [np.nan, 4, 0]], equal_nan=True)


def test_parquet_in_pieces_of_any_size(tmp_path, rng):
    points = rng.standard_normal((100, 3)).astype(np.float32)
    pq.write_table(pa.table({name: points[:, i] for i, name in enumerate("abc")}), tmp_path / "a.parquet", row_group_size=7)
    table = open_table(tmp_path / "a.parquet")
    pieces = list(table.pieces(16))
    assert max(map(len, pieces)) <= 16
    assert np.array_equal(np.concatenate(pieces), points)


def test_an_empty_table_is_a_client_without_points(tmp_path):
    assert open_table(write(tmp_path / "a.csv", "a,b\n")).read().shape == (0, 2)
    np.save(tmp_path / "b.npy", np.empty((0, 5)))
    assert open_table(tmp_path / "b.npy").read().shape == (0, 5)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "a,city\n1,Paris\n", "column 'city' of a.csv must hold numbers, got words in most cells: leave it out with --ignore"),
        ("a.csv", "a,city\n1\n2\n3,4\n", "a.csv must hold one row per line, like its first line; most of its lines do not parse"),
        ("a.csv", '"a,b\n1,2\n', "a.csv must start with one line that names its columns"),
        ("a.csv", "3,2,5\n1,2,3\n", "a.csv must start with a line that names its columns, got a row with numbers"),
        ("a.csv", "", "a.csv must be a readable .csv table"),
        ("a.parquet", "not parquet", "a.parquet must be a readable .parquet table"),
        ("a.npy", "not npy", "a.npy must be a readable .npy table"),
        ("a.doc", "1 2", r"a\.doc must be a table whose name ends in \.csv.*: save it as \.csv\.$"),
        ("a.sav", "$FL2", r"a\.sav must be a table .*: save it as \.csv in a statistics program\.$"),
        ("a.gz", "1 2", r"a\.gz must be a table .*: call it after what is in it, as in NAME\.csv\.gz\.$"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_by_name(tmp_path, name, content, message):
    with pytest.raises(FedDPError, match=message):
        open_table(write(tmp_path / name, content)).check()


@pytest.mark.parametrize(
    "names",
    ["0,1,2,3", "1,2,3,4,5", "who,2019,2020,2021,2022", "400.5,400.6,400.7,400.8", "age,pay", "v1,v2", "nan,inf"],
)
def test_evenly_spaced_numbers_are_names(tmp_path, names):
    assert open_table(write(tmp_path / "a.csv", f"{names}\n")).columns == tuple(names.split(","))


@pytest.mark.parametrize(
    "row",
    [
        "41",
        "0",
        "41.0,18398.52",
        "18398.52,41.0",
        "2,1",
        "1,2,3",
        "5;7,5",
        "K\u00f6ln,41",
        "2020-01-01,x,7",
        "1,2,3,5",
        "0,0,0,0",
        "4,3,2,1",
    ],
)
def test_a_first_line_that_may_be_a_row_is_no_line_of_names(tmp_path, row):
    """The first row of a file without names would be published with the result, as the names of its columns."""
    with pytest.raises(FedDPError, match="got a row with numbers: numbers are taken for names only if they are four or more"):
        open_table(write(tmp_path / "a.csv", f"{row}\n{row}\n"))


def test_a_word_far_down_a_csv_is_a_row_left_out(tmp_path):
    rows = "\n".join(["1.5,2"] * 300_000)
    table = open_table(write(tmp_path / "a.csv", f"a,b\n{rows}\noops,3\n4,5,6\n"))
    with logged(level=logging.WARNING) as told:
        table.check()
    assert told == [
        "a.csv: 1 of 300,002 rows do not parse; they are left out.",
        f"a.csv: 1 of 300,002 rows have a cell that is missing or not a number; {FILLED}.",
    ]
    assert np.isfinite(table.read()).all(axis=1).sum() == 300_000


def test_an_array_of_another_shape_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(FedDPError, match=r"two-dimensional array of numbers .*, got float64 of shape"):
        open_table(tmp_path / "a.npy")
    np.save(tmp_path / "p.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(FedDPError, match=r"p\.npy must hold whole arrays of numbers, got object"):
        open_table(tmp_path / "p.npy")
    with pytest.raises(FedDPError, match="file must exist"):
        open_table(tmp_path / "none.csv")


def test_a_folder_or_a_pattern_of_clients(tmp_path):
    for name in ("b.csv", "a.csv", ".hidden.csv", "a.labels.csv"):
        write(tmp_path / name, "x,y\n1,2\n")
    assert [t.path.name for t in open_clients(str(tmp_path))] == ["a.csv", "b.csv"]
    assert [t.path.name for t in open_clients(str(tmp_path / "b*.csv"))] == ["b.csv"]
    with pytest.raises(FedDPError, match="clients must match the pattern, got no file for"):
        open_clients(str(tmp_path / "*.parquet"))
    write(tmp_path / "c.csv", "x,z\n1,2\n")
    with pytest.raises(FedDPError, match=r"c\.csv must have the columns of the other tables, x, y, got no 'y', but 'z'"):
        open_clients(str(tmp_path))


def test_one_table_with_a_client_column(tmp_path):
    path = write(tmp_path / "a.csv", "who,x,y\nann,1,2\nbob,3,4\nann,5,6\n")
    source = open_table(path, ignore=["who"])
    points, owners = read_grouped(source, "who")
    assert source.columns == ("x", "y")
    assert points.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert owners.tolist() == [0, 1, 0]
    with pytest.raises(FedDPError, match=r"client column 'whom' must be in a\.csv"):
        check_client_column(str(path), "whom")
    with pytest.raises(FedDPError, match=r"a\.csv must have the columns of the other tables, x, z, got no 'z', but 'y'"):
        open_table(path, ignore=["who"], like=("x", "z"))


@pytest.mark.parametrize(
    "text",
    [
        "a;b\n1.5;2\n3;4\n",
        "a;b\n1,5;2\n3;4\n",
        "a\tb\n1.5\t2\n3\t4\n",
        "a|b\n1.5|2\n3|4\n",
        "\ufeffa,b\r\n1.5,2\r\n3,4\r\n",
        '"a","b"\n"1.5","2"\n"3","4"\n',
    ],
)
def test_delimiters_decimal_commas_and_marks(tmp_path, text):
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / f"{encoding}.csv"
        path.write_text(text.removeprefix("\ufeff") if encoding == "utf-16" else text, encoding=encoding)
        table = open_table(path)
        assert table.columns == ("a", "b")
        assert table.read().tolist() == [[1.5, 2], [3, 4]]


def test_a_quoted_unicode_header_with_the_delimiter_in_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('"größe, in cm, ungefähr";"高さ"\n1;2\n', encoding="utf-8")
    assert open_table(path).columns == ("größe, in cm, ungefähr", "高さ")
    with pytest.raises(FedDPError, match=r"columns of b\.csv must have distinct names, got 'a' twice"):
        open_table(write(tmp_path / "b.csv", "a,a\n1,2\n"))


def test_arrow_files_and_streams_in_pieces(tmp_path, rng):
    table = pa.table({"a": rng.standard_normal(100), "b": rng.integers(9, size=100)})
    pa.feather.write_feather(table, tmp_path / "a.feather", chunksize=30)
    with pa.ipc.new_stream(str(tmp_path / "s.arrow"), table.schema) as stream:
        stream.write_table(table)
    for name in ("a.feather", "s.arrow"):
        opened = open_table(tmp_path / name)
        assert max(len(piece) for piece in opened.pieces(40)) <= 40
        assert np.array_equal(opened.read(), np.column_stack([table["a"], table["b"]]))


def test_archives_of_arrays_dense_and_sparse(tmp_path, rng):
    points = rng.standard_normal((20, 3))
    np.savez(tmp_path / "a.npz", points)
    sparse.save_npz(tmp_path / "b.npz", sparse.csc_matrix(points))
    for name in ("a.npz", "b.npz"):
        assert np.array_equal(np.concatenate(list(open_table(tmp_path / name).pieces(7))), points)
    np.savez(tmp_path / "c.npz", x=points, y=points)
    with pytest.raises(FedDPError, match=r"c\.npz must hold one array, got 2: x, y"):
        open_table(tmp_path / "c.npz")
    (tmp_path / "d.npz").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(FedDPError, match=r"d\.npz must be a readable \.npz table"):
        open_table(tmp_path / "d.npz")


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_clients_have_the_servers_features(tmp_path, zero_based):
    server = np.array([[1.0, 0, 2, 3], [1, 0, 0, 0]])
    (tmp_path / "clients").mkdir()
    dump_svmlight_file(server, [0, 1], str(tmp_path / "server.svm"), zero_based=zero_based)
    dump_svmlight_file(np.array([[0.0, 5, 0]]), [0], str(tmp_path / "clients" / "short.svm"), zero_based=zero_based)
    dump_svmlight_file(np.array([[0.0, 5, 0, 0, 0, 7]]), [0], str(tmp_path / "clients" / "tall.libsvm"), zero_based=zero_based)
    (tmp_path / "clients" / "none.svmlight").write_text("")
    table = open_table(tmp_path / "server.svm")
    assert table.read().tolist() == server.tolist()
    tables = open_clients(str(tmp_path / "clients"), like=table.columns)
    assert [client.read().tolist() for client in tables] == [[], [[0, 5, 0, 0]], [[0, 5, 0, 0]]]
    with pytest.raises(FedDPError, match="server data must be given for SVMlight clients"):
        open_clients(str(tmp_path / "clients"))


def test_svmlight_that_counts_otherwise_or_is_none_is_refused(tmp_path):
    with pytest.raises(FedDPError, match=r"a\.svm must hold one row per line"):
        open_table(write(tmp_path / "a.svm", "1 0:3\n"), like=("x1", "x2")).check()
    with pytest.raises(FedDPError, match=r"a\.svm must be used with SVMlight files only"):
        open_table(tmp_path / "a.svm", like=("age",)).read()
    with pytest.raises(FedDPError, match=r"b\.svm must hold one row per line"):
        open_table(write(tmp_path / "b.svm", "1 2:x\n"), like=("x1",)).check()


def test_a_line_of_svmlight_that_does_not_parse_is_left_out_by_itself(tmp_path):
    lines = [f"1 1:{i} 2:0.5" for i in range(20)]
    lines[3], lines[11], lines[17] = "1 2:1 1:1", "1 0:5 1:1", "\0\xff 1:"
    table = open_table(write(tmp_path / "a.svm", "\n".join(lines)), like=("x1", "x2"))
    expected = [[i, 0.5] for i in range(20) if i not in {3, 11, 17}]
    assert table.read().tolist() == expected
    with logged(level=logging.WARNING) as told:
        table.check()
    assert told == ["a.svm: 3 of 20 rows do not parse; they are left out."]


def test_columns_may_stand_in_any_order(tmp_path):
    write(tmp_path / "a.csv", "x,y\n1,2\n")
    write(tmp_path / "b.csv", "y,x\n2,1\n")
    pq.write_table(pa.table({"y": [2], "x": [1]}), tmp_path / "c.parquet")
    assert [t.read().tolist() for t in open_clients(str(tmp_path))] == 3 * [[[1, 2]]]
    assert [t.read().tolist() for t in open_clients(str(tmp_path), like=("y", "x"))] == 3 * [[[2, 1]]]
    assert [t.read().tolist() for t in open_clients(str(tmp_path), ignore=["y"])] == 3 * [[[1]]]


def test_one_bad_file_among_a_hundred_is_named_or_a_client_without_data(tmp_path):
    for index in range(100):
        write(tmp_path / f"{index:03}.csv", "x,y\n" + "1,2\n" * 3)
    open_clients(str(tmp_path))
    write(tmp_path / "057.csv", "x,y\n1,2\n3\n")
    assert open_clients(str(tmp_path))[57].read().tolist() == [[1, 2]]
    write(tmp_path / "057.csv", "")
    with pytest.raises(FedDPError, match=r"^057\.csv must be a readable \.csv table: it is empty\. With --skip-broken it is a client w"):
        open_clients(str(tmp_path))
    with logged(level=logging.WARNING) as told:
        tables = open_clients(str(tmp_path), skip_broken=True)
    assert [len(table.read()) for table in tables] == [3] * 57 + [0] + [3] * 42
    assert told == ["057.csv must be a readable .csv table: it is empty. It is a client without data."]
    assert [tables[57].columns, [p.shape for p in tables[57].pieces(9)]] == [("x", "y"), []]
    with pytest.raises(FedDPError, match="clients must have at least one file that can be read, got none"):
        open_clients(str(tmp_path / "057.csv"), skip_broken=True)


def test_a_million_rows_are_streamed(tmp_path):
    numbers = np.arange(1_000_000)
    pa.csv.write_csv(pa.table({"a": numbers, "b": numbers / 2, "c": numbers % 7}), tmp_path / "a.csv")
    table = open_table(tmp_path / "a.csv")
    total, n_rows = np.zeros(3), 0
    tracemalloc.start()
    for piece in table.pieces(10_000):
        total += piece.sum(axis=0)
        n_rows += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_rows == 1_000_000
    assert total.tolist() == [numbers.sum(), numbers.sum() / 2, (numbers % 7).sum()]
    assert peak < 4 << 20  # 24 MB as one array


def test_a_word_that_is_no_text_among_the_clients_names_is_one_rows_own_matter(tmp_path):
    """Arrow keeps text as it is; the batch that holds such a word is decoded anew, and stays one table with the others."""
    places = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32).tobytes())
    words = [pa.array(["a", "b"]), pa.Array.from_buffers(pa.string(), 2, [None, places, pa.py_buffer(b"a\xff")])]
    batches = [pa.record_batch({"x": pa.array([1.0, 2.0]), "who": names}) for names in words]
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), batches[0].schema) as file:
        for batch in batches:
            file.write(batch)
    points, owners = read_grouped(open_table(tmp_path / "a.arrow", ignore=("who",)), "who")
    assert points.ravel().tolist() == [1.0, 2.0, 1.0, 2.0]
    assert owners.tolist() == [0, 1, 0, 2]


def test_a_client_is_one_client_however_its_name_is_spaced_or_composed(tmp_path):
    path = write(tmp_path / "a.csv", 'who,x\na,1\n"a",2\n a,3\na\u00a0,4\nA,5\n\u00e9,6\ne\u0301,7\n7,8\n7.0,9\n')
    assert read_grouped(open_table(path, ignore=("who",)), "who")[1].tolist() == [0, 0, 0, 0, 1, 2, 2, 3, 3]


def test_a_place_without_tables_gets_one_line_on_what_is_there(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "stats").mkdir()
    (tmp_path / "stats" / "survey.sav").write_bytes(b"$FL2")
    for where, message in (
        ("empti", r"^clients must exist, got '.*empti', where there is no file or folder: is it '.*empty'\?$"),
        ("none/at/all", r"^clients must exist, got '.*', where there is no file or folder\.$"),
        ("empty", r"^clients must be tables, got a folder without files, '.*empty'\.$"),
        ("empty/*.csv", r"^clients must match the pattern, got no file for '.*csv'\.$"),
        ("stats", r"^clients must be tables, got none at '.*stats', only survey\.sav; save it as \.csv in a statistics program\.$"),
        ("stats/survey.sav", r"^survey\.sav must be a table whose name ends in .*: save it as \.csv in a statistics program\.$"),
    ):
        with pytest.raises(FedDPError, match=message):
            open_clients(str(tmp_path / where))


@pytest.mark.parametrize("where", ["s3a://bucket/points", "hdfs://name/points/*.parquet"])
def test_a_place_elsewhere_is_refused_with_a_way_to_read_it(where):
    with pytest.raises(FedDPError, match=r"^clients must be files of this machine, got '.*'\. In Python, .*spark\.read\.parquet\('.*'\)"):
        open_clients(where)


def test_neither_the_server_table_nor_what_a_run_wrote_nor_another_file_is_a_client(tmp_path):
    for name in ("a.csv", "sub/b.csv", "public.csv", "README.txt", "schema.json", "a.labels.csv.gz", "A.LABELS.CSV", ".hidden.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, "x,y\n1,2\n")
    run = tmp_path / "run"
    (run / "releases").mkdir(parents=True)
    for name in ("result.json", "report.html", "releases/releases.json", "report.csv"):
        write(run / name, "x,y\n1,2\n")
    np.save(run / "releases" / "0.npy", np.zeros((1, 2)))
    for folder in (run, tmp_path, tmp_path / "sub"):  # next to a result, and a table that is only called so
        pq.write_table(pa.table({"x": [1], "y": [2]}), folder / "centers.parquet")
    with logged() as told:
        found = open_clients(str(tmp_path), server=tmp_path / "sub" / ".." / "public.csv")
    assert [table.path.name for table in found] == ["a.csv", "centers.parquet"]
    assert told == ["Not read as clients: A.LABELS.CSV, README.txt, a.labels.csv.gz, public.csv, schema.json"]
    for pattern, names in {
        "**/*.parquet": ["centers.parquet", "sub/centers.parquet"],
        "**/*.csv": ["a.csv", "run/report.csv", "sub/b.csv"],
        "*/centers.parquet": ["sub/centers.parquet"],
    }.items():
        paths = client_paths(str(tmp_path / pattern), tmp_path / "public.csv")
        assert [path.relative_to(tmp_path).as_posix() for path in paths] == names
    with pytest.raises(FedDPError, match="clients must be tables, got none at"):
        client_paths(str(run / "**/*.npy"))


def test_three_broken_files_of_a_hundred_cost_one_line_and_one_retry(tmp_path):
    for index in range(100):
        write(tmp_path / f"{index:03}.csv", "x,y\n1,2\n")
    write(tmp_path / "007.csv", "")
    (tmp_path / "042.csv").write_bytes("größe,y\n1,2\n".encode("latin-1"))
    (tmp_path / "077.csv").unlink()
    (tmp_path / "077.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FedDPError) as refused:
        open_clients(str(tmp_path))
    first = "007.csv must be a readable .csv table: it is empty."
    more = "Nor can 2 more of the 100 files be read: 042.csv, 077.parquet. With --skip-broken they are clients without data."
    assert str(refused.value) == f"{first} {more}"
    with logged():
        assert [len(table.read()) for table in open_clients(str(tmp_path), skip_broken=True)].count(0) == 3


def test_a_table_without_any_usable_row_is_told(tmp_path):
    write(tmp_path / "a.csv", "x,y\n" + ",\n" * 3)
    with logged() as told:
        open_clients(str(tmp_path))
    assert told[-1] == "No row of these data can be used: they add noise to a result, and nothing else."


def test_rows_that_all_are_left_out_are_told_with_the_column_that_does_it(tmp_path):
    write(tmp_path / "a.csv", "x,hole,y\n" + "1,,2\n" * 9 + ",3,4\n")
    with logged() as told:
        open_clients(str(tmp_path))
    assert told == [
        (
            f"a.csv: 10 of 10 rows have a cell that is missing or not a number; {FILLED}. "
            "Cells are missing most often in 'hole': --ignore keeps rows by leaving out a column."
        )
    ]
    with logged() as told:
        open_clients(str(tmp_path), ignore=["hole"])
    assert told == [f"a.csv: 1 of 10 rows have a cell that is missing or not a number; {FILLED}."]


def test_a_long_reading_says_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(point_files, "_SILENT_SECONDS", 0.0)
    write(tmp_path / "a.csv", "x,y\n" + "1,2\n" * 200_000)
    write(tmp_path / "b.csv", "x,y\n1,2\n")
    with logged() as told:
        open_clients(str(tmp_path))
    assert told[:2] == ["a.csv: 65,536 rows read so far", "a.csv: 131,072 rows read so far"]
    assert told[-1] == "2 of 2 files read so far"
    monkeypatch.undo()
    with logged() as told:
        open_clients(str(tmp_path))
    assert told == []


@pytest.mark.parametrize(
    ("header", "got", "ignored"),
    [
        ("x,Y", "no 'y', but 'Y': rename columns in the file, or", "--ignore y --ignore Y"),
        ("x,y,my name", "also 'my name':", "--ignore 'my name'"),
        ("x", "no 'y': add what is missing to the file, or", "--ignore y"),
    ],
)
def test_other_columns_are_named_and_what_to_type_works(tmp_path, header, got, ignored):
    write(tmp_path / "a.csv", "x,y\n1,2\n")
    write(tmp_path / "b.csv", f"{header}\n{','.join('123'[: header.count(',') + 1])}\n")
    with pytest.raises(FedDPError) as refused:
        open_inputs(str(tmp_path), None)
    told = f"b.csv must have the columns of the other tables, x, y, got {got} leave out what not all tables have, with {ignored}."
    assert str(refused.value) == told
    names = shlex.split(ignored)[1::2]
    assert open_inputs(str(tmp_path), None, StatedColumns(ignore=tuple(names))).federation.n_clients == 2
    with pytest.raises(FedDPError, match="--ignore must name a column of the tables, got 'none'"):
        open_inputs(str(tmp_path), None, StatedColumns(ignore=("none", *names)))
    write(tmp_path / "b.csv", "q,r\n1,2\n")
    with pytest.raises(FedDPError, match=r"got no 'x', 'y', but 'q', 'r': rename columns in the file\.$"):
        open_inputs(str(tmp_path), None)


def test_several_files_are_read_as_their_pattern(tmp_path):
    for name in ("b.csv", "a.csv", "a.labels.csv", "public.csv", "note.md"):
        write(tmp_path / name, "x,y\n1,2\n")
    names = tuple(str(path) for path in tmp_path.iterdir())
    for where in (names, (*names, str(tmp_path / "a.csv")), (str(tmp_path / "a*"), str(tmp_path / "b*")), str(tmp_path / "*")):
        assert [path.name for path in client_paths(where, tmp_path / "public.csv")] == ["a.csv", "b.csv"]
    assert open_inputs(names, None).federation.n_clients == 3
    for wrong, told in (
        ((str(tmp_path), names[0]), "clients must be files if there are several, got the folder"),
        ((str(tmp_path / "c.csv"), names[0]), "clients must exist, got .*: is it"),
        ((str(tmp_path / "a.labels.csv"), str(tmp_path / "note.md")), "clients must be tables, got none at"),
    ):
        with pytest.raises(FedDPError, match=told):
            client_paths(wrong)
    with pytest.raises(FedDPError, match="clients must be one table if a client column is given, got 5 files"):
        open_inputs(names, None, client_column="x")


@pytest.mark.parametrize(
    ("owners", "starts"),
    [
        (["a", "a", "b", "d", "d", "d"], [0, 2, 3, 6]),
        ([1, 1, 2, 7, 7, 9], [0, 2, 3, 5, 6]),
        (["a"] * 6, [0, 6]),
        (pa.array(["a", "b", "b", "c", "c", "c"]).dictionary_encode(), [0, 1, 3, 6]),
        ([False, False, False, True, True, True], [0, 3, 6]),
        (["b", "b", "a", "a", "c", "c"], None),
        ([1.0, 2.0, float("nan"), 3.0, 4.0, 5.0], None),
        (["a", "b", None, "c", "c", "d"], None),
        ([], None),
    ],
)
@pytest.mark.parametrize("piece", [1, 2, 5, 100])
def test_where_the_clients_of_a_sorted_table_start(owners, starts, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(point_files, "PIECE", piece)
    monkeypatch.setattr(client_files, "PIECE", piece)
    who = owners if isinstance(owners, pa.Array) else pa.array(owners, None if owners else pa.string())
    pq.write_table(pa.table({"x": np.arange(float(len(who))), "who": who}), tmp_path / "a.parquet")
    source = open_table(tmp_path / "a.parquet", ignore=("who",))
    found = sorted_starts(source, "who")
    assert (found if found is None else found.tolist()) == starts
    if starts is not None:  # the same clients in the same order as those of the table in memory
        points, numbers = read_grouped(source, "who")
        expected = TableSilo.from_groups(points, numbers).nonprivate_clients()
        streamed = SortedSilo(source, found).nonprivate_clients()
        assert all(np.array_equal(one, other) for one, other in zip(expected, streamed, strict=True))
