"""Batches: small clients together, large ones in pieces, whole clients where a statistic needs them whole."""

import math

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.algorithm.feddp_kmeans import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.algorithm.statistics.paper import CLIENT_CLUSTER_SUMS, MEAN_STEPS
from feddp_kmeans.federation import batches
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.fixed_point import RESOLUTION


def batches_of(clients, *, whole_clients=True):
    made = InMemoryFederation(clients)._clients
    return list(made.whole(None) if whole_clients else made.points())


def test_many_small_clients_are_few_batches():
    found = batches_of([np.ones((50, 100))] * 5000)
    assert len(found) == 97  # 52 clients of 40 kB in 2 MiB
    assert sum(b.n_clients for b in found) == 5000


def test_a_large_client_comes_in_pieces_unless_it_must_be_whole(monkeypatch):
    monkeypatch.setattr(batches, "BATCH_VALUES", 60)
    clients = [np.ones((100, 3)), np.ones((5, 3))]
    pieces = batches_of(clients, whole_clients=False)
    assert max(len(b.points) for b in pieces) <= 20
    assert sum(len(b.points) for b in pieces) == 105
    whole = batches_of(clients)
    assert [b.sizes.tolist() for b in whole] == [[100], [5]]


def test_rows_with_a_nan_or_an_infinity_are_dropped_on_the_client():
    rows = np.array([[1.0, 2], [np.nan, 0], [0, np.inf], [3, 4]])
    (batch,) = batches_of([rows, rows[1:3]])
    assert batch.points.tolist() == [[1, 2], [3, 4]]
    assert batch.sizes.tolist() == [2, 0]


def test_a_cohort_leaves_the_others_out():
    federation = InMemoryFederation([np.full((1, 1), i) for i in range(4)])
    plan = prepare(Settings(1, math.inf, privacy_unit="client", method="paper"), np.ones((3, 1)), 4).plan
    federation.begin(plan)
    sums = federation._noisy_sum(
        CLIENT_CLUSTER_SUMS,
        plan["sums"],
        np.array([True, False, False, True]),
        {"center": np.zeros(1), "radius": 9.0, "centers": np.zeros((1, 1)), "bound": 9.0},
    )
    assert sums * (plan["sums"].grid ** -1) / (MEAN_STEPS * RESOLUTION / 9.0) == pytest.approx(3, rel=1e-3)


def test_sparse_points_are_points():
    rows = np.eye(4)
    (batch,) = batches_of([sparse.csr_matrix(rows), rows])
    assert np.array_equal(batch.points, np.vstack([rows, rows]))


@pytest.mark.parametrize(
    ("clients", "message"),
    [
        ([], "clients must be at least one"),
        ([np.ones((2, 3)), np.ones((2, 4))], "client 0 has 3, client 1 has 4"),
        ([np.ones(3)], "client 0 must have two dimensions"),
        ([np.array([["a", "b"]])], "client 0 must hold numbers only"),
        ([np.ones((2, 0))], "at least one column"),
    ],
)
def test_clients_that_do_not_fit_are_refused(clients, message):
    with pytest.raises(FedDPError, match=message):
        InMemoryFederation(clients)


def test_groups_must_be_one_a_row():
    with pytest.raises(FedDPError, match="groups must hold one value a row of X: X has 3 rows"):
        InMemoryFederation.from_groups(np.ones((3, 2)), ["a", "b"])
