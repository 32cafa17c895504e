"""``--rehearse``: the same options, made-up points, and nothing booked."""

import json

import numpy as np
import pytest

from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.federation.adder import ExactAdder
from tests.cli.command import feddp, with_data

OPTIONS = ("-k", 2, "--epsilon", 1, "--lloyd-steps", 1, "--json")


@pytest.fixture
def folder(tmp_path):
    return with_data(tmp_path)


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--server", "server.npy"),
        pytest.param(("--box", "-9,9"), marks=pytest.mark.slow),
        pytest.param(("--unit", "client", "--client-size", 40), marks=pytest.mark.slow),
    ],
)
def test_a_rehearsal_has_the_plan_of_the_fit_and_none_of_its_rows(folder, more):
    real = json.loads(feddp("fit", "clients", *OPTIONS, *more, "--odometer", "other.jsonl", cwd=folder).stdout)
    results = []
    for shift in (0, 1e6):  # other rows, the same rehearsal
        for path in (folder / "clients").glob("*.npy"):
            np.save(path, np.load(path) + shift)
        done = feddp("fit", "clients", *OPTIONS, *more, "--rehearse", "--seed", 3, "--out", f"run{shift:g}", cwd=folder)
        assert done.returncode in {0, USELESS}, done.stderr  # three clients are too few to protect one
        results.append(json.loads(done.stdout))
    assert results[0]["plan"] == real["plan"]
    assert {**results[0], "command": ""} == {**results[1], "command": ""}
    assert results[0]["remarks"][0].startswith("REHEARSAL on made-up points")
    assert not (folder / "clients" / ".feddp-budget.jsonl").exists()
    assert json.loads(feddp("budget", "run0", "--json", cwd=folder).stdout)["runs"] == []


def test_a_rehearsal_does_not_mix_with_a_real_run(folder, monkeypatch):
    done = feddp("fit", "clients", *OPTIONS, "--rehearse", "--resume", "run", cwd=folder)
    assert done.returncode == 1
    feddp("fit", "clients", *OPTIONS, "--out", "run", cwd=folder)
    done = feddp("fit", "clients", *OPTIONS, "--rehearse", "--resume", "run", cwd=folder)
    assert "--rehearse must start a new run, got 'run' with the releases of another" in done.stderr
    made, count = ExactAdder.noisy_sum, []

    def stop(self, asked):
        count.append(asked)
        if len(count) > 2:
            raise KeyboardInterrupt
        return made(self, asked)

    monkeypatch.setattr(ExactAdder, "noisy_sum", stop)
    assert feddp("fit", "clients", *OPTIONS, "--rehearse", "--out", "half", cwd=folder).returncode == 130
    monkeypatch.undo()
    done = feddp("fit", "clients", *OPTIONS, "--resume", "half", cwd=folder)
    assert (done.returncode, "must be booked" in done.stderr) == (1, True)


def test_a_look_is_rehearsed_too(folder):
    asked = ("choose-k", "clients", "--epsilon", 1, "--max-clusters", 4, "--lloyd-steps", 0, "--server", "server.npy")
    looks = []
    for shift in (0, 1e6):
        for path in (folder / "clients").glob("*.npy"):
            np.save(path, np.load(path) + shift)
        done = feddp(*asked, "--rehearse", "--seed", 3, "--json", "--out", f"look{shift:g}", cwd=folder)
        assert done.returncode == 0, done.stderr
        looks.append(json.loads(done.stdout))
    assert {**looks[0], "command": ""} == {**looks[1], "command": ""}
    assert looks[0]["rehearsal"]
    assert not (folder / "clients" / ".feddp-budget.jsonl").exists()
    done = feddp("fit", *asked[1:-4], "--server", "server.npy", "-k", 2, "--resume", "look0", "--out", "run", cwd=folder)
    assert done.returncode == 1
    said = feddp(*asked, "--rehearse", "--out", "shown", cwd=folder)
    assert said.stdout.endswith("REHEARSAL on made-up points: it says nothing about the clients' data, and nothing was booked.\n")
    assert "Continue" not in said.stdout
    feddp(*asked, "--out", "real", cwd=folder)
    (folder / "real" / "choose_k.json").unlink()  # as if the look had been interrupted
    done = feddp(*asked, "--rehearse", "--out", "real", cwd=folder)
    assert (done.returncode, "must start a new run, got 'real'" in done.stderr) == (1, True)
