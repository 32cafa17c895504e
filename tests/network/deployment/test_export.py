"""The files for stock Flower: the app with its run, and a site."""

import json
import sys
import tomllib
from dataclasses import replace

import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network.deployment import export
from feddp_kmeans.network.deployment.run_request import RunRequest, read_request
from feddp_kmeans.network.deployment.site import Site, read_site


@pytest.fixture
def job(tmp_path):
    return RunRequest("run1", Settings(3, 1.0, box=(0, 1)), str(tmp_path / "out" / "run"), "feddp export-app", min_sites=2)


def test_the_app_names_its_run_and_is_whole(job, tmp_path):
    app = export.export_app(tmp_path / "out", job)
    described = tomllib.loads((app / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    assert described["config"] == {"job": str(tmp_path / "out" / "run" / "job.json")}
    assert read_request(tmp_path / "out" / "run" / "job.json") == job
    for component in described["components"].values():
        module, _, name = component.partition(":")
        assert name == "app"
        assert (app / f"{module.replace('.', '/')}.py").exists()
    assert not list(app.rglob("__pycache__"))


def test_the_app_is_written_again_for_another_run(job, tmp_path):
    app = export.export_app(tmp_path / "out", job)
    (app / "left").write_text("x")
    export.export_app(tmp_path / "out", job)
    assert not (app / "left").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a path with such signs")
def test_a_path_with_odd_signs_stays_one_path(job, tmp_path):
    odd = tmp_path / 'a "b" \\c = [é]'
    app = export.export_app(odd, replace(job, out=str(odd / "run")))
    described = tomllib.loads((app / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    assert described["config"]["job"] == str(odd / "run" / "job.json")


def test_a_site_file_can_be_read_again(tmp_path):
    (tmp_path / "berlin.csv").write_text("x,y\n1,2\n3,4\n")
    site = Site("berlin", str(tmp_path / "berlin.csv"), 2.0, str(tmp_path / "state"), str(tmp_path / "budget.jsonl"))
    path = export.export_site(tmp_path / "out", site)
    assert json.loads(path.read_text())["format"] == 1
    assert read_site(path) == site
    with pytest.raises(FedDPError, match=r"nowhere\.csv"):
        export.export_site(tmp_path / "other", replace(site, data=str(tmp_path / "nowhere.csv")))
    assert not (tmp_path / "other").exists()
