"""Preparing a plan: with or without server data is decided in one place, and nothing is planned twice."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm import prepare as module
from feddp_kmeans.algorithm.methods.grid import GridMethod
from feddp_kmeans.algorithm.methods.paper import PaperMethod
from feddp_kmeans.algorithm.methods.refined import RefinedMethod
from feddp_kmeans.algorithm.methods.serverless import ServerlessMethod
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError

SERVER = np.random.default_rng(5).standard_normal((40, 3))


@pytest.mark.parametrize(
    ("settings", "server", "dimension", "kind"),
    [
        (Settings(2, 1.0, method="paper"), SERVER, 3, PaperMethod),
        (Settings(2, 1.0), SERVER, None, RefinedMethod),
        (Settings(2, 1.0), None, 3, ServerlessMethod),
        (Settings(2, 1.0), None, 2, GridMethod),
        (Settings(2, 1.0, lloyd_steps=2), None, 2, ServerlessMethod),
        (Settings(2, 1.0, privacy_unit="client"), None, 2, ServerlessMethod),
    ],
)
def test_settings_and_server_data_decide_the_method(settings, server, dimension, kind):
    prepared = prepare(settings, server, 10, dimension)
    assert type(prepared.method) is kind
    assert prepared.n_server_points == (0 if server is None else 40)
    assert prepared.plan.facts["dimension"] == (dimension or 3)
    assert prepared.plan.epsilon_spent <= 1.0


def test_what_does_not_fit_is_refused():
    with pytest.raises(FedDPError, match="server_data must be given for method 'paper', got None"):
        prepare(Settings(2, 1.0, method="paper"), None, 10, 3)
    with pytest.raises(FedDPError, match="dimension must be given if there are no server data, got None"):
        prepare(Settings(2, 1.0), None, 10)
    with pytest.raises(FedDPError, match="clients have 4, the server has 3"):
        prepare(Settings(2, 1.0), SERVER, 10, 4)


@pytest.mark.parametrize("server", [None, SERVER])
def test_a_fit_plans_once(server, monkeypatch):
    made = []
    for name in ("_prepare_refined", "_prepare_serverless"):
        honest = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, honest=honest: made.append(1) or honest(*given))
    FedDPKMeans(2, random_state=0).fit([SERVER[:20], SERVER[20:]], server_data=server)
    assert made == [1]
