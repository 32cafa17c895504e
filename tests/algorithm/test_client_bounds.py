"""Bounds on what a client sends, from public data."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.client_bounds import ClientBounds, simulated_bounds
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.statistics.fixed_point import Ball


def test_bounds_come_from_public_data_and_a_public_size(rng):
    server = rng.standard_normal((100, 4))
    ball = Ball(np.zeros(4), 5.0)
    small, large = simulated_bounds(server, ball, 3, 1), simulated_bounds(server, ball, 3, 64)
    assert small.presence == 1
    assert large.presence == 3
    assert large.outer_product > 10 * small.outer_product
    assert large.weights == 64
    with pytest.raises(FedDPError, match="bound 'means' must be positive and finite, got -1"):
        ClientBounds(1, 1, -1, 1, 1, 1)


def test_a_typical_client_is_not_clipped_and_bounds_are_never_zero():
    axes = np.repeat(3.0 * np.eye(2), 20, axis=0)
    bounds = simulated_bounds(axes, Ball(np.zeros(2), 5.0), 2, 8)
    # All points of a cluster are the same: its mean has length 3, both clusters can be present, and 8 points add up to 24 at most.
    assert bounds.means == pytest.approx(3.0 * 2**0.5)
    assert 8 * 3.0 / 2**0.5 <= bounds.sums <= 8 * 3.0
    assert simulated_bounds(axes, Ball(np.zeros(2), 5.0), 2, 8) == bounds
    nothing = simulated_bounds(np.zeros((4, 2)), Ball(np.zeros(2), 1.0), 1, 3)
    assert min(nothing.outer_product, nothing.means, nothing.sums) > 0


def test_server_points_that_are_all_next_to_the_middle_of_a_wide_box_give_bounds_that_a_query_takes():
    clients = [np.zeros((3, 2))] * 5
    server = 1e-7 * np.eye(2)
    model = FedDPKMeans(2, method="paper", privacy_unit="client", box=(-1, 1), random_state=0)
    assert model.fit(clients, server_data=server).cluster_centers_.shape == (2, 2)
