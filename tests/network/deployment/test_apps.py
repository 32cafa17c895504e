"""The two halves as a Flower app."""

import logging
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr")

from flwr.app import Context, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from feddp_kmeans import FedDPError
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network.deployment.apps import client_app, make_client_app, server_app
from feddp_kmeans.network.deployment.run_request import RunRequest, opened
from feddp_kmeans.network.flower.body import body_of, request


@pytest.fixture(autouse=True)
def own_process(monkeypatch):
    """Apps run in processes of their own: flwr says there which task it is, and log handlers stay in place."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)
    package = logging.getLogger("feddp_kmeans")
    level, handlers = package.level, list(package.handlers)
    yield
    package.setLevel(level)
    for handler in set(package.handlers) - set(handlers):
        package.removeHandler(handler)
        handler.close()


def context(**configurations):
    return Context(**{"run_id": 1, "node_id": 2, "node_config": {}, "state": RecordDict(), "run_config": {}} | configurations)


def test_the_app_answers_queries_by_the_nodes_own_configuration_and_not_by_the_runs():
    app = make_client_app(lambda node: lambda body: body + str(node["who"]).encode())
    here = context(node_config={"who": "berlin"}, run_config={"who": "paris"})
    assert body_of(app(request(2, b"hello ", 5.0), here)) == b"hello berlin"


def test_a_node_or_a_run_without_its_file_says_how_to_name_one():
    with pytest.raises(FedDPError, match=r'site must name a file .*, as in site="/path/site\.json"'):
        client_app()(request(2, b"hello", 5.0), context(node_config={"partition-id": 0}))
    with pytest.raises(FedDPError, match=r'job must name a file .*, as in job="/path/job\.json"'):
        server_app()(SimpleNamespace(), SimpleNamespace(run_config={"job": ""}))


def test_the_server_half_carries_out_the_run_in_its_file(tmp_path, capsys):
    opened(RunRequest("run1", Settings(3, 1.0, box=(0, 1)), str(tmp_path / "run"), "feddp serve", min_sites=2, wait=0.0))
    with pytest.raises(FedDPError, match="sites must be at least 2 within 0 s, got 0"):
        server_app()(SimpleNamespace(get_node_ids=list), SimpleNamespace(run_config={"job": str(tmp_path / "run" / "job.json")}))
    assert capsys.readouterr().err == "0 of 2 sites are connected\n"
