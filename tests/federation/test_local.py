"""Batches: small clients together, large ones in pieces, whole clients where a statistic needs them whole."""

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.federation import local
from feddp_kmeans.federation.in_memory import InMemoryFederation


def test_many_small_clients_are_few_batches():
    federation = InMemoryFederation([np.ones((50, 100))] * 5000)
    batches = list(federation._batches(whole_clients=True, cohort=None))
    assert len(batches) < 10
    assert sum(b.n_clients for b in batches) == 5000


def test_a_large_client_comes_in_pieces_unless_it_must_be_whole(monkeypatch):
    monkeypatch.setattr(local, "_BATCH_VALUES", 60)
    federation = InMemoryFederation([np.ones((100, 3)), np.ones((5, 3))])
    pieces = list(federation._batches(whole_clients=False, cohort=None))
    assert max(len(b.points) for b in pieces) <= 20
    assert sum(len(b.points) for b in pieces) == 105
    whole = list(federation._batches(whole_clients=True, cohort=None))
    assert [b.sizes.tolist() for b in whole] == [[100], [5]]


def test_rows_with_a_nan_or_an_infinity_are_dropped_on_the_client():
    rows = np.array([[1.0, 2], [np.nan, 0], [0, np.inf], [3, 4]])
    (batch,) = InMemoryFederation([rows, rows[1:3]])._batches(whole_clients=True, cohort=None)
    assert batch.points.tolist() == [[1, 2], [3, 4]]
    assert batch.sizes.tolist() == [2, 0]


def test_a_cohort_leaves_the_others_out():
    federation = InMemoryFederation([np.full((1, 1), i) for i in range(4)])
    (batch,) = federation._batches(whole_clients=True, cohort=np.array([True, False, False, True]))
    assert batch.points.ravel().tolist() == [0, 3]


def test_sparse_points_are_points():
    rows = np.eye(4)
    (batch,) = InMemoryFederation([sparse.csr_matrix(rows), rows])._batches(whole_clients=True, cohort=None)
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
