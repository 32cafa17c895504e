from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm import gathering
from feddp_kmeans.algorithm.gathering import GATHERING, gathered_by_looks
from feddp_kmeans.algorithm.grown_cells import Cells
from feddp_kmeans.algorithm.pool import Pool
from feddp_kmeans.mixture import gaussian_mixture
from tests.variants import slow_after

K, POOL = 4, Pool(None, 1000)
ALL = Cells.unseen(np.random.default_rng(0).standard_normal((40, 3)), np.ones(40), 1.0)
AT_ONCE = Cells.unseen(np.arange(3.0 * K).reshape(K, 3), np.ones(K), 1.0)


@pytest.mark.parametrize(("at_once_costs", "is_chosen"), [(8.0, True), (9.5, False), (12.0, False)])
def test_fewer_and_fewer_cells_are_looked_at_and_those_gathered_at_once_if_they_clearly_cost_less(monkeypatch, at_once_costs, is_chosen):
    """The cells that were gathered step by step cost 10, and noise is 1."""
    compared, looked = [], []

    def costs(tracker, bounds, rivals, times):
        compared.append(rivals)
        return np.array([10.0, at_once_costs]), 1.0

    def look(cells):
        looked.append(len(cells))
        return cells

    monkeypatch.setattr(gathering, "costs", costs)
    cells, looks = gathered_by_looks(SimpleNamespace(block=K), None, (ALL, AT_ONCE), 0, look, lambda cells: cells, POOL)
    assert looked[:5] == [8, 6, 5, 4, 4]
    assert looked[5:] == [K] * GATHERING.steps * is_chosen
    assert looks == len(looked) < gathering.MOST_LOOKS
    assert (cells is AT_ONCE) is is_chosen
    assert compared[0][1] is AT_ONCE


def test_fewer_cells_than_clusters_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(gathering, "costs", lambda *_: (np.zeros(2), 1.0))
    few = ALL.of(np.arange(2))
    cells, _ = gathered_by_looks(
        SimpleNamespace(block=K), None, (few, few), 0, lambda cells: cells, lambda cells: cells, pool=Pool(None, 1000)
    )
    np.testing.assert_array_equal(cells.places, few.places)


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
def test_no_cluster_is_lost_where_noise_is_high(seed):
    """20 clusters in 100 dimensions at epsilon 0.25, without a sharp second moment."""
    data = gaussian_mixture(seed, k=20)
    model = FedDPKMeans(20, epsilon=0.25, random_state=seed).fit(data.clients, server_data=data.server_points)
    apart = cdist(data.means, data.means) + np.diag(np.full(20, np.inf))
    assert (cdist(data.means, model.cluster_centers_).min(axis=1) < apart.min(axis=1) / 2).all()
