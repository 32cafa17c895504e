"""``feddp sample`` as a person runs it."""

import json

import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.cli.command import feddp

PRIVACY = {"epsilon": 1, "delta": 1e-6, "privacy_unit": "point", "guarantee": "", "secure": True, "ledger": [], "plan": {}}
RESULT = PRIVACY | {"format": 1, "version": "0", "method": "refined", "n_clusters": 1, "centers": [[1.0, 2.0]], "noisy_counts": [9.0]}
RESULT |= {"columns": ["a", "b"], "spread": [0.5]}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "result.json").write_text(json.dumps(RESULT))
    return tmp_path


@pytest.mark.parametrize(("name", "read"), [("rows.csv", pyarrow.csv.read_csv), ("rows.parquet", pyarrow.parquet.read_table)])
def test_rows_are_written(folder, name, read):
    done = feddp("sample", "run", "-n", 50, "--out", name, cwd=folder)
    assert (done.returncode, "50 made-up rows" in done.stdout) == (0, True), done.stderr
    rows = read(folder / name)
    assert rows.column_names == ["synthetic", "a", "b"]
    assert rows.num_rows == 50
    again = feddp("sample", "run", "--out", name, cwd=folder)
    assert (again.returncode, "--force" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--out", "rows.txt"), "--out must end in .csv or .parquet"),
        (("--out", "rows.csv", "--profile", "run/result.json"), "--profile must be a file that feddp profile wrote"),
        (("--out", "rows.csv", "--profile", "none.json"), "--profile must be a file"),
    ],
)
def test_refusals_are_one_line(folder, given, told):
    done = feddp("sample", "run", *given, cwd=folder)
    assert (done.returncode, told in done.stderr, len(done.stderr.strip().splitlines())) == (1, True, 1), done.stderr
