"""``feddp predict``: labels beside the input."""

import csv
import datetime as dt
import gzip
import json

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report.finished_run import read_run
from tests.cli.command import feddp
from tests.cli.mixed import mixed, write_mixed

CENTERS = [[0.0, 0.0], [10.0, 10.0]]


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run").mkdir()
    write_result(tmp_path, centers=CENTERS, columns=["a", "b"], schema=None)
    return tmp_path


def write_result(folder, **result):
    (folder / "run" / "result.json").write_text(json.dumps(result))


def predict(folder, name, *more):
    return feddp("predict", folder / "run", folder / name, *more)


def test_a_csv_keeps_its_rows_its_columns_and_its_cells(run):
    text = 'note;b;"a"\n"x;y";1,50;0\nz;;1\n"q ""u""";09;10,0\n'
    (run / "in.csv").write_text(text)
    done = predict(run, "in.csv")
    assert done.returncode == 0, done.stderr
    assert "NOT private" in done.stdout
    rows = list(csv.reader((run / "in.labels.csv").read_text().splitlines(), delimiter=";"))
    expected = [["note", "b", "a", "cluster"], ["x;y", "1,50", "0", "0"], ["z", "", "1", "-1"], ['q "u"', "09", "10,0", "1"]]
    assert rows == expected
    again = predict(run, "in.csv")
    assert (again.returncode, "use --force" in again.stderr) == (1, True)
    assert predict(run, "in.csv", "--force").returncode == 0
    assert predict(run, "in.csv", "--out", run / "run" / "other.csv").returncode == 0
    assert predict(run, "in.csv", "--out", run / "new.labels.csv").returncode == 0
    assert "--out must end in .labels.csv, or be in another folder" in predict(run, "in.csv", "--out", run / "other.csv").stderr
    assert sorted(path.name for path in run.iterdir()) == ["in.csv", "in.labels.csv", "new.labels.csv", "run"]


def test_a_folder_gets_one_file_of_labels_for_each_table_and_none_for_those(run):
    folder = run / "clients"
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n1,2\n9,9\n")
    (folder / "b.csv.gz").write_bytes(gzip.compress("a;b;größe\n9;9;é\n".encode("latin-1")))
    pa.parquet.write_table(pa.table({"b": [1.0], "a": [2.0]}), folder / "c.parquet")
    book = openpyxl.Workbook()
    for row in (["a", "b", "day"], [9, 9.5, dt.date(2026, 3, 1)]):
        book.active.append(row)
    book.save(folder / "d.xlsx")
    for _ in range(2):  # what was written is no client of the second call
        done = predict(run, "clients", "--force", "--encoding", "latin-1")
        assert done.returncode == 0, done.stderr
        names = ["a.csv", "a.labels.csv", "b.csv.gz", "b.labels.csv", "c.labels.parquet", "c.parquet", "d.labels.csv", "d.xlsx"]
        assert sorted(path.name for path in folder.iterdir()) == names
    assert (folder / "b.labels.csv").read_text(encoding="latin-1") == "a;b;größe;cluster\n9;9;é;1\n"
    assert (folder / "d.labels.csv").read_text() == "a,b,day,cluster\n9,9.5,2026-03-01,1\n"
    assert predict(run, "clients", "--out", run / "labels", "--encoding", "latin-1").returncode == 0
    assert len(list((run / "labels").iterdir())) == 4
    (folder / "a.tsv").write_text("a\tb\n1\t2\n")
    (folder / "a.csv.zst").write_bytes(pa.compress(b"a,b\n1,2\n", codec="zstd", asbytes=True))
    assert "tables must have different names without their endings" in predict(run, "clients", "--encoding", "latin-1").stderr


def test_parquet_and_feather_keep_their_types(run):
    table = pa.table({"b": pa.array([0, 11, None], pa.int32()), "a": [0.0, 9, 9], "when": pa.array([1, 2, 3], pa.timestamp("ms"))})
    expected = table.append_column("cluster", pa.array([0, 1, -1]))
    pa.parquet.write_table(table, run / "in.parquet")
    pa.feather.write_feather(table, run / "in.feather")
    for name, read in (("parquet", pa.parquet.read_table), ("feather", pa.feather.read_table)):
        assert predict(run, f"in.{name}").returncode == 0
        assert read(run / f"in.labels.{name}").equals(expected)


def test_arrays_get_an_array_of_labels(run):
    write_result(run, centers=CENTERS, columns=["x0", "x1"], schema=None)
    np.save(run / "in.npy", np.array([[1.0, 1], [9, 9], [np.nan, 0]]))
    assert predict(run, "in.npy").returncode == 0
    assert np.load(run / "in.labels.npy").tolist() == [0, 1, -1]
    np.save(run / "wide.npy", np.ones((2, 3)))
    assert (
        predict(run, "wide.npy").stderr
        == "feddp: wide.npy must have 2 columns (x0, x1) like the other tables, got 3 columns (x0, x1, x2).\n"
    )


def test_what_does_not_fit_is_refused_in_one_line(run):
    (run / "lost.csv").write_text("a,c\n1,2\n")
    assert predict(run, "lost.csv").stderr == "feddp: column 'b' must be in lost.csv, which has a, c.\n"
    (run / "taken.csv").write_text("a,b,cluster\n1,2,3\n")
    assert predict(run, "taken.csv").stderr == "feddp: taken.csv must not have a column 'cluster' already.\n"
    (run / "in.csv").write_text("a,b\n1,2\n")
    assert "--out must end in '.csv' for this input" in predict(run, "in.csv", "--out", run / "x.parquet").stderr
    (run / "ragged.csv").write_text("a,b\n" + "1\n" * 300_000 + "1,2\n")
    done = predict(run, "ragged.csv")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert not (run / "ragged.labels.csv").exists()
    (run / "odd.csv").write_text("a,b\n1,2\n1\n3,4\n")
    done = predict(run, "odd.csv")
    assert done.stderr.startswith("odd.csv: 1 of 3 rows do not parse")
    assert len((run / "odd.labels.csv").read_text().splitlines()) == 3


def test_a_mixed_run_labels_mixed_tables(tmp_path):
    folder = write_mixed(tmp_path)
    more = ("--server", folder / "server.csv", "-k", 3, "--epsilon", 2, "--out", folder / "run")
    assert feddp("fit", folder / "clients", *more).returncode == 0
    table, which = mixed(200, 7, holes=0.3)
    pa.csv.write_csv(table, folder / "new.csv")
    assert predict(folder, "new.csv").returncode == 0
    labels = pa.csv.read_csv(folder / "new.labels.csv")["cluster"].to_numpy()
    assert len({(label, kind) for label, kind in zip(labels, which, strict=True)}) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must hold a result of feddp fit: JSON must be readable"),
        ("[]", "must hold a result of feddp fit, got a list"),
        ('{"centers": [[1]], "columns": [1]}', "columns of result.json must be a list of names"),
        ('{"centers": [[1, 2]], "columns": ["a"]}', "centers of result.json must be rows of 1 finite numbers"),
        ('{"centers": [[NaN]], "columns": ["a"]}', "JSON must hold numbers, got NaN"),
        ('{"centers": [["inf"]], "columns": ["a"]}', "centers of result.json must be rows"),
        ('{"centers": [[1]], "columns": ["a"], "schema": {}}', "schema must have the keys"),
    ],
)
def test_what_is_no_run_is_refused_in_one_line(tmp_path, content, message):
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(FedDPError, match=message) as error:
        read_run(tmp_path)
    assert len(str(error.value).splitlines()) == 1


def test_several_tables_are_labelled_as_a_shell_names_them(run):
    for name in ("in", "more"):
        (run / f"{name}.csv").write_text("a,b\n1,1\n9,9\n")
    assert feddp("predict", run / "run", run / "in.csv", run / "more.csv").returncode == 0
    files = sorted(run.glob("*.csv"))
    assert [path.name for path in files] == ["in.csv", "in.labels.csv", "more.csv", "more.labels.csv"]
    assert feddp("predict", run / "run", *files, "--out", run / "labels").returncode == 0
    assert len(list((run / "labels").iterdir())) == 2
    done = feddp("predict", run / "run", *files, "--out", run / "in.csv")
    assert (done.returncode, "--out must be a folder if there are several tables" in done.stderr) == (1, True)
