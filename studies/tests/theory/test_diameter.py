"""The diameter reduction, and its inverse."""

import numpy as np
import pytest

from feddp_studies.theory.assumptions import MixtureFacts
from feddp_studies.theory.diameter import Translation, cluster_span, reduce_diameter

FACTS = MixtureFacts(1000, 0.2, 1.0)
SPAN = cluster_span(FACTS, 2)


def test_groups_far_apart_come_near_and_keep_their_shape():
    server = np.array([[0.0, 0.0], [1.0, 2.0], [1e6, 1e6], [1e6 + 1, 1e6], [-3e6, 0.0]])
    counts = np.array([200.0, 200, 200, 200, 200])
    translation = reduce_diameter(server, counts, FACTS, 1.0, spacing=10)
    there = translation.forward(server)
    assert translation.groups.tolist() == [0, 0, 1, 1, 2]
    assert np.linalg.norm(there, axis=1).max() <= 2 * 10 * SPAN + SPAN
    np.testing.assert_allclose(there[1] - there[0], server[1] - server[0])
    np.testing.assert_allclose(there[3] - there[2], server[3] - server[2])
    np.testing.assert_allclose(translation.inverse(there), server)


def test_points_with_neither_server_nor_client_points_around_are_dropped():
    server = np.array([[0.0, 0.0], [1e6, 0.0], [2e6, 0.0]])
    facts = MixtureFacts(100_000, 0.2, 1.0)
    kept = reduce_diameter(server, np.array([50_000.0, 300.0, 50_000.0]), facts, 1.0).anchors
    np.testing.assert_array_equal(kept, server[[0, 2]])


def test_a_crowd_of_server_points_is_frozen_whatever_its_noisy_counts():
    crowd = np.random.default_rng(0).standard_normal((50, 2))
    server = np.vstack([crowd, [[1e6, 0.0]]])
    counts = np.concatenate([np.full(50, -5.0), [500.0]])
    assert len(reduce_diameter(server, counts, FACTS, 1.0).anchors) == 51


def test_one_group_stays_where_it_is():
    server = np.array([[5.0, 5.0], [6.0, 5.0]])
    translation = reduce_diameter(server, np.array([500.0, 500.0]), FACTS, 1.0)
    points = np.random.default_rng(0).standard_normal((20, 2))
    np.testing.assert_array_equal(translation.forward(points), points)
    np.testing.assert_array_equal(translation.inverse(points), points)


def test_nothing_credible_keeps_everything():
    server = np.array([[0.0, 0.0], [1e6, 0.0]])
    assert len(reduce_diameter(server, np.array([-9.0, -9.0]), FACTS, 1.0).anchors) == 2


@pytest.mark.parametrize("seed", range(20))
def test_forward_then_inverse_is_the_identity_near_the_anchors(seed):
    rng = np.random.default_rng(seed)
    server = rng.standard_normal((12, 3)) * 10.0 ** rng.integers(0, 7)
    translation = reduce_diameter(server, np.full(12, 400.0), FACTS, 1.0)
    assert isinstance(translation, Translation)
    points = translation.anchors + 1e-3 * rng.standard_normal(translation.anchors.shape)
    np.testing.assert_allclose(translation.inverse(translation.forward(points)), points, rtol=1e-9, atol=1e-6)
