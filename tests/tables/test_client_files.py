"""Tables on disk: read in pieces, refused by name."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.client_files import check_client_column, open_clients, open_table, read_grouped
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
    pa.parquet.write_table(pa.table({name: points[:, i] for i, name in enumerate("abc")}), tmp_path / "a.parquet", row_group_size=7)
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
        ("a.csv", "3,2,5\n1,2,3\n", "a.csv must start with a line that names its columns, got a row of numbers"),
        ("a.csv", "", "a.csv must be a readable .csv table"),
        ("a.parquet", "not parquet", "a.parquet must be a readable .parquet table"),
        ("a.npy", "not npy", "a.npy must be a readable .npy table"),
        ("a.txt", "1 2", "file must end in one of"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_by_name(tmp_path, name, content, message):
    with pytest.raises(FedDPError, match=message):
        open_table(write(tmp_path / name, content)).check()


def test_a_word_far_down_a_csv_is_a_row_left_out(tmp_path):
    rows = "\n".join(["1.5,2"] * 300_000)
    table = open_table(write(tmp_path / "a.csv", f"a,b\n{rows}\noops,3\n4,5,6\n"))
    with logged() as told:
        table.check()
    assert told == ["a.csv: 2 of 300,002 rows are left out (1 do not parse, 1 have a cell that is missing or not a number)."]
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
    with pytest.raises(FedDPError, match="got none at"):
        open_clients(str(tmp_path / "*.parquet"))
    write(tmp_path / "c.csv", "x,z\n1,2\n")
    with pytest.raises(FedDPError, match=r"c\.csv must have 2 columns \(x, y\) like the other tables, got 2 columns \(x, z\)"):
        open_clients(str(tmp_path))


def test_one_table_with_a_client_column(tmp_path):
    path = write(tmp_path / "a.csv", "who,x,y\nann,1,2\nbob,3,4\nann,5,6\n")
    source = open_table(path, ignore=["who"])
    points, owners = read_grouped(source, "who")
    assert source.columns == ("x", "y")
    assert points.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert owners.tolist() == [0, 1, 0]
    with pytest.raises(FedDPError, match=r"client column 'whom' must be in a\.csv"):
        check_client_column(path, "whom")
    with pytest.raises(FedDPError, match=r"a\.csv must have 2 columns \(x, z\) like the other tables, got 2 columns \(x, y\)"):
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
    with logged() as told:
        table.check()
    assert told == ["a.svm: 3 of 20 rows are left out (3 do not parse, 0 have a cell that is missing or not a number)."]


def test_columns_may_stand_in_any_order(tmp_path):
    write(tmp_path / "a.csv", "x,y\n1,2\n")
    write(tmp_path / "b.csv", "y,x\n2,1\n")
    pa.parquet.write_table(pa.table({"y": [2], "x": [1]}), tmp_path / "c.parquet")
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
    with pytest.raises(FedDPError, match=r"^057\.csv must be a readable \.csv table: it is broken, or not what its name says\.$"):
        open_clients(str(tmp_path))
    with logged() as told:
        tables = open_clients(str(tmp_path), skip_broken=True)
    assert [len(table.read()) for table in tables] == [3] * 57 + [0] + [3] * 42
    assert told == ["057.csv must be a readable .csv table: it is broken, or not what its name says. It is a client without data."]
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
