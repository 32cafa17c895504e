"""The grid for one and two dimensions: its releases, its cells, and which of them hold points."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.methods.grid import GridMethod, grid_cells, occupied
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.mechanism import Mechanism
from tests.algorithm.three_clusters import BOX, TRUTH, made_up, near


@pytest.mark.parametrize("box", [None, BOX])
@pytest.mark.parametrize("dimension", [1, 2])
def test_a_grid_can_have_gaussian_noise_alone(box, dimension):
    found = FedDPKMeans(3, epsilon=2.0, noise="gaussian", box=box, random_state=0).fit(made_up(5000, dimension))
    assert "grid" in found.plan_
    assert {release.mechanism for release in found.plan_.releases} == {Mechanism.GAUSSIAN}
    assert 1.99 < found.privacy_.epsilon_spent <= 2.0
    assert near(found.cluster_centers_, TRUTH[:, :dimension]) < 0.5


def test_cells_are_cubes_and_lone_noisy_ones_are_empty():
    assert grid_cells(np.array([1.0, 1.0]), 2000.0, 3).tolist() == [22, 22]
    wide = grid_cells(np.array([10.0, 1.0]), 2000.0, 3)
    assert wide[0] == pytest.approx(10 * wide[1], rel=0.1)
    assert np.prod(grid_cells(np.array([1e9, 1.0]), 1e12, 3)) <= 1 << 13
    counts = np.zeros((20, 20))
    counts[4:7, 4:7] = 50.0
    counts[15, 15] = 30.0
    weights = occupied(counts, 10.0, 2).reshape(20, 20)
    assert weights[5, 5] == 50.0
    assert weights[15, 15] == 0.0
    assert weights[10, 10] == 0.0


def test_without_noise_the_counts_are_exact_and_only_the_closing_look_follows():
    points = np.repeat([[0.0, 0.0], [4.0, 4.0]], [30, 50], axis=0)
    found = run(InMemoryFederation([points]), prepare(Settings(2, float("inf"), box=BOX), None, 1, 2), seed=0)
    assert sorted(found.counts) == [30, 50]
    assert near(found.centers, np.array([[0.0, 0.0], [4.0, 4.0]])) < 0.1
    assert [row["release"] for row in found.privacy.ledger] == ["count", "grid", "closing bounds", "closing"]
    assert found.remarks == ()


def test_a_private_domain_takes_its_part_of_the_budget_and_the_histogram_nearly_all_else():
    with_box, without = (GridMethod(2, 3, region).requests() for region in (Settings(3, box=BOX).region(2), None))
    assert [release.name for release in with_box] == ["count", "grid", "closing bounds", "closing"]
    assert [release.name for release in without] == ["distances", "mean", "count", "grid", "closing bounds", "closing"]
    assert without[2:] == with_box
    assert with_box[0].noise_multiplier / with_box[1].noise_multiplier == pytest.approx(0.97 / 0.03)
