"""Every rival: one signature, the paper's ordering, the same answers to odd input."""

import math
import sys
import types

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.mixture import gaussian_mixture
from feddp_studies.rivals import BASELINES, diffprivlib_kmeans, k_fed, oracle_floor

LIBRARIES = ("google-lsh", "diffprivlib")
OURS = [name for name in BASELINES if name not in LIBRARIES]
NOT_PRIVATE = ("k-fed", "optimal", "oracle-floor")
RNG = np.random.default_rng(4)
SERVER = RNG.standard_normal((30, 3))
CLIENTS = [RNG.standard_normal((50, 3)) + 3 * (i % 2) for i in range(4)]


def run(name, clients=CLIENTS, server=SERVER, k=3, seed=0, **settings):
    return BASELINES[name](InMemoryFederation(clients), Settings(k, settings.pop("epsilon", 1.0), **settings), server, seed=seed)


def imported(name, *args, **settings):
    """The result of a rival, or a skip where its library is not there."""
    try:
        return run(name, *args, **settings)
    except FedDPError as error:
        if name in LIBRARIES and "installed" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("name", BASELINES)
def test_a_result_is_the_algorithms_own_type_and_repeats_itself(name):
    first, second = imported(name), imported(name)
    assert isinstance(first, clustering.Clustering)
    assert first.centers.shape == (3, 3)
    assert np.isfinite(first.centers).all()
    assert np.array_equal(first.centers, second.centers)
    assert first.plan.facts["n_clusters"] == 3


@pytest.mark.parametrize("name", NOT_PRIVATE)
def test_what_is_not_private_says_so_everywhere(name):
    found = run(name)
    assert found.privacy.sentence().startswith("NOT PRIVATE")
    assert found.privacy.epsilon == math.inf
    assert "NOT PRIVATE" in repr(found.privacy)
    assert found.privacy.to_dict()["caveat"].startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in found.remarks[0]
    assert not found.privacy.secure


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("unit", ["point", "client"])
def test_both_units_work(name, unit):
    assert np.isfinite(run(name, privacy_unit=unit).centers).all()


@pytest.mark.parametrize("name", OURS)
def test_sparse_clients_give_what_dense_ones_give(name):
    dense = [np.where(c > 1, c, 0.0) for c in CLIENTS]
    thin = [sparse.csr_matrix(c) for c in dense]
    np.testing.assert_allclose(run(name, dense).centers, run(name, thin).centers, atol=1e-6)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize(
    ("clients", "server", "k"),
    [
        pytest.param(CLIENTS, SERVER, 1, id="k=1"),
        pytest.param([c[:, :1] for c in CLIENTS], SERVER[:, :1], 3, id="d=1"),
        pytest.param([np.ones((20, 3))] * 3, np.vstack([np.ones((5, 3)), np.zeros((1, 3))]), 2, id="duplicate points"),
        pytest.param(CLIENTS, SERVER[:1], 1, id="a server set of one point"),
        pytest.param([CLIENTS[0][:2], CLIENTS[1][:1], np.empty((0, 3))], SERVER, 5, id="fewer points than clusters"),
        pytest.param([np.vstack([CLIENTS[0], np.full((1, 3), np.nan)])], SERVER, 3, id="a row with NaN"),
    ],
)
def test_odd_input_gives_k_finite_centers(name, clients, server, k):
    found = run(name, clients, server, k, epsilon=math.inf)
    assert found.centers.shape == (k, server.shape[1])
    assert np.isfinite(found.centers).all()


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize(
    ("server", "k", "message"),
    [
        (SERVER, 31, "n_clusters must be at most the number of server points, 30, got 31"),
        (SERVER[:1], 2, "n_clusters must be at most the number of server points, 1, got 2"),
        (SERVER[:, :2], 3, "server data must have as many columns as the clients: clients have 3, the server has 2"),
        (np.full((9, 3), np.inf), 3, "server data must be finite numbers"),
    ],
)
def test_wrong_input_gives_the_same_clear_error_in_every_rival(name, server, k, message):
    with pytest.raises(FedDPError, match=message):
        run(name, server=server, k=k)


def test_one_cluster_without_noise_is_the_mean_of_all_points():
    everyone = np.concatenate(CLIENTS)
    for name in ("optimal", "oracle-floor", "server-lloyds", "dp-lloyd"):
        found = run(name, k=1, epsilon=math.inf, radius=100.0)
        np.testing.assert_allclose(found.centers[0], everyone.mean(axis=0), atol=1e-2)


@pytest.mark.parametrize("name", NOT_PRIVATE)
def test_points_that_are_elsewhere_are_not_asked_for(name):
    class Elsewhere(Federation):
        n_clients, dimension, trust = 3, 3, "aggregator"

        def _adder(self, run):
            raise AssertionError("no run must be opened")

    with pytest.raises(FedDPError, match="federation must be on this machine"):
        BASELINES[name](Elsewhere(), Settings(3), SERVER)


@pytest.mark.parametrize("name", NOT_PRIVATE)
def test_a_comparison_needs_a_point(name):
    with pytest.raises(FedDPError, match="clients must hold at least one point"):
        run(name, [np.empty((0, 3))])


@pytest.mark.slow  # eight seconds of rivals
def test_the_papers_mixture_gives_the_papers_ordering():
    data = gaussian_mixture(5, n_clients=30)
    costs = {}
    for name, steps in (("optimal", 1), ("k-fed", 1), ("server-lloyds", 2), ("server-kmeans++", 2), ("sphere-packing", 2)):
        found = run(name, data.clients, data.server_points, 10, lloyd_steps=steps)
        costs[name] = kmeans_cost(data.pooled, found.centers)
    assert costs["optimal"] <= costs["k-fed"] < costs["server-lloyds"] <= costs["server-kmeans++"] < costs["sphere-packing"]
    assert costs["k-fed"] < 1.02 * costs["optimal"]


def test_the_oracle_floor_is_the_optimum_plus_the_noise_of_its_one_release():
    data = gaussian_mixture(0, n_clients=10)
    best = kmeans_cost(data.pooled, run("optimal", data.clients, data.server_points, 10).centers)
    found = run("oracle-floor", data.clients, data.server_points, 10, epsilon=0.5)
    # n_r |noise|^2 in every cluster: d k variances of the noise over counts.
    variance = found.plan["optimal sums"].stddev ** 2
    expected = 100 * variance * (1 / found.counts).sum() / len(data.pooled)
    assert kmeans_cost(data.pooled, found.centers) - best == pytest.approx(expected, rel=0.3)


def test_the_oracle_floor_needs_no_server_data_where_the_optimum_is_known():
    """Without server data there are only the two corners of a public box, which are fewer than the clusters."""
    found = oracle_floor.cluster(InMemoryFederation(CLIENTS), Settings(3), SERVER[:2], seed=0, optimal_centers=SERVER[:3])
    assert found.centers.shape == (3, SERVER.shape[1])


def test_k_fed_takes_fewer_local_clusters_and_clients_with_few_points():
    means = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    clients = [means[[0]] + 0.1, means[[1]], means[[2, 1]], np.repeat(means[[0, 2]], 20, axis=0) + 0.05, np.empty((0, 2))]
    found = k_fed.cluster(InMemoryFederation(clients), Settings(3), means, seed=0, local_clusters=2)
    assert np.linalg.norm(found.centers[:, None] - means[None], axis=2).min(axis=0).max() < 1


def test_diffprivlib_is_asked_for_less_than_it_would_overspend():
    # The ratios that were measured on version 0.6.6.
    for dimension, ratio in ((2, 0.91), (5, 1.00), (11, 1.25), (16, 1.41), (64, 2.28), (100, 2.66), (819, 5.46)):
        assert diffprivlib_kmeans.overspending(dimension) == pytest.approx(ratio, abs=0.006)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_is_not_there_is_named_in_one_line(name, monkeypatch):
    for module in ("clustering", "diffprivlib"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FedDPError, match="must be installed") as caught:
        run(name)
    assert "\n" not in str(caught.value)


def test_googles_library_is_called_as_its_documentation_says(monkeypatch):
    """It is on no package index, so a stand-in with its two entry points takes its place here."""
    asked = {}
    parameters = types.SimpleNamespace(
        Data=lambda points, radius: types.SimpleNamespace(points=points, radius=radius),
        DifferentialPrivacyParam=lambda epsilon, delta: (epsilon, delta),
    )

    def private_lsh_clustering(k, data, budget):
        asked.update(k=k, radius=data.radius, budget=budget, mean=data.points.mean(axis=0))
        return types.SimpleNamespace(centers=np.zeros((2, 3)))

    package = types.ModuleType("clustering")
    package.clustering_algorithm = types.SimpleNamespace(private_lsh_clustering=private_lsh_clustering)
    package.clustering_params = parameters
    monkeypatch.setitem(sys.modules, "clustering", package)
    found = run("google-lsh")
    assert asked["k"] == 3
    assert asked["budget"] == (1.0, 1e-6)
    np.testing.assert_allclose(asked["mean"], np.concatenate(CLIENTS).mean(axis=0) - SERVER.mean(axis=0))
    np.testing.assert_allclose(found.centers, np.tile(SERVER.mean(axis=0), (2, 1)))
    assert found.privacy.sentence().startswith("Outside this ledger: Google's library states epsilon = 1")
    with pytest.raises(FedDPError, match="privacy_unit must be 'point'"):
        run("google-lsh", privacy_unit="client")
    with pytest.raises(FedDPError, match="epsilon must be finite"):
        run("google-lsh", epsilon=math.inf)
