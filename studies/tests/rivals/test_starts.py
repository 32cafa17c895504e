"""First centers that touch no client data."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans, plugins
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_studies.rivals import dp_lloyd, server_kmeanspp, server_lloyds, sphere_packing

RNG = np.random.default_rng(3)
SERVER = RNG.standard_normal((50, 4))
CLIENTS = [RNG.standard_normal((400, 4)) + 2 for _ in range(5)]
STARTS = {module.NAME: module.start for module in (server_kmeanspp, server_lloyds, sphere_packing, dp_lloyd)}
INITS = plugins.names(plugins.STARTS)


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("k", [1, 3, 50])
def test_a_start_gives_k_centers_and_repeats_itself(name, k):
    ball = Ball(np.zeros(4), 9.0)
    first, second = (STARTS[name](SERVER, ball, k, 5) for _ in range(2))
    assert first.shape == (k, 4)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", INITS)
def test_the_whole_budget_goes_to_lloyd_steps(name):
    model = FedDPKMeans(3, epsilon=1.0, init=name, lloyd_steps=2, random_state=0).fit(CLIENTS, server_data=SERVER)
    assert {row["release"] for row in model.privacy_.ledger} == {"lloyd sums", "lloyd counts"}
    assert 0.98 < model.privacy_.epsilon_spent <= 1.0
    assert np.isfinite(model.cluster_centers_).all()


def test_no_step_is_no_release():
    model = FedDPKMeans(3, init="server-lloyds", lloyd_steps=0).fit(CLIENTS, server_data=SERVER)
    assert model.privacy_.ledger == ()
    assert model.privacy_.epsilon_spent == 0
    assert np.isnan(model.cluster_counts_).all()


def test_random_starts_fill_the_box_of_the_server_data():
    starts = dp_lloyd.start(SERVER, Ball(np.zeros(4), 100.0), 500, 0)
    low, high = SERVER.min(axis=0), SERVER.max(axis=0)
    assert ((starts >= low) & (starts <= high)).all()
    assert (starts.max(axis=0) - starts.min(axis=0) > 0.9 * (high - low)).all()


def test_packed_spheres_are_apart_and_the_largest_that_fit():
    ball = Ball(np.zeros(2), 1.0)
    centers = sphere_packing.start(SERVER, ball, 4, 0)
    gaps = np.linalg.norm(centers[:, None] - centers[None], axis=2)[~np.eye(4, dtype=bool)]
    # Four disks whose centers are 2 a apart and a from the corners of a square of side 2: a = 1/2 is possible, random tries come near.
    assert 0.7 < gaps.min() <= 2.0
    assert np.abs(centers).max() <= 1.0


@pytest.mark.parametrize("dimension", [1, 200, pytest.param(1000, marks=pytest.mark.slow)])
def test_packing_works_in_any_dimension(dimension):
    centers = sphere_packing.start(SERVER, Ball(np.zeros(dimension), 3.0), 10, 0)
    assert centers.shape == (10, dimension)
    assert len(np.unique(centers, axis=0)) == 10
