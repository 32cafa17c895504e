"""The comparison with the published code, on a stand-in for it."""

import json
import math
import sys

import numpy as np
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.accounting import gaussian_epsilon
from feddp_studies.speed.published_hooks import PublishedWatch
from feddp_studies.speed.published_run import compare, releases_of, run_published, same_noise
from studies.tests.speed.stand_in import stand_in
from tests.cli.command import feddp


@pytest.mark.slow
def test_a_bench_runs_the_published_code_and_ours_on_its_data_and_states_what_it_really_spends(tmp_path):
    done = feddp("bench", "--published", stand_in(tmp_path / "theirs"), "--python", sys.executable, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "The noise of sums and counts has the same seed" in done.stdout
    found = json.loads((tmp_path / "out" / "published.json").read_text())
    theirs, *ours = found["rows"]
    assert [row["who"] for row in found["rows"]] == ["the paper's code", "ours, paper", "ours, refined"]
    assert theirs["spent"] > theirs["stated"] == 2
    assert all(row["stated"] == 2 >= row["spent"] > 1.9 for row in ours)
    assert all(row["cost"] > 0 and row["cpu_seconds"] > 0 for row in found["rows"])
    assert math.isclose(found["releases"][0]["epsilon"], gaussian_epsilon(0.5, 1e-6), rel_tol=1e-9)


@pytest.mark.parametrize(("seed", "same"), [(2, [["sums", "counts"]]), (3, [])])
def test_the_noise_drawn_is_read_and_the_repository_is_left_as_it_was(tmp_path, seed, same):
    repository = stand_in(tmp_path / "theirs", seed=seed)
    before = sorted(repository.rglob("*"))
    facts = run_published(repository, sys.executable, 600, tmp_path)
    releases = releases_of(facts["draws"], 4, 2, 5.0)
    assert [(r.name, r.sensitivity, r.scale) for r in releases] == [
        ("outer product", 25, 50),
        ("weights", 1, 2),
        ("sums", 5, 10),
        ("counts", 1, 4),
    ]
    assert same_noise(facts["draws"], releases) == same
    assert np.shape(facts["centers"]) == (2, 4)
    assert sorted(repository.rglob("*")) == before


@pytest.mark.parametrize(
    ("broken", "timeout", "message"),
    [
        ({"pfl": False}, 600, "must have what the published code imports (ModuleNotFoundError: No module named 'pfl'): install "),
        ({"fails": "raise ValueError('no such thing')"}, 600, "the published code failed: ValueError: no such thing"),
        ({"fails": "raise SystemExit(3)"}, 600, "the published code failed: exit status 3"),
        ({"fails": "import time; time.sleep(600)"}, 2, "must end within --timeout 2 s"),
    ],
)
def test_what_ends_a_run_is_one_line(tmp_path, broken, timeout, message):
    done = feddp("bench", "--published", stand_in(tmp_path / "theirs", **broken), "--timeout", timeout, "--out", tmp_path / "out")
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_what_is_no_repository_or_no_python_is_refused(tmp_path):
    with pytest.raises(FedDPError, match=r"^--published must be a folder, got .*missing\.$"):
        compare(tmp_path / "missing", sys.executable, 9)
    with pytest.raises(FedDPError, match=r"has no run\.py\.$"):
        compare(tmp_path, sys.executable, 9)
    repository = stand_in(tmp_path / "theirs")
    with pytest.raises(FedDPError, match=r"^--python must be a Python program, got .*missing: No such file or directory\.$"):
        compare(repository, str(tmp_path / "missing"), 9)
    (repository / "configs" / "gaussians_data_privacy.yaml").unlink()
    with pytest.raises(FedDPError, match=r"has no configs/gaussians_data_privacy\.yaml\.$"):
        compare(repository, sys.executable, 9)


def test_a_code_whose_noise_cannot_be_read_has_no_epsilon():
    with pytest.raises(FedDPError, match="but drew none"):
        releases_of([], 4, 2, 5.0)


def test_the_watch_notes_noise_without_changing_it_and_stands_still_while_stopped(monkeypatch):
    monkeypatch.setattr(np.random, "normal", np.random.normal)
    watch = PublishedWatch()
    watch.note("normal")
    np.random.seed(5)  # noqa: NPY002 - as the published code draws
    noted = np.random.normal(loc=0, scale=3.0, size=(2, 4))  # noqa: NPY002
    assert np.array_equal(noted, np.random.RandomState(5).normal(0, 3.0, (2, 4)))
    (draw,) = watch.draws
    assert (draw["law"], draw["scale"], draw["shape"]) == ("normal", 3.0, [2, 4])
    watch.start()
    watch.stop()
    assert 0 <= watch.seconds["seconds"] < 60
