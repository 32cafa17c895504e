"""feddp bench: real runs, in processes of their own, and what is written of them."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import pytest

from feddp_studies.speed import large_runs, pass_speed, whole_runs_speed
from feddp_studies.speed.large_runs import LargeCase
from feddp_studies.speed.pass_speed import Pass
from feddp_studies.speed.speed_figure import draw_speed
from feddp_studies.speed.speed_tables import BLOCKS
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


def page_with(folder, names):
    marked = "".join(f"\n<!-- begin {name} -->\nold\n<!-- end {name} -->\n" for name in names)
    (folder / "scale.md").write_text(f"Words of a person.\n{marked}\nMore words.\n")
    return folder / "scale.md"


@pytest.mark.slow
def test_a_page_gets_all_tables_and_keeps_its_words(tmp_path, monkeypatch):
    page = page_with(tmp_path, BLOCKS)
    monkeypatch.setattr(whole_runs_speed, "PAPER", SMALL)
    monkeypatch.setattr(whole_runs_speed, "GROWTH", ())
    monkeypatch.setattr(pass_speed, "PASSES", (Pass("A", 500, 20, 3),))
    many = (LargeCase(2000, 2, 10), LargeCase(2000, 2, 20), LargeCase(2000, 3, 10, server_per_cluster=10))
    monkeypatch.setattr(large_runs, "MANY", many)
    clients = LargeCase(2000, 5, kind="float32", unit="client", method="paper", server_per_cluster=10)
    monkeypatch.setattr(large_runs, "MEMORY", (LargeCase(2000, 5, server_per_cluster=10), clients))
    done = feddp("bench", "--page", tmp_path, "--out", tmp_path / "bench")
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("Words of a person.")
    assert text.endswith("More words.\n")
    assert "old" not in text
    assert text.count("Printed by `feddp bench --page` at commit ") == len(BLOCKS)
    assert "| 6.4 (recorded) |" in text
    assert "| points | server data | k = 10 | k = 20 |" in text
    assert "| 2,000 x 3 | yes |" in text
    assert "| 0 | float32 | client | paper |" in text
    found = json.loads((tmp_path / "bench" / "bench.json").read_text())
    assert all(row["cpu_seconds"] > 0 and row["above_mb"] >= 0 for row in (*found["many"], *found["memory"]))


def test_a_page_is_refused_before_anything_is_measured(tmp_path):
    page = page_with(tmp_path, BLOCKS)
    quick = feddp("bench", "--quick", "--page", tmp_path, "--out", tmp_path / "bench")
    assert quick.returncode != 0
    assert "--page must be given without --quick" in quick.stderr
    page_with(tmp_path, BLOCKS[:-1])
    before = page.read_text()
    missing = feddp("bench", "--page", tmp_path, "--out", tmp_path / "bench")
    assert missing.returncode != 0
    assert BLOCKS[-1] in missing.stderr
    assert page.read_text() == before
    assert not (tmp_path / "bench").exists()


def test_our_own_page_has_every_block():
    text = (Path(__file__).parents[3] / "docs" / "scale.md").read_text()
    assert all(f"<!-- begin {name} -->\n" in text and f"<!-- end {name} -->" in text for name in BLOCKS)
