"""Tables on disk: read in pieces, refused by name."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.data.tables import check_same_columns, open_clients, open_table, read_grouped


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
        ("a.csv", "a,city\n1,Paris\n", "column 'city' of a.csv must be numeric, got string"),
        ("a.csv", "", "a.csv must be a readable .csv table"),
        ("a.parquet", "not parquet", "a.parquet must be a readable .parquet table"),
        ("a.npy", "not npy", "a.npy must be a readable .npy table"),
        ("a.txt", "1 2", "file must end in one of"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_by_name(tmp_path, name, content, message):
    with pytest.raises(FedDPError, match=message):
        open_table(write(tmp_path / name, content))


def test_text_far_down_a_csv_is_refused_by_name(tmp_path):
    rows = "\n".join(["1.5,2"] * 300_000)
    table = open_table(write(tmp_path / "a.csv", f"a,b\n{rows}\noops,3\n"))
    with pytest.raises(FedDPError, match=r"a\.csv must be a readable \.csv table"):
        table.read()


def test_an_array_of_another_shape_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(FedDPError, match="two-dimensional array of numbers, got float64 of shape"):
        open_table(tmp_path / "a.npy")
    np.save(tmp_path / "p.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(FedDPError, match=r"p\.npy must be a readable"):
        open_table(tmp_path / "p.npy")
    with pytest.raises(FedDPError, match="file must exist"):
        open_table(tmp_path / "none.csv")


def test_a_folder_or_a_pattern_of_clients(tmp_path):
    for name in ("b.csv", "a.csv", ".hidden.csv"):
        write(tmp_path / name, "x,y\n1,2\n")
    assert [t.path.name for t in open_clients(str(tmp_path))] == ["a.csv", "b.csv"]
    assert [t.path.name for t in open_clients(str(tmp_path / "b*.csv"))] == ["b.csv"]
    with pytest.raises(FedDPError, match="got none at"):
        open_clients(str(tmp_path / "*.parquet"))
    write(tmp_path / "c.csv", "x,z\n1,2\n")
    with pytest.raises(FedDPError, match=r"a\.csv has 2 columns \(x, y\), c\.csv has 2 columns \(x, z\)"):
        open_clients(str(tmp_path))


def test_one_table_with_a_client_column(tmp_path):
    path = write(tmp_path / "a.csv", "who,x,y\nann,1,2\nbob,3,4\nann,5,6\n")
    points, owners, columns = read_grouped(path, "who")
    assert columns == ("x", "y")
    assert points.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert owners.tolist() == [0, 1, 0]
    with pytest.raises(FedDPError, match=r"client column 'whom' must be in a\.csv"):
        read_grouped(path, "whom")
    with pytest.raises(FedDPError, match="server data must have the clients' columns"):
        check_same_columns(open_table(write(tmp_path / "s.csv", "x,z\n1,2\n")), columns)
