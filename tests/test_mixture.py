"""The paper's mixture."""

import hashlib

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.mixture import FederatedData, gaussian_mixture


def fingerprint(data):
    arrays = [*data.clients, data.server_points, data.means]
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()[:16]


def labels_of(points, means):
    return np.linalg.norm(points[:, None] - means[None], axis=2).argmin(axis=1)


def test_it_is_the_papers():
    data = gaussian_mixture(0)
    assert len(data.clients) == 100
    assert data.clients[0].shape == (1000, 100)
    assert data.server_points.shape == (300, 100)
    residuals = data.clients[0] - data.means[labels_of(data.clients[0], data.means)]
    assert residuals.var() == pytest.approx(0.5, rel=0.02)
    assert ((data.server_points[200:] >= 0) & (data.server_points[200:] <= 1)).all()
    assert (labels_of(data.server_points[:200], data.means) == np.repeat(np.arange(10), 20)).mean() > 0.95
    assert np.array_equal(data.pooled, np.concatenate(gaussian_mixture(0).clients))
    assert (data.name, data.n_points, data.dimension) == ("mixture", 100_000, 100)


def test_the_default_draws_are_those_that_published_numbers_rest_on():
    """These values were computed by the first version of the function; a change of the draws would move every published number."""
    data = gaussian_mixture(0)
    assert data.means[3, 4] == 0.5690258542633582
    assert data.clients[0][0, 0] == 1.046798961725977
    assert data.clients[99][999, 99] == 1.4495786401959598
    assert data.server_points[0, 0] == 1.5624785795968703
    assert data.server_points[199, 7] == -0.04544320542039046
    assert data.server_points[299, 99] == 0.130775498255141
    assert fingerprint(data) == "79eb9f99ba419736"


def test_the_draws_with_weights_and_missing_clusters_are_unchanged_too():
    weights = [0.5, 0.3, 0.2]
    data = gaussian_mixture(1005, n_clients=4, client_size=50, dimension=7, k=3, component_weights=weights, missing_on_server=1)
    assert data.clients[3][49, 6] == 0.13432289142159934
    assert data.server_points[39, 6] == 0.4786982199810118
    assert data.server_points[139, 6] == 0.8509745259265034
    assert fingerprint(data) == "684b10772b7da921"


def test_sizes_weights_and_missing_clusters():
    data = gaussian_mixture(1, n_clients=2, client_size=[5, 0], k=3, dimension=4, component_weights=[1.0, 0, 0], missing_on_server=2)
    assert [len(c) for c in data.clients] == [5, 0]
    assert len(data.server_points) == 120
    assert len(gaussian_mixture(1, client_size=[3, 4, 5], dimension=2).clients) == 3


def test_missing_clusters_are_missing_on_the_server_only():
    data = gaussian_mixture(2, n_clients=5, client_size=200, k=6, dimension=50, variance=0.01, missing_on_server=2, server_uniform=7)
    assert len(data.server_points) == 4 * 20 + 7
    assert set(labels_of(data.server_points[:80], data.means)) == {0, 1, 2, 3}
    assert set(labels_of(data.pooled, data.means)) == set(range(6))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 3, "missing_on_server": 3}, "missing_on_server must be from 0 to below k = 3, got 3"),
        ({"missing_on_server": -1}, "got -1"),
        ({"k": 0}, "k must be finite and at least 1, got 0"),
        ({"dimension": 0}, "dimension must be finite and at least 1, got 0"),
        ({"server_uniform": -5}, "server_uniform must be finite and at least 0, got -5"),
        ({"n_clients": 0}, "n_clients must be at least 1, got 0"),
        ({"n_clients": 3, "client_size": [1, 2]}, "n_clients must be the number of client sizes, 2, got 3"),
        ({"client_size": [1, -2]}, "client_size must not be negative, got -2"),
        ({"k": 2, "component_weights": [0.5, 0.6]}, r"component_weights must be 2 numbers from 0 that add up to 1, got \[0.5, 0.6\]"),
        ({"k": 2, "component_weights": [np.nan, 1]}, "component_weights must be 2 numbers"),
        ({"k": 2, "component_weights": [1.0]}, "component_weights must be 2 numbers"),
        ({"variance": -1.0}, "variance must be finite and at least 0, got -1.0"),
        ({"variance": np.inf}, "variance must be finite and at least 0, got inf"),
    ],
)
def test_what_is_no_mixture_is_refused(arguments, message):
    with pytest.raises(FedDPError, match=message):
        gaussian_mixture(1, **arguments)


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
