"""What is claimed of runs without server data. Chance of a false alarm: the thresholds are beyond the worst of ten measured seeds."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.mixture import gaussian_mixture
from feddp_studies.datasets.central import digits


@pytest.mark.parametrize(("epsilon", "rival"), [(0.1, 5.96), (0.5, 4.50), (1.0, 4.25), (4.0, 3.65)])
def test_digits_cost_less_than_the_best_rivals(epsilon, rival):
    data = digits()
    costs = []
    for seed in range(3):
        model = FedDPKMeans(10, epsilon=epsilon, box=(data.low, data.high), random_state=seed).fit(data.points)
        costs.append(kmeans_cost(data.points, model.cluster_centers_))
    assert np.mean(costs) < rival


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "worst"), [(0.25, 1.002), (1.0, 1.001)])
def test_the_mixture_is_clustered_as_well_as_with_server_data(epsilon, worst):
    data = gaussian_mixture(3)
    truth = kmeans_cost(data.pooled, data.means)
    model = FedDPKMeans(10, epsilon=epsilon, random_state=0).fit(data.clients)
    assert kmeans_cost(data.pooled, model.cluster_centers_) < worst * truth


@pytest.mark.slow
def test_whole_clients_are_protected_at_one_per_cent():
    data = gaussian_mixture(4, n_clients=2000, client_size=50)
    truth = kmeans_cost(data.pooled, data.means)
    model = FedDPKMeans(10, epsilon=2.0, privacy_unit="client", random_state=0).fit(data.clients)
    assert kmeans_cost(data.pooled, model.cluster_centers_) < 1.01 * truth


@pytest.mark.slow
@pytest.mark.parametrize("missing", [1, 5])
def test_clusters_that_the_server_lacks_are_found(missing):
    data = gaussian_mixture(5, missing_on_server=missing)
    truth = kmeans_cost(data.pooled, data.means)
    model = FedDPKMeans(10, epsilon=1.0, random_state=0).fit(data.clients, server_data=data.server_points)
    assert kmeans_cost(data.pooled, model.cluster_centers_) < 1.005 * truth
