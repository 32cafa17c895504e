"""Runs: rows with every field, nothing lost and nothing repeated after an interruption."""

import json
import math
import shutil
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from feddp_kmeans.mixture import gaussian_mixture
from feddp_studies.reproduction import execute as execution
from feddp_studies.reproduction import problems, runner
from feddp_studies.reproduction.figures import draw
from feddp_studies.reproduction.peers import best_recorded
from feddp_studies.reproduction.results_page import claims_markdown, render_page
from feddp_studies.reproduction.spec import Config, Experiment
from feddp_studies.reproduction.specs import EXPERIMENTS

TINY = Experiment(
    name="tiny",
    title="A tiny mixture",
    paper="nowhere",
    problems=["tiny"],
    configs=[
        Config("refined"),
        Config("paper", 0, (0.2, 0.2, 0.45, 0.15)),
        Config("published-noise", 0, (0.2, 0.2, 0.45, 0.15)),
        Config("server-lloyds", 1),
        Config("k-fed"),
        Config("oracle-floor"),
    ],
    epsilons=[1.0, 4.0],
    seeds=2,
)
CONTRACT = {"dataset", "method", "unit", "epsilon", "delta", "lloyd_steps", "shares", "seed", "cost", "optimal_cost", "seconds", "version"}


def load(seed, _tables):
    return gaussian_mixture(seed, n_clients=4, client_size=300, k=10, dimension=12, variance=0.02)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(problems.LOADERS, "tiny", load)
    execution._problem.cache_clear()
    yield
    execution._problem.cache_clear()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with all runs of the tiny experiment, and their rows."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(problems.LOADERS, "tiny", load)
        execution._problem.cache_clear()
        rows = runner.run_trials(TINY, folder)
    execution._problem.cache_clear()
    return folder, rows


def test_a_row_has_every_field_and_honest_epsilons(whole):
    folder, rows = whole
    assert all(set(row) >= CONTRACT for row in rows)
    table = pq.read_table(folder / "tiny" / "runs.parquet")
    assert table.num_rows == len(rows) == 2 * (5 * 2 + 1)
    assert set(table.column_names) >= CONTRACT
    for row in rows:
        assert row["cost"] >= row["optimal_cost"] * (1 - 1e-9)
        if row["method"] == "published-noise":
            assert row["epsilon_spent"] > 1.2 * row["epsilon"]
            assert row["step_1_times"] > 1
            assert not row["private"]
            assert row["guarantee"].startswith("NOT PRIVATE")
        elif row["method"] in ("refined", "paper", "server-lloyds"):
            assert 0.97 * row["epsilon"] < row["epsilon_spent"] <= row["epsilon"]
        else:
            assert row["epsilon_spent"] == math.inf
            assert not row["private"]


def test_finished_runs_are_kept_and_not_repeated(tiny, whole, tmp_path, monkeypatch):
    made = []

    def stop_after_five(trial, tables, optima):
        if len(made) == 5:
            raise KeyboardInterrupt
        made.append(trial)
        return execution.execute(trial, tables, optima)

    monkeypatch.setattr(runner, "execute", stop_after_five)
    with pytest.raises(KeyboardInterrupt):
        runner.run_trials(TINY, tmp_path / "cut")
    journal = tmp_path / "cut" / "tiny" / "runs.jsonl"
    assert len(journal.read_text().splitlines()) == 5
    # A crash in the middle of a line.
    with journal.open("a") as file:
        file.write('{"key": "half a li')
    again = []

    def count(trial, tables, optima):
        again.append(trial)
        return execution.execute(trial, tables, optima)

    monkeypatch.setattr(runner, "execute", count)
    resumed = runner.run_trials(TINY, tmp_path / "cut")
    assert not set(made) & set(again)
    assert len(made) + len(again) == len(TINY.trials())
    assert [row["cost"] for row in resumed] == [row["cost"] for row in whole[1]]
    assert all(json.loads(line) for line in journal.read_text().splitlines())


def test_runs_of_another_version_do_not_count(whole, tmp_path):
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    journal = tmp_path / "tiny" / "runs.jsonl"
    old = [json.loads(line) | {"version": "0.0.0"} for line in journal.read_text().splitlines()]
    journal.write_text("".join(json.dumps(row) + "\n" for row in old))
    assert runner.read_journal(tmp_path / "tiny") == []


def test_figures_and_page(whole, tmp_path):
    _, rows = whole
    (tmp_path / "tiny").mkdir()
    svg, png = draw(TINY, rows, tmp_path / "tiny")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "NOT PRIVATE" in svg.read_text()
    page = render_page([TINY], {"tiny": rows}, tmp_path)
    assert "NON-PRIVATE" in page
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace("http://creativecommons.org", "")
    assert "<script" not in page
    assert claims_markdown({}).startswith("| the paper says")


def test_the_elbow_and_the_assumptions(tiny, tmp_path):
    elbow = Experiment(
        "elbow",
        "t",
        "p",
        ["tiny"],
        [Config("elbow of paper"), Config("elbow of refined")],
        [50.0],
        1,
        kind="elbow",
        cluster_numbers=range(1, 13),
    )
    rows = runner.run_trials(elbow, tmp_path)
    costs = np.array([row["cost"] for row in rows])
    assert costs[0] > 3 * costs[9]
    assert len(draw(elbow, rows, tmp_path / "elbow")) == 2
    checks = Experiment("assumptions", "t", "p", ["tiny"], [Config("assumptions")], [1.0], 1, kind="assumptions")
    (row,) = runner.run_trials(checks, tmp_path)
    assert row["radius"] > 0
    assert "assumption (1)" in row["assumption_1"]
    assert all(f"({form})" in row["assumption_2"] for form in ("body", "appendix"))
    assert draw(checks, [row], tmp_path) == []
    assert "assumption (2)" in render_page([checks], {"assumptions": [row]}, tmp_path)


def test_a_run_of_another_experiment_in_the_folder_is_taken_from_there(tiny, whole, tmp_path, monkeypatch):
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    _, first = whole
    twin = Experiment("twin", "t", "p", ["tiny"], TINY.configs[:2], TINY.epsilons, 1, kind="missing")
    monkeypatch.setattr(runner, "execute", None)
    rows = runner.run_trials(twin, tmp_path)
    assert {row["key"] for row in rows} <= {row["key"] for row in first}
    assert {row["key"] for row in runner.read_journal(tmp_path / "twin")} == {row["key"] for row in rows}
    assert len(draw(twin, rows, tmp_path / "twin")) == 2


def test_a_rival_whose_library_is_not_here_is_left_out_with_a_line(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "clustering", None)
    lone = Experiment("lone", "t", "p", ["tiny"], [Config("google-lsh"), Config("server-lloyds", 1)], [1.0], 1)
    why = []
    (row,) = runner.run_trials(lone, tmp_path, on_skip=why.append)
    assert row["method"] == "server-lloyds"
    assert why[0].startswith("google-lsh: left out. google-lsh must be installed by hand")


def test_central_data_without_server_data_beside_recorded_programs(tmp_path):
    small = replace(EXPERIMENTS["peers-central"], problems=["digits"], configs=[Config("refined"), Config("dp-lloyd", 7)], epsilons=[8.0])
    rows = runner.run_trials(small, tmp_path, seeds=1)
    costs = {row["method"]: row["cost"] for row in rows}
    assert costs["refined"] < min(costs["dp-lloyd"], best_recorded("digits", 8.0))
    assert all(row["epsilon_spent"] <= 8.0 for row in rows)
    assert len(draw(small, rows, tmp_path)) == 2
    assert "best recorded program" in claims_markdown({"peers-central": rows})
