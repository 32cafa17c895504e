"""``feddp export-app``: what trust is lost is said first, and what belongs to the other side is refused."""

import json

import pytest

pytest.importorskip("flwr")

from feddp_kmeans.cli.export_app import LOST
from feddp_kmeans.network.deployment.run_request import read_request
from tests.cli.command import feddp


@pytest.fixture
def berlin(tmp_path):
    (tmp_path / "berlin.csv").write_text("x,y\n1,2\n3,4\n")
    return tmp_path


def test_the_server_gets_an_app_and_its_run(berlin):
    done = feddp("export-app", "out", "-k", 3, "--epsilon", 0.5, "--box", "0,1", "--min-sites", 3, "--colluders", 0, cwd=berlin)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(LOST)
    assert f"flwr run {berlin / 'out' / 'app'}" in done.stdout
    job = read_request(berlin / "out" / "run" / "job.json")
    assert (job.settings.n_clusters, job.settings.epsilon, job.min_sites, job.colluders, job.kit) == (3, 0.5, 3, 0, None)


def test_a_site_gets_a_file_with_its_limits(berlin):
    done = feddp("export-app", "out", "--site", "berlin", "--data", "berlin.csv", "--limit", 2, "--unit", "client", cwd=berlin)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(LOST)
    assert f"--node-config 'site=\"{berlin / 'out' / 'site.json'}\"'" in done.stdout
    site = json.loads((berlin / "out" / "site.json").read_text())
    assert (site["name"], site["limit"], site["unit"], site["key"]) == ("berlin", 2.0, "client", None)
    assert site["odometer"] == str(berlin / ".feddp-budget.jsonl")  # the one that feddp join would use


def test_a_site_with_a_key_is_the_one_that_the_kit_names(berlin):
    feddp("keys", "federation", "--host", "127.0.0.1", cwd=berlin)
    feddp("keys", "--site", "berlin", cwd=berlin)
    (berlin / "berlin.pub").rename(berlin / "federation" / "public" / "sites" / "berlin.pub")
    given = ["--data", "berlin.csv", "--limit", 2, "--kit", "federation/public", "--key", "berlin.key"]
    assert feddp("export-app", "out", "--site", "berlin", *given, cwd=berlin).returncode == 0
    assert json.loads((berlin / "out" / "site.json").read_text())["key"] == str(berlin / "berlin.key")
    done = feddp("export-app", "other", "--site", "paris", *given, cwd=berlin)
    assert done.returncode == 1
    assert "--site must be the name of --key in the kit, 'berlin', got 'paris'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["-k", 3], "--epsilon must be given"),
        (["--epsilon", 1], "-k must be given"),
        (["-k", 3, "--epsilon", 1, "--limit", 2], "--limit must be given with --site"),
        (["--site", "berlin", "--data", "berlin.csv", "--limit", 2, "--epsilon", 1], "--epsilon must be given without --site"),
        (["--site", "berlin", "--limit", 2], "--data must be given with --site"),
        (["--site", "berlin", "--data", "berlin.csv"], "--limit must be given with --site"),
        (["--site", "berlin", "--data", "berlin.csv", "--limit", 2, "--key", "x"], "--kit and --key must be given together"),
        (["--site", "../x", "--data", "berlin.csv", "--limit", 2], "a site's name must be"),
        (["--site", "berlin", "--data", "nowhere.csv", "--limit", 2], "nowhere.csv"),
    ],
)
def test_what_is_missing_or_belongs_to_the_other_side_is_refused(berlin, arguments, rule):
    done = feddp("export-app", "out", *arguments, cwd=berlin)
    assert done.returncode == 1
    assert rule in done.stderr.splitlines()[-1]
    assert not (berlin / "out" / "site.json").exists()


def test_a_result_is_not_replaced_unless_told_to(berlin):
    asked = ["export-app", "out", "-k", 3, "--epsilon", 1, "--box", "0,1"]
    (berlin / "out" / "run").mkdir(parents=True)
    (berlin / "out" / "run" / "result.json").write_text("{}")
    assert "must not hold a result already" in feddp(*asked, cwd=berlin).stderr
    assert feddp(*asked, "--force", cwd=berlin).returncode == 0
