"""The data sets of the accuracy benchmark."""

import numpy as np
import pytest

from feddp_kmeans.errors import InputError
from feddp_studies.accuracy.benchmark_sets import in_unit_ball, is_drawn, load


def test_points_in_the_unit_ball_are_centred_and_one_reaches_the_radius():
    points = np.random.default_rng(0).normal(5, 3, (500, 4))
    made = in_unit_ball(points, 2, means=points[:2], server=points[2:4])
    norms = np.linalg.norm(made.points, axis=1)
    assert norms.max() <= 1
    np.testing.assert_allclose([norms.max(), *made.points.mean(axis=0)], [1, 0, 0, 0, 0], atol=1e-9)
    np.testing.assert_array_equal(made.means, made.points[:2])
    np.testing.assert_array_equal(made.server_points, made.points[2:4])
    assert made.given["delta"] == 500**-1.1


def test_a_board_set_is_the_same_for_every_seed_and_a_drawn_one_is_not():
    assert not is_drawn("board-4-4")
    np.testing.assert_array_equal(load("board-4-4", 1, "").points, load("board-4-4", 2, "").points)
    assert is_drawn("blobs-4-4")
    assert not np.array_equal(load("blobs-4-4", 1, "").points, load("blobs-4-4", 2, "").points)


@pytest.mark.parametrize(
    ("name", "shape", "k", "server"), [("curve", (25_000, 2), 100, None), ("auto-blobs-25-16-server", (20_000, 16), 25, 600)]
)
def test_a_made_set_has_the_size_that_its_name_says(name, shape, k, server):
    made = load(name, 7, "")
    assert made.points.shape == shape
    assert len(made.means) == made.k == k
    assert (made.server_points is None) == (server is None)
    assert server is None or len(made.server_points) == server


def test_a_larger_number_of_clusters_is_tried_where_more_are_planted():
    assert load("auto-blobs-25-16", 0, "").given["max_clusters"] == 30
    assert "max_clusters" not in load("auto-blobs-20-16", 0, "").given


def test_a_mixture_with_a_box_has_no_server_data():
    made = load("mixture-10000-box", 0, "")
    assert made.server_points is None
    assert made.given == {"box": (-0.75, 1.75)}
    assert made.points.shape == (10_000, 100)


def test_an_unknown_set_is_refused():
    with pytest.raises(InputError, match="set must be one of"):
        load("nothing", 0, "")
