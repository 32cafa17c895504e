"""``feddp evaluate``: exact numbers, and the word NON-PRIVATE first."""

import json

import numpy as np
import pytest

from feddp_kmeans.cli.evaluate import nonprivate_evaluation
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report.finished_run import FinishedRun
from tests.cli.command import feddp


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    result = {"centers": [[0.0, 0.0], [10.0, 0.0], [99.0, 99.0]], "columns": ["a", "b"], "schema": None}
    (tmp_path / "run" / "result.json").write_text(json.dumps(result))
    (tmp_path / "clients").mkdir()
    (tmp_path / "clients" / "0.csv").write_text("b,a,more\n1,0,7\n-1,0,7\n,3,7\n")
    (tmp_path / "clients" / "1.csv").write_text("a,b\n10,1\n10,-1\n")
    (tmp_path / "clients" / "2.csv").write_text("a,b\n")
    return tmp_path


def test_the_first_line_says_non_private_and_the_numbers_are_exact(folder):
    done = feddp("evaluate", folder / "run", folder / "clients")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NON-PRIVATE")
    lines = {line.split("  ")[0]: line.split()[-1] for line in done.stdout.splitlines() if "  " in line}
    assert lines["cost per point"] == "1"
    assert lines["with one center"] == "26"  # 25 across, 1 up or down
    assert "4 (1 left out" in done.stdout


def test_one_table_with_a_client_column(folder):
    (folder / "all.csv").write_text("who,a,b\nann,0,0\nbob,10,0\n")
    done = feddp("evaluate", folder / "run", folder / "all.csv", "--client-column", "who")
    assert "points             2 (0 left out" in done.stdout
    wrong = feddp("evaluate", folder / "run", folder / "all.csv", "--client-column", "whom")
    assert (wrong.returncode, "client column 'whom' must be in all.csv" in wrong.stderr) == (1, True)


def test_sizes_and_costs_by_hand(folder):
    run = FinishedRun(np.array([[0.0, 0.0], [10.0, 0.0]]), ("a", "b"), None)
    made = nonprivate_evaluation(run, sorted((folder / "clients").iterdir()))
    assert made.sizes.tolist() == [2, 2]
    assert (made.cost, made.one_center_cost) == pytest.approx((1, 26))
    assert made.n_left_out == 1
    with pytest.raises(FedDPError, match="clients must have at least one point"):
        nonprivate_evaluation(run, [folder / "clients" / "2.csv"])


def test_several_files_are_those_of_their_pattern(folder):
    files = sorted((folder / "clients").glob("*.csv"))
    assert feddp("evaluate", folder / "run", *files).stdout == feddp("evaluate", folder / "run", folder / "clients").stdout
