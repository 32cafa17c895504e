"""The grid for one and two dimensions: its releases and what they find."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.methods.grid import GridMethod
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.mechanism import Mechanism
from tests.algorithm.three_clusters import BOX, TRUTH, made_up, near

LOOKS = ["count", "first look", "grid", "closing bounds", "closing"]


@pytest.mark.parametrize("box", [None, BOX])
@pytest.mark.parametrize("dimension", [1, 2])
def test_a_grid_can_have_gaussian_noise_alone(box, dimension):
    found = FedDPKMeans(3, epsilon=2.0, noise="gaussian", box=box, random_state=0).fit(made_up(5000, dimension))
    assert "grid" in found.plan_
    assert {release.mechanism for release in found.plan_.releases} == {Mechanism.GAUSSIAN}
    assert 1.99 < found.privacy_.epsilon_spent <= 2.0
    assert near(found.cluster_centers_, TRUTH[:, :dimension]) < 0.5


def test_without_noise_the_counts_are_exact_and_only_the_closing_look_follows():
    points = np.repeat([[0.0, 0.0], [4.0, 4.0]], [30, 50], axis=0)
    found = run(InMemoryFederation([points]), prepare(Settings(2, float("inf"), box=BOX), None, 1, 2), seed=0)
    assert sorted(found.counts) == [30, 50]
    assert near(found.centers, np.array([[0.0, 0.0], [4.0, 4.0]])) < 0.1
    assert [row["release"] for row in found.privacy.ledger] == LOOKS
    assert found.remarks == ()


def test_a_private_domain_takes_its_part_of_the_budget_and_the_histogram_nearly_all_else():
    with_box, without = (GridMethod(2, 3, region).requests() for region in (Settings(3, box=BOX).region(2), None))
    assert [release.name for release in with_box] == LOOKS
    assert [release.name for release in without] == ["distances", "mean", *LOOKS]
    assert without[2:] == with_box
    multipliers = {release.name: release.noise_multiplier for release in with_box}
    assert multipliers["count"] / multipliers["grid"] == pytest.approx(0.9 / 0.02)
    assert multipliers["first look"] / multipliers["grid"] == pytest.approx(0.9 / 0.08)


def test_tight_clusters_along_a_curve_are_told_apart_although_the_region_is_wide():
    """The farthest of 20 centers is off by 0.06 to 0.08 (ten seeds); with one uniform grid by 1.7 to 2.0."""
    steps = np.arange(20.0)
    middles = np.stack([steps, 4 * np.sin(steps / 2)], axis=1)
    points = np.repeat(middles, 200, axis=0) + np.random.default_rng(0).normal(0, 0.1, (4000, 2))
    found = FedDPKMeans(20, epsilon=2.0, radius=60.0, random_state=1).fit(points).cluster_centers_
    assert near(found, middles) < 0.2


def test_more_clusters_than_cells_are_refused_by_nothing():
    points = np.random.default_rng(0).uniform(0, 1, (300, 2))
    found = FedDPKMeans(200, epsilon=1.0, box=(0.0, 1.0), random_state=0).fit(points)
    assert found.cluster_centers_.shape == (200, 2)


def test_a_ball_of_noise_that_is_too_small_for_its_center_is_no_error():
    """The radius that this run finds is less than what the numbers around its center can tell apart."""
    found = FedDPKMeans("auto", epsilon=5, random_state=876).fit([np.array([[1000.0]])] * 5)
    assert np.isfinite(found.cluster_centers_).all()
