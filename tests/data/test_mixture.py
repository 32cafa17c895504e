"""The paper's mixture."""

import numpy as np
import pytest

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.data.mixture import gaussian_mixture


def test_it_is_the_papers():
    data = gaussian_mixture(0)
    assert len(data.clients) == 100
    assert data.clients[0].shape == (1000, 100)
    assert data.server_points.shape == (300, 100)
    labels = np.linalg.norm(data.clients[0][:, None] - data.means[None], axis=2).argmin(axis=1)
    residuals = data.clients[0] - data.means[labels]
    assert residuals.var() == pytest.approx(0.5, rel=0.02)
    assert ((data.server_points[200:] >= 0) & (data.server_points[200:] <= 1)).all()
    assert np.array_equal(data.pooled, np.concatenate(gaussian_mixture(0).clients))


def test_sizes_weights_and_missing_components():
    data = gaussian_mixture(1, n_clients=2, client_size=[5, 0], k=3, dimension=4, component_weights=[1.0, 0, 0], missing_components=2)
    assert [len(c) for c in data.clients] == [5, 0]
    assert len(data.server_points) == 120
    with pytest.raises(FedDPError, match="missing_components must be below k = 3, got 3"):
        gaussian_mixture(1, k=3, missing_components=3)
