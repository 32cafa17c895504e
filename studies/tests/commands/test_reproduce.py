"""``feddp reproduce`` as a person runs it."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from feddp_studies.commands import reproduce as command
from feddp_studies.reproduction.specs import EXPERIMENTS
from studies.tests.datasets.databases import post, write_database
from tests.cli.command import COMMAND, feddp, feddp_process

IN_PROC = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for left-over processes in /proc")


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_without_a_name_the_experiments_are_listed():
    listed = feddp("reproduce")
    assert listed.returncode == 0
    for name in (
        "mixture-point",
        "census-5",
        "mixture-2000",
        "travel",
        "so-machine-learning-math-sentences",
        "missing-5",
        "elbow",
        "assumptions",
    ):
        assert name in listed.stdout


def test_errors_are_one_line(tmp_path):
    for arguments, message in (
        (["moon"], "experiment must be 'all' or one of"),
        (["census-5", "--quick"], "--tables must name the folder with the tables of census-5"),
        (["census-5", "--quick", "--tables", str(tmp_path)], "acs_income_2018.parquet"),
        (["so-github-pdf"], "--stackoverflow must name the file stackoverflow.sqlite for so-github-pdf (docs/data.md says how to get it)"),
        (["so-math-css", "--stackoverflow", "so.sqlite"], "experiment must be 'all' or one of"),
        (["so-github-pdf", "--stackoverflow", "so.sqlite"], "--stackoverflow must name a file, got 'so.sqlite'"),
        (["so-github-pdf", "--stackoverflow", __file__, "--embed", "words"], "--embed must be written as module:function, got 'words'"),
    ):
        failed = feddp("reproduce", *arguments, "--out", str(tmp_path / "out"))
        assert failed.returncode == 1
        assert message in failed.stderr.strip().splitlines()[-1]


@pytest.mark.slow  # Two experiments, each in a process of its own.
def test_a_pair_of_the_paper_from_a_small_database(tmp_path):
    groups = [("github", "ann{}", 60), ("pdf", "bob{}", 60), ("css", "cat{}", 1600)]
    posts = [post(name.format(n), n, tag, kind="question" if n % 3 else "answer") for tag, name, size in groups for n in range(size)]
    write_database(tmp_path / "so.sqlite", [row for rows in posts for row in rows])
    (tmp_path / "eight.py").write_text(
        "import numpy as np\n\n"
        "def embed(texts):\n"
        "    return [np.random.default_rng(list(text.encode())).normal(size=8) for text in texts]\n"
    )
    given = ["--quick", "--seeds", "1", "--stackoverflow", "so.sqlite", "--embed", "eight:embed", "--out", "out"]
    for name, clients, points in (("so-github-pdf", 80, 60), ("so-github-pdf-sentences", 120, 220)):
        made = feddp("reproduce", name, *given, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        assert ("clients read" in made.stderr) == (name == "so-github-pdf")
        assert f"{name}: {clients} clients in the database, 9,237 in the paper" in made.stderr
        runs = pq.read_table(tmp_path / "out" / name / "runs.parquet").to_pylist()
        assert {(run["unit"], run["n_points"]) for run in runs} == {("client", points)}
        assert (tmp_path / "out" / name / f"{name}.png").is_file()
    again = feddp("reproduce", "so-github-pdf", *given, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "embedded" not in again.stderr


def test_all_says_what_is_skipped_in_a_line_for_each_option(monkeypatch):
    said = []
    monkeypatch.setattr(command, "_say", said.append)
    chosen = [experiment.name for experiment in command._chosen("all", None, None)]
    assert "mixture-point" in chosen
    assert not [name for name in chosen if name.startswith(("so-", "census"))]
    assert [line.rsplit(": ", 1)[1] for line in said] == [
        f"skipped, {option} is not given (docs/data.md says what it is)." for option in ("--tables", "--stackoverflow")
    ]
    assert len(command._chosen("all", Path(), Path())) == len(EXPERIMENTS)


def killed(folder, arguments):
    """Kill the command when two of its runs are done; return its journal and what is in it once the workers are gone."""
    journal = folder / "mixture-point" / "runs.jsonl"
    first = subprocess.Popen([*COMMAND, *arguments, "--jobs", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and (not journal.exists() or journal.read_text().count("\n") < 2):
        time.sleep(0.05)
    workers = children_of(first.pid)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert len(workers) >= 2
    while time.monotonic() < deadline and any(is_running(pid) for pid in workers):
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in workers)
    before = [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]
    assert len(before) >= 2
    return journal, before


@IN_PROC
@pytest.mark.slow  # Waits for an experiment to be under way.
def test_a_killed_run_leaves_no_process(tmp_path):
    killed(tmp_path, ["reproduce", "mixture-point", "--quick", "--seeds", "1", "--out", str(tmp_path)])


@IN_PROC
@pytest.mark.slow  # All 22 runs of the experiment; what the journal keeps is tested in tests/reproduction/test_runner.py too.
def test_a_killed_run_goes_on_without_losing_or_repeating_a_run(tmp_path):
    arguments = ["reproduce", "mixture-point", "--quick", "--seeds", "1", "--out", str(tmp_path)]
    journal, before = killed(tmp_path, arguments)
    second = feddp_process(*arguments, "--jobs", "2")
    assert second.returncode == 0, second.stderr
    after = [json.loads(line) for line in journal.read_text().splitlines()]
    assert after[: len(before)] == before
    assert len({row["key"] for row in after}) == len(after) == pq.read_table(tmp_path / "mixture-point" / "runs.parquet").num_rows
    assert "NON-PRIVATE" in (tmp_path / "index.html").read_text()
    assert "around epsilon 0.4" in (tmp_path / "reproduction.md").read_text()
    assert (tmp_path / "mixture-point" / "mixture-point.png").stat().st_size > 10_000

    third = feddp(*arguments)
    assert "mixture-point: 22 of 22 runs done" in third.stderr
    assert journal.read_text().count("\n") == len(after)
