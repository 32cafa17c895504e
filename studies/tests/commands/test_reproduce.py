"""``feddp reproduce`` as a person runs it."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

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
    for name in ("mixture-point", "census-5", "mixture-2000", "travel", "missing-5", "elbow", "assumptions"):
        assert name in listed.stdout


def test_errors_are_one_line(tmp_path):
    for arguments, message in (
        (["moon"], "experiment must be 'all' or one of"),
        (["census-5", "--quick"], "--tables must name the folder with the tables of census-5"),
        (["census-5", "--quick", "--tables", str(tmp_path)], "acs_income_2018.parquet"),
    ):
        failed = feddp("reproduce", *arguments, "--out", str(tmp_path / "out"))
        assert failed.returncode == 1
        assert message in failed.stderr.strip().splitlines()[-1]


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
    assert "around epsilon 0.4" in (tmp_path / "claims.md").read_text()
    assert (tmp_path / "mixture-point" / "mixture-point.png").stat().st_size > 10_000

    third = feddp(*arguments)
    assert "mixture-point: 22 of 22 runs done" in third.stderr
    assert journal.read_text().count("\n") == len(after)
