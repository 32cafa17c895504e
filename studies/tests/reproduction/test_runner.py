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
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_studies.reproduction import execute as execution
from feddp_studies.reproduction import problems, runner, sources
from feddp_studies.reproduction.data_set import DataSet
from feddp_studies.reproduction.figures import draw
from feddp_studies.reproduction.methods import METHODS, REFINED_ONLY, ComparedMethod, Config
from feddp_studies.reproduction.peers import best_recorded
from feddp_studies.reproduction.printed_pages import blocks, write_page
from feddp_studies.reproduction.spec import ASSUMPTIONS, COST, ELBOW, Experiment, Trial
from feddp_studies.reproduction.specs import EXPERIMENTS
from tests.variants import slow_after

TINY = Experiment(
    name="tiny",
    title="A tiny mixture",
    paper="nowhere",
    data_sets=["tiny"],
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
CONTRACT = {"dataset", "method", "unit", "epsilon", "delta", "lloyd_steps", "shares", "seed", "cost", "optimal_cost", "seconds", "code"}
TINY_DATA = DataSet("tiny", gaussian_mixture, {"n_clients": 4, "client_size": 300, "dimension": 12, "variance": 0.02})


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(problems.DATA_SETS, "tiny", TINY_DATA)
    execution._problem.cache_clear()
    yield
    execution._problem.cache_clear()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with all runs of the tiny experiment, and their rows."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(problems.DATA_SETS, "tiny", TINY_DATA)
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


def test_a_table_that_was_handed_on_counts_like_a_journal(tiny, whole, tmp_path, monkeypatch):
    (tmp_path / "tiny").mkdir()
    shutil.copy(whole[0] / "tiny" / "runs.parquet", tmp_path / "tiny")
    monkeypatch.setattr(runner, "execute", pytest.fail)
    assert [row["cost"] for row in runner.run_trials(TINY, tmp_path)] == [row["cost"] for row in whole[1]]
    (tmp_path / "tiny" / "runs.parquet").unlink()
    assert [row["cost"] for row in runner.run_trials(TINY, tmp_path)] == [row["cost"] for row in whole[1]]


def test_runs_that_other_code_made_do_not_count(tiny, whole, tmp_path):
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    assert len(runner.read_journal(tmp_path / "tiny")) == len(whole[1])
    journal = tmp_path / "tiny" / "runs.jsonl"
    old = [json.loads(line) | {"code": "0"} for line in journal.read_text().splitlines()]
    journal.write_text("".join(json.dumps(row) + "\n" for row in old))
    assert runner.read_journal(tmp_path / "tiny") == []


def test_a_broken_baseline_is_noticed(tiny, whole, tmp_path, monkeypatch):
    """Its old rows do not count once its text is another; those of other methods do."""
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    broken = sources._text("feddp_studies.rivals.server_lloyds").replace("KMeans", "AnythingElse")
    texts = {"feddp_studies.rivals.server_lloyds": broken}
    original = sources._text
    monkeypatch.setattr(sources, "_text", lambda name: texts.get(name) or original(name))
    sources.code_hash.cache_clear()
    left = {row["method"] for row in runner.read_journal(tmp_path / "tiny")}
    sources.code_hash.cache_clear()
    assert left == {row["method"] for row in whole[1]} - {"server-lloyds"}


@pytest.mark.parametrize("measures", slow_after(1, [COST, ELBOW, ASSUMPTIONS]))
def test_what_a_method_says_it_never_runs_it_never_runs(tiny, tmp_path, measures):
    """Else its rows would outlive a change of that code."""
    found, names = set(), [row.method for row in TINY.configs] + ["server-kmeans++", "sphere-packing", "dp-lloyd"]
    for name in names if measures == COST else ["paper", "refined"]:
        sys.setprofile(lambda frame, *_, name=name: found.add((name, frame.f_globals.get("__name__"))))
        try:
            execution.execute(Trial("tiny", 0, Config(name), 4.0, 2 if measures == ELBOW else 0, measures), None, tmp_path)
        finally:
            sys.setprofile(None)
    run = {name: {module for method, module in found if method == name} for name in names}
    assert not [(name, module) for name in names for module in METHODS[name].without if module in run[name]]
    if measures == COST:
        assert REFINED_ONLY[0] in run["refined"]  # the test does see what is run


def test_rows_of_other_files_or_facts_do_not_count(tiny, whole, tmp_path, monkeypatch):
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.setitem(problems.DATA_SETS, "tiny", replace(TINY_DATA, arguments={**TINY_DATA.arguments, "variance": 0.03}))
    assert runner.read_journal(tmp_path / "tiny") == []
    (tmp_path / "table").write_text("1")
    known = replace(TINY_DATA, files=("table",))
    first = known.digest(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "table").write_text("2")
    assert "" != first != known.digest(tmp_path / "other") != ""
    assert known.digest(None) == known.digest(tmp_path / "nowhere") == ""


def test_figures_and_page(whole, tmp_path):
    _, rows = whole
    (tmp_path / "tiny").mkdir()
    svg, png = draw(TINY, rows, tmp_path / "tiny")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "NOT PRIVATE" in svg.read_text()
    assert "least to largest over seeds" in svg.read_text()
    page = write_page(tmp_path, blocks([TINY], {"tiny": rows}, quick=False))[1].read_text()
    assert "NON-PRIVATE" in page
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace("http://creativecommons.org", "")
    assert "<script" not in page
    assert "--quick" not in page
    assert "(`--quick`)" in blocks([TINY], {"tiny": rows}, quick=True)["printed"]


def test_a_method_of_ones_own_is_in_table_and_figure(tiny, tmp_path, monkeypatch):
    mine = ComparedMethod("mine", "My own method", METHODS["server-lloyds"].cluster, __name__, everywhere=[Config("mine", 1)])
    monkeypatch.setitem(METHODS, "mine", mine)
    small = replace(TINY, name="small", configs=[Config("refined")], epsilons=[4.0], seeds=1)
    rows = runner.run_trials(small, tmp_path)
    assert {row["method"] for row in rows} == {"refined", "mine"}
    assert "My own method" in draw(small, rows, tmp_path)[0].read_text()
    assert "| My own method |" in blocks([small], {"small": rows}, quick=False)["experiments"]


def test_the_elbow_and_the_assumptions(tiny, tmp_path):
    both = [Config("paper"), Config("refined")]
    elbow = Experiment("elbow", "t", "p", ["tiny"], both, [50.0], 1, kind="elbow", measures=ELBOW, cluster_numbers=range(1, 13))
    rows = runner.run_trials(elbow, tmp_path)
    costs = np.array([row["cost"] for row in rows])
    assert costs[0] > 3 * costs[9]
    data = gaussian_mixture(0, **TINY_DATA.arguments)
    spread = float(np.square(data.pooled - data.pooled.mean(axis=0)).sum(axis=1).mean())
    assert 0.3 * spread < costs[0] < 1.5 * spread  # in the data's own units
    assert len(draw(elbow, rows, tmp_path / "elbow")) == 2
    checks = Experiment("assumptions", "t", "p", ["tiny"], [Config("paper")], [1.0], 1, kind="assumptions", measures=ASSUMPTIONS)
    (row,) = runner.run_trials(checks, tmp_path)
    assert row["radius"] > 0
    assert "assumption (1)" in row["assumption_1"]
    assert all(f"({form})" in row["assumption_2"] for form in ("body", "appendix"))
    assert draw(checks, [row], tmp_path) == []
    assert "assumption (2) at epsilon 1" in blocks([checks], {"assumptions": [row]}, quick=False)["experiments"]


def test_samples_of_clients_and_other_bounds(tiny, tmp_path, monkeypatch):
    people = replace(
        TINY_DATA, name="people", arguments={"n_clients": 60, "client_size": 20, "dimension": 5}, unit=PrivacyUnit.CLIENT, client_size=20
    )
    monkeypatch.setitem(problems.DATA_SETS, "people", people)
    configs = [Config("paper", 0, bounds=2.0), Config("paper", 0), Config("paper", 0, sampling_rate=0.5)]
    cohorts = Experiment("cohorts", "t", "p", ["people"], configs, [8.0], 2, kind="cohorts")
    rows = runner.run_trials(cohorts, tmp_path)
    assert len({row["cost"] for row in rows}) == 6
    assert {(row["bounds"], row["sampling_rate"]) for row in rows} == {(2.0, 1.0), (1.0, 1.0), (1.0, 0.5)}
    assert len(draw(cohorts, rows, tmp_path)) == 2
    assert "| people |" in blocks([cohorts], {"cohorts": [row for row in rows if row["bounds"] == 1]}, quick=False)["experiments"]


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
    small = replace(EXPERIMENTS["peers-central"], data_sets=["digits"], configs=[Config("refined"), Config("dp-lloyd", 7)], epsilons=[8.0])
    rows = runner.run_trials(small, tmp_path, seeds=1)
    costs = {row["method"]: row["cost"] for row in rows}
    assert costs["refined"] < min(costs["dp-lloyd"], best_recorded("digits", 8.0))
    assert all(row["epsilon_spent"] <= 8.0 for row in rows)
    assert len(draw(small, rows, tmp_path)) == 2
    assert "| digits | 8 | 1 |" in blocks([small], {"peers-central": rows}, quick=False)["peers-central"]


def test_an_experiment_that_was_not_finished_or_is_stale_is_not_read(tiny, whole, tmp_path):
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    assert len(runner.read_runs(TINY, tmp_path, None, whole=False)) == len(whole[1])
    stale = [row | ({"code": "0"} if row["method"] == "refined" else {}) for row in whole[1]]
    runner.write_table(tmp_path / "tiny" / "runs.parquet", stale)
    assert runner.read_runs(TINY, tmp_path, None, whole=False) == []
    (tmp_path / "tiny" / "runs.parquet").unlink()
    assert runner.read_runs(TINY, tmp_path, None, whole=False) == []
