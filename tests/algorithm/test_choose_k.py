"""The elbow."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.choose_k import elbow_curve, pick_elbow
from feddp_kmeans.algorithm.clustering import choose_k, run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.mixture import gaussian_mixture


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 10))])
@pytest.mark.parametrize("k", [3, 5, 8])
def test_planted_clusters_are_counted(k, seed):
    rng = np.random.default_rng(seed)
    means = 30 * rng.standard_normal((k, 6))
    points = np.repeat(means, 20, axis=0) + rng.standard_normal((20 * k, 6))
    costs = elbow_curve(points, np.ones(len(points)), range(1, 2 * k + 1), seed)
    assert (np.diff(costs) < 1e-9).all()
    assert pick_elbow(range(1, 2 * k + 1), costs) == k


def test_points_without_weight_have_no_say():
    points = np.array([[0.0], [1.0], [1000.0]])
    costs = elbow_curve(points, np.array([1.0, 1.0, 0.0]), [1, 2, 3], 0)
    assert costs == pytest.approx([0.25, 0.0, 0.0])


def test_two_numbers_have_no_elbow():
    with pytest.raises(FedDPError, match="cluster_numbers must be at least three"):
        pick_elbow([1, 2], np.array([2.0, 1.0]))


@pytest.mark.parametrize("method", ["paper", "refined"])
def test_auto_takes_the_elbow_and_pays_nothing_more(method):
    data = gaussian_mixture(0, n_clients=20, k=6, dimension=12, variance=0.02, server_uniform=0)
    model = FedDPKMeans("auto", epsilon=20.0, method=method, max_clusters=12, random_state=0)
    model.fit(data.clients, server_data=data.server_points)
    assert model.cluster_centers_.shape == (6, 12)
    assert model.clustering_.elbow.picked == 6
    assert model.clustering_.elbow.numbers == tuple(range(1, 13))
    given = FedDPKMeans(12, epsilon=20.0, method=method, random_state=0).fit(data.clients, server_data=data.server_points)
    assert [row["noise_multiplier"] for row in model.privacy_.ledger] == [row["noise_multiplier"] for row in given.privacy_.ledger]
    assert model.privacy_.epsilon_spent <= 20.0


@pytest.mark.parametrize("method", ["paper", "refined"])
def test_steps_paid_for_are_reused_by_the_fit_that_follows(method, tmp_path):
    data = gaussian_mixture(1, n_clients=10, k=4, dimension=8, variance=0.02, server_uniform=0)
    prepared = prepare(Settings("auto", 8.0, method=method, max_clusters=8), data.server_points, 10)
    asked = []
    elbow = choose_k(RecordedFederation(InMemoryFederation(data.clients), tmp_path), prepared, seed=3, on_release=asked.append)
    rest = []
    federation = RecordedFederation(InMemoryFederation(data.clients), tmp_path)
    found = run(federation, prepared, seed=3, chosen_k=elbow.picked + 1, on_release=rest.append)
    assert len(found.centers) == elbow.picked + 1
    assert found.elbow == elbow
    whole = run(InMemoryFederation(data.clients), prepared, seed=3, chosen_k=elbow.picked + 1)
    assert np.array_equal(found.centers, whole.centers)
    assert len(asked) < len(rest) == sum(release.times for release in prepared.plan.releases)
    with pytest.raises(FedDPError, match="n_clusters must be from 1 to the 8 that the plan is made for, got 9"):
        run(federation, prepared, seed=3, chosen_k=9)


def test_bad_wishes_are_refused():
    server = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.raises(FedDPError, match="n_clusters must be a whole number of at least 1 or 'auto', got 'many'"):
        Settings("many")
    with pytest.raises(FedDPError, match="max_clusters must be a whole number of at least 3"):
        Settings("auto", max_clusters=2)
    with pytest.raises(FedDPError, match="max_clusters must be at most the number of server points, 10, got 20"):
        prepare(Settings("auto"), server, 1)
    with pytest.raises(FedDPError, match="n_clusters must be a whole number here, got 'auto'"):
        _ = Settings("auto").fixed_k
