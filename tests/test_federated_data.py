"""The shape of federated data."""

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federated_data import FederatedData, draw_rows, split_by_owner


def test_dense_data_is_pooled_dense_and_sparse_data_sparse():
    clients = [np.eye(3), np.empty((0, 3)), np.ones((2, 3))]
    data = FederatedData(clients, np.zeros((4, 3)))
    assert (data.n_points, data.dimension, data.means, data.unit) == (5, 3, None, "point")
    assert np.array_equal(data.pooled, np.vstack(clients))
    thin = FederatedData([sparse.csr_matrix(c) for c in clients], np.zeros((4, 3)))
    assert sparse.issparse(thin.pooled)
    assert thin.pooled.format == "csr"
    assert np.array_equal(thin.pooled.toarray(), data.pooled)
    assert thin.n_points == 5


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_go_to_their_owners_in_order(form):
    points = form(np.arange(10.0).reshape(5, 2))
    clients = split_by_owner(points, np.array(["b", "a", "b", "c", "a"]))
    dense = [c.toarray() if sparse.issparse(c) else c for c in clients]
    assert [c.tolist() for c in dense] == [[[2, 3], [8, 9]], [[0, 1], [4, 5]], [[6, 7]]]


def test_rows_are_drawn_once_and_never_more_than_there_are(rng):
    rows = np.arange(10, 20)
    assert sorted(draw_rows(rng, rows, 10, "n")) == rows.tolist()
    assert len(draw_rows(rng, rows, 0, "n")) == 0
    with pytest.raises(FedDPError, match="n must be from 0 to the 10 rows there are, got 11"):
        draw_rows(rng, rows, 11, "n")
    with pytest.raises(FedDPError, match="got -1"):
        draw_rows(rng, rows, -1, "n")
