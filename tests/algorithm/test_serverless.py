"""Clustering without server data: the plan, the domain, the proxies, and what noise leaves of them."""

import math

import numpy as np
import pytest

from feddp_kmeans import FedDPError, FedDPKMeans, InMemoryFederation
from feddp_kmeans.algorithm import proxies
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.domain import Region, find_domain
from feddp_kmeans.algorithm.histogram_bounds import geometric_edges, typical_length
from feddp_kmeans.algorithm.looks import Looks
from feddp_kmeans.algorithm.methods.grid import GridMethod, grid_cells, occupied
from feddp_kmeans.algorithm.methods.serverless import ServerlessMethod
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.server import filtered, kmeans_cost
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.privacy.accounting import composed_epsilon
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from tests.ledgers import check_ledger

TRUTH = np.array([[4.0, 0, 0, 0, 0], [0, 4, 0, 0, 0], [0, 0, 4, 0, 0]])
BOX = (-2.0, 6.0)


def made_up(n=3000, dimension=5, seed=0):
    rng = np.random.default_rng(seed)
    return TRUTH[rng.integers(3, size=n), :dimension] + 0.2 * rng.standard_normal((n, dimension))


def near(centers, truth=TRUTH):
    return np.linalg.norm(truth[:, None] - centers[None], axis=2).min(axis=1).max()


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("box", [None, BOX])
@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_the_ledger_is_within_the_plan_and_its_epsilon_is_met(unit, box, dimension, epsilon):
    points = made_up(300, dimension)
    found = FedDPKMeans(3, epsilon=epsilon, privacy_unit=unit, box=box, random_state=1).fit(np.array_split(points, 30))
    check_ledger(found.clustering_)
    assert found.privacy_.epsilon_spent <= epsilon
    assert composed_epsilon(found.plan_.releases, 1e-6) <= epsilon
    assert found.cluster_centers_.shape == (3, dimension)
    assert np.isfinite(found.cluster_centers_).all()


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("box", [None, BOX])
def test_clusters_are_found(unit, box):
    clients = np.array_split(made_up(20_000), 2000)
    found = FedDPKMeans(3, epsilon=4.0, privacy_unit=unit, box=box, random_state=0).fit(clients)
    assert near(found.cluster_centers_) < 0.1
    assert found.cluster_counts_ == pytest.approx([20_000 / 3] * 3, rel=0.15)
    assert not found.clustering_.remarks


@pytest.mark.parametrize("dimension", [2, 5])
def test_without_noise_the_centers_are_those_of_k_means(dimension):
    points = made_up(3000, dimension)
    found = FedDPKMeans(3, epsilon=math.inf, random_state=0, box=BOX).fit(points)
    best = FedDPKMeans(3, epsilon=math.inf, random_state=0).fit(points, server_data=points[:300])
    assert kmeans_cost(points, found.cluster_centers_) < 1.01 * kmeans_cost(points, best.cluster_centers_)


def test_how_points_are_spread_over_clients_does_not_matter_at_point_level():
    points = made_up(500)
    model = FedDPKMeans(3, epsilon=1.0, random_state=3)
    assert np.array_equal(model.fit(points).cluster_centers_, model.fit(np.array_split(points, 7)).cluster_centers_)


@pytest.mark.parametrize("n", [0, 1, 20])
@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("dimension", [1, 5])
def test_too_few_points_are_an_ordinary_input_and_the_result_says_so(n, unit, dimension):
    found = FedDPKMeans(3, epsilon=0.5, privacy_unit=unit, box=BOX, random_state=0).fit([made_up(n, dimension)])
    assert (found.cluster_centers_ >= BOX[0]).all()
    assert (found.cluster_centers_ <= BOX[1]).all()
    assert any(text in found.clustering_.remarks[0] for text in ("the noise hides every direction", "cannot be told from noise"))


def test_where_noise_hides_all_directions_the_mean_is_as_good_as_the_budget_allows():
    points = made_up(1500)
    found = FedDPKMeans(3, epsilon=0.02, box=BOX, random_state=0).fit(points)
    assert "the noise hides every direction" in found.clustering_.remarks[0]
    assert np.linalg.norm(found.cluster_centers_[0] - points.mean(axis=0)) < 4


@pytest.mark.parametrize("box", [None, BOX])
@pytest.mark.parametrize("dimension", [1, 2])
def test_a_grid_can_have_gaussian_noise_alone(box, dimension):
    found = FedDPKMeans(3, epsilon=2.0, noise="gaussian", box=box, random_state=0).fit(made_up(5000, dimension))
    assert "grid" in found.plan_
    assert {release.mechanism for release in found.plan_.releases} == {Mechanism.GAUSSIAN}
    assert 1.99 < found.privacy_.epsilon_spent <= 2.0
    assert near(found.cluster_centers_, TRUTH[:, :dimension]) < 0.5


def test_a_mean_of_more_values_than_the_cells_would_have_is_counted_in_full(rng):
    found = FedDPKMeans(1, epsilon=0.05, box=BOX, random_state=0).fit(rng.standard_normal((200, 60))).clustering_
    assert "the noise hides every direction" in found.remarks[0]
    assert {found.plan[name].values for name in ("cells", "sums")} == {61}


def test_outliers_beyond_any_scale_do_no_harm():
    points = np.concatenate([made_up(5000), np.full((5, 5), 1e300), np.full((5, 5), -1e300)])
    found = FedDPKMeans(3, epsilon=2.0, random_state=0).fit(points)
    assert near(found.cluster_centers_) < 0.3


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_a_private_domain_is_found_at_any_scale_and_place(scale, offset):
    points = scale * (made_up(20_000) + offset)
    plan = prepare(Settings(3, 2.0), None, 1, 5).plan
    federation = InMemoryFederation([points])
    domain = find_domain(Looks(federation.open(plan, seed=0), PrivacyUnit.POINT), None, 5)
    assert np.linalg.norm(domain.ball.center - points.mean(axis=0)) < 3 * scale
    assert 2 * scale < domain.ball.radius < 40 * scale
    assert domain.n_points == pytest.approx(20_000, rel=0.3)


def test_a_plan_without_data_says_what_it_will_do():
    low = prepare(Settings(3, 1.0, box=BOX), None, 10, 2)
    assert isinstance(low.method, GridMethod)
    assert [r.name for r in low.plan.releases] == ["count", "grid"]
    high = prepare(Settings(3, 1.0, box=BOX, lloyd_steps=2), None, 10, 2)
    assert isinstance(high.method, ServerlessMethod)
    assert high.plan["sums"].times == 3
    with pytest.raises(FedDPError, match="server_data must be given for method 'paper'"):
        prepare(Settings(3, 1.0, method="paper"), None, 10, 2)
    found = run(InMemoryFederation([made_up(500, 2)]), high, seed=0)
    assert found.centers.shape == (3, 2)


def test_a_region_holds_its_box_or_its_ball():
    box = Region.of_box(np.array([0.0, -1]), np.array([2.0, 1]))
    assert box.ball.center.tolist() == [1, 0]
    assert box.ball.radius == pytest.approx(2**0.5)
    ball = Region.of_ball(Ball(np.ones(2), 3.0))
    assert ball.low.tolist() == [-2, -2]
    assert ball.clip(np.array([[9.0, 0]])).tolist() == [[4, 0]]


def test_typical_lengths_ignore_noise_and_stretch_to_the_tail():
    edges = geometric_edges(8.0, 5)
    assert edges == pytest.approx([2, 8**0.5, 4, 32**0.5, 8])
    quiet = np.array([0.0, 100, 800, 0, 100, 0])
    assert typical_length(quiet, 1.0, edges).length == pytest.approx(4 / 2**0.25)
    assert typical_length(quiet, 1.0, edges, stretch=9.0).length == 8.0
    assert typical_length(quiet, 1.0, edges, stretch=9.0).kept == 1.0
    assert typical_length(quiet, 1e6, edges).length == 8.0
    assert typical_length(quiet, 1e6, edges, least_classes=1).length == pytest.approx(4 / 2**0.25)


def test_repeated_releases_around_centers_that_stand_still_are_averaged(rng):
    steps, k, d = 16, 10, 20
    truth, variances = rng.standard_normal((k, d)), np.full(k, 4.0)
    center, known = np.zeros((k, d)), np.zeros((k, d))
    for _ in range(steps):
        noisy = truth - center + 2 * rng.standard_normal((k, d))
        moves, known = filtered(noisy, variances, d, np.full(d, 1e9), known)
        center = center + moves
    average = 4.0 / steps
    assert np.square(center - truth).mean() < 1.5 * average
    assert known.mean() == pytest.approx(average, rel=0.6)


def test_a_noisy_direction_is_believed_as_far_as_it_points_the_right_way(rng):
    d, noise = 60, 0.05
    upper = np.triu(rng.standard_normal((d, d)), 1) / 2**0.5
    wigner = noise * (upper + upper.T + np.diag(rng.standard_normal(d)))
    truth = np.diag([3.0, 2.0] + [0.1] * (d - 2))
    shape = proxies.shape_of(truth - np.eye(d) * np.trace(truth) / d + wigner, float(np.trace(truth)), noise, (0.0, 1e9))
    along = np.einsum("ij,ik,kj->j", shape.basis, truth, shape.basis)
    assert shape.along[:2] == pytest.approx(along[:2], rel=0.15)
    assert shape.rank(1) == 2
    assert shape.rank(5) == 5


def test_candidates_are_as_many_as_noise_allows_and_gather_where_the_weight_is(rng):
    assert proxies.n_candidates(1e5, 100.0, 10) == 1000
    assert proxies.n_candidates(1e4, 100.0, 10) == 100
    assert proxies.n_candidates(10.0, 100.0, 10) == 60
    first = proxies.first_candidates(rng, 500, np.array([4.0, 1.0]))
    weights = np.where(first[:, 0] > 1, 1.0, 0.0)
    assert proxies.resampled(rng, first, weights, np.array([4.0, 1.0]))[:, 0].mean() > 1
    assert proxies.credible_counts(np.array([1.0, -4, 90, 80]), 10.0, 2, 1.5).tolist() == [0, 0, 90, 80]
    assert (proxies.credible_counts(np.array([1.0, -4, 90, 80]), 10.0, 3, 1.5) > 0).all()


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
