"""The map: public points and released centers alone, in at most two dimensions."""

from dataclasses import replace

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.report.server_map import MOST_POINTS, server_map
from tests.report.examples import HARD, made_result, section


def clustered(d=3, n_server=30):
    rng = np.random.default_rng(d)
    server = rng.standard_normal((n_server, d))
    return run(InMemoryFederation([rng.standard_normal((200, d))]), prepare(Settings(2, 5.0), server, 1), seed=1), server


def test_points_and_centers_are_those_of_the_server_in_the_private_subspace():
    found, server = clustered()
    made = server_map(found, server)
    points = np.array(made["points"])
    assert points[:, :2] == pytest.approx(server @ found.projection[:, :2], rel=1e-5)
    assert points[:, 2] == pytest.approx(found.server_weights, rel=1e-5)
    assert np.array(made["centers"]) == pytest.approx(found.centers @ found.projection[:, :2], rel=1e-5)


def test_one_dimension_lies_on_a_line():
    found, server = clustered(d=1)
    made = server_map(found, server)
    assert {row[1] for row in made["points"]} == {0.0}
    assert len(made["centers"]) == 2


def test_no_server_data_no_subspace_and_many_points():
    found, server = clustered()
    assert server_map(found, None)["points"] == []
    assert len(server_map(found, None)["centers"]) == 2
    assert server_map(replace(found, projection=np.empty((3, 0))), server) is None
    many = np.zeros((10 * MOST_POINTS, 3))
    made = server_map(found, many)
    assert len(made["points"]) == MOST_POINTS
    assert {row[2] for row in made["points"]} == {1.0}


def test_the_section_is_left_out_where_there_is_no_map():
    assert section(HARD["old"], "map") == ""
    assert section(made_result(server_map=None), "map") == ""
    assert "There is no server point to show" in section(HARD["one point only"], "map")
