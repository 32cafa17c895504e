"""Killed at any point, a run leaves whole files, releases nothing twice unsaid, and goes on or starts over."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from feddp_kmeans.privacy.odometer import Odometer, total_for
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables.schema import Schema
from tests.cli.command import COMMAND, feddp, with_data

GIVEN = ("clients", "--server", "server.npy", "--epsilon", "1", "--odometer", "spent/budget.jsonl", "--quiet")
FIT = ("fit", *GIVEN, "-k", "2", "--lloyd-steps", "1", "--out", "run")
LOOK = ("choose-k", *GIVEN, "--max-clusters", "3", "--lloyd-steps", "0", "--out", "look")
RESUME = ("fit", *GIVEN, "-k", "2", "--max-clusters", "3", "--lloyd-steps", "0", "--resume", "look", "--out", "run")
KNOTS = ("knots", "clients", "x0,x1", *GIVEN[3:], "--out", "schema.toml")
NEVER = 10**9


@pytest.fixture
def folder(tmp_path):
    return with_data(tmp_path)


def with_data_in(path):
    path.mkdir()
    return with_data(path)


@pytest.fixture(scope="module")
def killer(tmp_path_factory):
    """Runs a command in a fresh process and kills it before a step; returns the exit status."""
    root = Path(__file__).parents[2]
    errors = tmp_path_factory.mktemp("errors") / "stderr"
    first = json.dumps([str(with_data(tmp_path_factory.mktemp("first"))), FIT])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crashes", first],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"FEDDP_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )

    def run(folder, arguments, step=NEVER):
        process.stdin.write(json.dumps([step, str(folder), list(arguments), str(errors)]) + "\n")
        process.stdin.flush()
        status = int(process.stdout.readline())
        assert status in {0, 1, -signal.SIGKILL}, errors.read_text()
        run.told = errors.read_text()
        return status

    yield run
    process.communicate(timeout=120)


class Witness:
    """Looks at the folder after every crash, and remembers the releases that it saw."""

    def __init__(self, folder):
        self.folder = folder
        self.seen = {}

    def look(self):
        runs = Odometer(self.folder / "spent" / "budget.jsonl").entries()
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.name.endswith((".unfinished", ".feddp.lock")):
                self._read(path)
        if self.seen or (self.folder / "run" / "result.json").exists():
            assert runs, "something was released that is not on the odometer"
        return runs

    def _read(self, path):
        """Read a file whole; the releases in it must be on the odometer and stay what they are."""
        if path.name == "centers.parquet":
            pq.read_table(path)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.name == "report.html":
            assert path.read_text().rstrip().endswith("</html>")
        elif path.parent.name == "releases":
            assert np.isfinite(np.load(path, allow_pickle=False)).all()
            assert self.seen.setdefault(path.name, path.read_bytes()) == path.read_bytes(), "a release was made twice with other noise"


def check_finished(folder):
    result = json.loads((folder / "run" / "result.json").read_text())
    booked = Odometer(folder / "spent" / "budget.jsonl").entries()
    assert any(entry.to_dict()["releases"] == result["plan"]["releases"] for entry in booked)
    assert {row["release"] for row in result["ledger"]} | set(result["not_made"]) == {row["release"] for row in result["plan"]["releases"]}
    total = total_for(PrivacyUnit.POINT, booked, 1e-6)
    assert total.epsilon >= 0.99 * len(booked) ** 0.5
    assert not [*folder.rglob("*.unfinished"), *folder.rglob(".feddp.lock")]
    return booked


def again(folder):
    """Return the command that goes on with a fit, or begins it."""
    return (*FIT[:-2], "--resume", "run") if (folder / "run" / "releases" / "releases.json").exists() else FIT


@pytest.mark.slow  # kills the fit a dozen times
def test_a_fit_that_is_killed_before_any_step_goes_on_and_pays_once(folder, killer):
    witness, step, kills = Witness(folder), 1, 0
    while not (folder / "run" / "result.json").exists():
        # Killed after ever more steps, in ever other places. The last of them are enough for all that is left of a run.
        if killer(folder, again(folder), step) == -signal.SIGKILL:
            kills += 1
        witness.look()
        step = 1 + (step + 2) % 211
        assert kills < 200
    assert kills >= 10
    assert killer(folder, again(folder)) == 0
    witness.look()
    assert len(check_finished(folder)) == 1


@pytest.mark.slow  # a run from its start and one that goes on, for most steps of a fit
def test_a_fit_that_is_killed_before_one_step_goes_on_and_no_copy_of_before_does(tmp_path, killer):
    step = 1
    while True:
        folder = with_data_in(tmp_path / str(step))
        killed = killer(folder, FIT, step) == -signal.SIGKILL
        witness = Witness(folder)
        witness.look()
        if (folder / "run").exists():
            shutil.copytree(folder / "run", folder / "run before", ignore=shutil.ignore_patterns("*.unfinished", ".feddp.lock"))
        assert killer(folder, again(folder) if killed else (*FIT[:-2], "--resume", "run")) == 0, killer.told
        witness.look()
        assert len(check_finished(folder)) == 1
        if (folder / "run before" / "releases" / "releases.json").exists():
            now = (folder / "run" / "releases" / "releases.json").read_bytes()
            before = (folder / "run before" / "releases" / "releases.json").read_bytes()
            # What was there when it was killed goes on if it is all there was; else it is refused.
            status = killer(folder, (*FIT[:-2], "--resume", "run before"))
            assert status == (0 if now == before else 1), killer.told
            assert status == 0 or "must go on from its latest state" in killer.told
            assert len(Odometer(folder / "spent" / "budget.jsonl").entries()) == 1
        if not killed:
            break
        step += 1 if step < 60 else 3  # a release is about thirty steps, and all releases take the same ones
    assert step > 90


@pytest.mark.slow  # The same steps as of a fit, which is killed in every run of the tests.
def test_a_look_that_is_killed_before_any_step_goes_on_and_pays_once(folder, killer):
    witness, step, kills = Witness(folder), 1, 0
    while not (folder / "look" / "choose_k.json").exists():
        if killer(folder, LOOK, step) == -signal.SIGKILL:
            kills += 1
        witness.look()
        step = 1 + step % 211
        assert kills < 200
    assert kills >= 10
    while (status := killer(folder, RESUME, step)) == -signal.SIGKILL:
        witness.look()
        step += 5
    if status == 1:
        assert "must not hold a result already" in killer.told
        assert killer(folder, (*RESUME, "--force")) == 0
    witness.look()
    assert len(check_finished(folder)) == 1


@pytest.mark.slow  # kills a run a dozen times
def test_knots_that_are_killed_before_any_step_go_on_and_are_paid_once(folder, killer):
    witness, step, kills = Witness(folder), 1, 0
    while not (folder / "schema.toml").exists():
        if killer(folder, KNOTS, step) == -signal.SIGKILL:
            kills += 1
        assert len(witness.look()) <= 1
        step = 1 + (step + 2) % 211
        assert kills < 200
    assert kills >= 5
    assert len(witness.look()) == 1
    assert {column.scale for column in Schema.read(folder / "schema.toml").fields} == {"quantile"}
    assert killer(folder, KNOTS) == 1
    assert "--out must not exist already" in killer.told
    assert killer(folder, (*KNOTS, "--force")) == 0  # a new run, whatever the killed one left
    assert len(witness.look()) == 2
    assert not (folder / "schema.toml.run").exists()


def test_runs_side_by_side_lose_no_booking_and_share_one_budget(folder):
    runs = [
        subprocess.Popen([*COMMAND, *FIT[:-1], f"run{i}", "--limit", "2.5"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for i in range(2)
    ]
    ended = sorted(run.wait(300) for run in runs)
    for run in runs:
        run.communicate()
    booked = Odometer(folder / "spent" / "budget.jsonl").entries()
    assert ended.count(0) == len(booked) == 2
    assert total_for(PrivacyUnit.POINT, booked, 1e-6).epsilon <= 2.5


@pytest.mark.slow  # minutes of processes that are started and killed
def test_a_run_that_is_killed_at_any_moment_goes_on(folder):
    witness, dice, kills = Witness(folder), random.Random(7), 0
    end = time.monotonic() + 120
    while time.monotonic() < end:
        finished = (folder / "look" / "choose_k.json").exists()
        process = subprocess.Popen([*COMMAND, *(RESUME if finished else LOOK)], cwd=folder, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=dice.uniform(0.8, 3.5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
        witness.look()
        if (folder / "run" / "result.json").exists():
            check_finished(folder)
            for path in sorted(folder.rglob("*"), reverse=True):
                if path.parts[len(folder.parts)] in {"run", "look", "spent"}:
                    path.rmdir() if path.is_dir() else path.unlink()
            witness = Witness(folder)
    assert kills > 5
    assert feddp("fit", *GIVEN, "-k", "2", "--out", "after", cwd=folder).returncode == 0
