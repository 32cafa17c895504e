"""The refined method on the paper's mixture: what it reaches, compared with the oracle floor and with method ``paper``.

The floor is one noisy release of the optimal clusters' residual sums with the whole budget: ``k**2 d (R / mu)**2 / n**2`` above the optimum
for equal clusters, with R = 7.2, just above the typical residual sqrt(d / 2).
"""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.cli.demo import nonprivate_lloyd
from feddp_kmeans.mixture import gaussian_mixture
from feddp_kmeans.privacy.accounting import gaussian_mu

RESIDUAL_RADIUS = 7.2
SLOW = pytest.mark.slow
QUICK, FULL = range(2), pytest.param(range(5), marks=SLOW)


def excess(seed, epsilon, *, data=None, **settings):
    """Return the cost above optimal, and the optimal cost."""
    data = data or gaussian_mixture(seed)
    points = data.pooled
    k = len(data.means)
    optimal = kmeans_cost(points, nonprivate_lloyd(points, data.means))
    model = FedDPKMeans(k, epsilon=epsilon, random_state=seed, **settings).fit(data.clients, server_data=data.server_points)
    return kmeans_cost(points, model.cluster_centers_) - optimal, optimal


def floor(epsilon, k=10, d=100, n=100_000):
    return k**2 * d * (RESIDUAL_RADIUS / gaussian_mu(epsilon, 1e-6) / n) ** 2


@pytest.mark.parametrize("seeds", [QUICK, FULL])
@pytest.mark.parametrize(
    ("epsilon", "times"),
    [(0.1, 2.0), pytest.param(0.25, 2.0, marks=SLOW), pytest.param(0.5, 2.0, marks=SLOW), pytest.param(1.0, 3.0, marks=SLOW)],
)
def test_point_level_is_near_the_floor(seeds, epsilon, times):
    assert np.mean([excess(seed, epsilon)[0] for seed in seeds]) <= times * floor(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_point_level_is_a_tenth_of_method_paper(epsilon):
    seeds = FULL.values[0]
    refined = np.mean([excess(seed, epsilon)[0] for seed in seeds])
    paper = np.mean([excess(seed, epsilon, method="paper")[0] for seed in seeds])
    assert refined <= paper / 10


@pytest.mark.parametrize("seeds", [QUICK, FULL])
@pytest.mark.parametrize(("n_clients", "epsilon"), [(1000, 1.24), pytest.param(2000, 0.6, marks=SLOW), pytest.param(5000, 0.3, marks=SLOW)])
def test_client_level_is_within_half_a_percent(seeds, n_clients, epsilon):
    ratios = []
    for seed in seeds:
        data = gaussian_mixture(seed, n_clients=n_clients, client_size=50)
        above, optimal = excess(seed, epsilon, data=data, privacy_unit="client")
        ratios.append(above / optimal)
    assert np.mean(ratios) <= 0.005


@pytest.mark.parametrize("epsilon", [0.02, 0.1])
def test_where_nothing_can_be_learnt_the_server_data_are_used(epsilon):
    data = gaussian_mixture(4, n_clients=20, client_size=50)
    above, optimal = excess(4, epsilon, data=data)
    server, _ = excess(4, 1.0, data=data, init="server-lloyds", lloyd_steps=0)
    assert above / optimal <= server / optimal + 0.01
