"""feddp bench: real runs, in processes of their own, and what is written of them."""

import json
import math
from dataclasses import asdict

import pytest

from feddp_studies.speed import pass_speed, whole_runs_speed
from feddp_studies.speed.pass_speed import Pass
from feddp_studies.speed.speed_figure import draw_speed
from feddp_studies.speed.whole_runs_speed import GROWTH, METHODS, PAPER, SpeedCase, growth
from tests.cli.command import feddp

SMALL = (SpeedCase("paper", 3, 30, 4, 2, recorded=6.4),)


@pytest.mark.slow
def test_a_bench_writes_json_and_a_picture_and_names_what_was_recorded_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_runs_speed, "QUICK", SMALL)
    monkeypatch.setattr(pass_speed, "QUICK_PASSES", (Pass("A", 500, 20, 3), Pass("C", 500, 4, 60)))
    done = feddp("bench", "--quick", "--out", tmp_path / "bench")
    assert done.returncode == 0, done.stderr
    assert "recorded on another machine" in done.stdout
    assert "6.4" in done.stdout
    found = json.loads((tmp_path / "bench" / "bench.json").read_text())
    assert [row["method"] for row in found["runs"]] == ["paper", "refined"]
    assert all(0 < row["plan_cpu_seconds"] < row["cpu_seconds"] for row in found["runs"])
    assert all(10 < row["data_mb"] <= row["peak_mb"] for row in found["runs"])
    assert set(found["machine"]) == {"processor", "cores", "threads", "system", "blas", "versions"}
    whos = {row["who"] for row in found["passes"]}
    assert {"scikit-learn's inner loop", "ours, numpy"} <= whos
    for what in {row["what"] for row in found["passes"]}:
        (peer,) = [row for row in found["passes"] if row["what"] == what and row["is_peer"]]
        assert peer["ratio"] == peer["least"] == peer["greatest"] == 1
    assert (tmp_path / "bench" / "bench.svg").read_text().startswith("<?xml")


def test_the_picture_has_a_panel_for_everything_that_grows(tmp_path):
    runs = [asdict(case) | {"name": case.name, "n_points": case.n_points, "method": m} for case in (*PAPER, *GROWTH) for m in METHODS]
    draw_speed({"runs": [run | {"cpu_seconds": 1.0 + i} for i, run in enumerate(runs)]}, tmp_path / "bench.svg")
    drawn = (tmp_path / "bench.svg").read_text()
    assert all(f"growth in {what}" in drawn for what in "ndkm")


def test_growth_is_the_power_between_the_two_largest_cases():
    rows = [{"what": "d", "method": "paper", "dimension": d, "cpu_seconds": 1 + d**2} for d in (2, 4000, 1000)]
    (found,) = growth(rows)
    assert math.isclose(found["power"], 2, rel_tol=1e-5)
    assert (found["from"], found["to"]) == (1000, 4000)
