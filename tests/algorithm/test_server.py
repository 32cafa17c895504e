"""Post-processing of noisy sums."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from feddp_kmeans.algorithm import server
from feddp_kmeans.algorithm.looks import Moment
from feddp_kmeans.algorithm.server import (
    centers_from_sums,
    credible_weights,
    filtered,
    kmeans_cost,
    offsets_outside,
    server_cells,
    shrunk_weights,
    steadied_directions,
    symmetric_from_upper,
    top_subspace,
    variance_around,
    variance_of,
    weighted_kmeans,
)
from tests.variants import slow_after


def test_upper_triangle_makes_a_symmetric_matrix():
    assert symmetric_from_upper(np.array([1.0, 2, 3, 4, 5, 6]), 3).tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]


def test_top_subspace_is_that_of_the_largest_eigenvalues(rng):
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    matrix = basis @ np.diag([9.0, 7, 3, 1, -5, -20]) @ basis.T
    found = top_subspace(matrix, 2)
    assert found.T @ found == pytest.approx(np.eye(2))
    assert np.abs(basis[:, :2].T @ found) == pytest.approx(np.eye(2), abs=1e-9)
    assert top_subspace(matrix, 10).shape == (6, 6)


def test_weights_that_noise_explains_are_dropped():
    weights = np.array([100.0, 80.0, 3.0, -4.0, 60.0])
    assert credible_weights(weights, 5.0, 2).tolist() == [100, 80, 0, 0, 60]


def test_at_least_k_points_keep_a_weight_even_among_noise():
    kept = credible_weights(np.array([-3.0, -1.0, -2.0, -9.0]), 5.0, 2)
    assert np.count_nonzero(kept) >= 2
    assert (kept >= 0).all()


@pytest.mark.parametrize("seed", slow_after(20, range(100)))
def test_weighted_kmeans_finds_separated_clusters_from_any_seed(seed):
    rng = np.random.default_rng(seed)
    truth = np.array([[0.0, 0], [50, 0], [0, 50], [50, 50]])
    points = np.vstack([truth[i] + rng.standard_normal((10, 2)) for i in range(4)] + [rng.uniform(-200, 200, (20, 2))])
    weights = np.concatenate([np.full(40, 100.0), np.zeros(20)])
    found = weighted_kmeans(points, weights, 4, seed)
    distances = np.linalg.norm(truth[:, None] - found[None], axis=2).min(axis=1)
    assert distances.max() < 2


def test_many_clusters_are_all_found_although_restarts_are_few():
    """100 clusters on a square lattice: the best of five starts misses about ten of them."""
    middles = np.array([[x, y] for x in range(10) for y in range(10)], dtype=float)
    points = np.repeat(middles, 7, axis=0) + np.random.default_rng(3).normal(0, 0.03, (700, 2))
    found = weighted_kmeans(points, np.ones(700), 100, 0)
    assert np.abs(found[:, None] - middles[None]).max(axis=2).min(axis=0).max() < 0.1


def test_fewer_distinct_points_than_clusters_still_give_k_centers():
    found = weighted_kmeans(np.array([[1.0, 1], [1, 1], [2, 2], [9, 9]]), np.array([1.0, 1, 1, 0]), 3, 0)
    assert found.shape == (3, 2)
    assert {tuple(row) for row in found} == {(1.0, 1.0), (2.0, 2.0)}


def test_the_cost_is_the_mean_squared_distance_to_the_nearest_center():
    points = np.array([[0.0, 0], [3, 4], [10, 0], [10, 1]])
    assert kmeans_cost(points, np.array([[0.0, 0], [10, 0]])) == pytest.approx((0 + 25 + 0 + 1) / 4)
    assert kmeans_cost(points[:0], points) == 0


@pytest.mark.parametrize("rows", [1, 7, 100, 1000])
def test_the_cost_does_not_depend_on_blocks_or_on_sparseness(rng, monkeypatch, rows):
    points = rng.standard_normal((100, 5)) * (rng.random((100, 5)) < 0.3)
    centers = rng.standard_normal((4, 5))
    want = np.square(points[:, None] - centers).sum(axis=2).min(axis=1).mean()
    monkeypatch.setattr(server, "_COST_ROWS", rows)
    for form in (np.asarray, sparse.csr_matrix, sparse.csr_array):
        assert kmeans_cost(form(points), centers) == pytest.approx(want)


def test_the_cost_of_integers_does_not_wrap_around():
    assert kmeans_cost(np.full((3, 2), 100, dtype=np.int8), np.zeros((1, 2))) == 20_000


def test_a_sparse_matrix_is_never_made_dense(rng, monkeypatch):
    points = sparse.csr_matrix(rng.standard_normal((50, 8)) * (rng.random((50, 8)) < 0.2))
    for name in ("toarray", "todense"):
        monkeypatch.setattr(sparse.csr_matrix, name, None)
    assert kmeans_cost(points, rng.standard_normal((3, 8))) > 0


def test_a_count_at_or_below_zero_never_blows_a_center_up():
    sums = np.array([[10.0, 0], [5, 5], [1e3, 1e3]])
    fallback = np.full((3, 2), 7.0)
    centers = centers_from_sums(sums, np.array([5.0, 0.0, -1e-12]), fallback, 0.5)
    assert centers.tolist() == [[2, 0], [7, 7], [7, 7]]


def test_weights_are_the_servers_own_where_there_is_only_noise(rng):
    sizes = np.array([5, 1, 3, 1] * 25)
    noise = 100 * rng.standard_normal(100)
    weights = shrunk_weights(noise + sizes, sizes, 100.0)
    assert weights / weights.sum() == pytest.approx(sizes / sizes.sum(), abs=0.01)


def test_weights_are_the_counts_where_there_is_little_noise(rng):
    counts = rng.integers(100, 1000, 50).astype(float)
    assert shrunk_weights(counts, np.ones(50), 0.1) == pytest.approx(counts, rel=1e-3)
    assert shrunk_weights(counts, np.ones(50), 0.0) == pytest.approx(counts)
    assert (shrunk_weights(np.full(5, -3.0), np.ones(5), 1.0) > 0).any()


def test_shrinkage_removes_noise_and_keeps_signal(rng):
    signal = np.zeros((10, 60))
    signal[:, :10] = 3 * rng.standard_normal((10, 10))
    variances = np.full(10, 1.0)
    noisy = signal + rng.standard_normal(signal.shape)
    shrunk = filtered(noisy, variances, 10, np.full(60, np.inf))[0]
    assert np.square(shrunk - signal).sum() < 0.35 * np.square(noisy - signal).sum()
    assert np.array_equal(filtered(noisy, np.zeros(10), 10, np.full(60, np.inf))[0], noisy)
    assert np.abs(filtered(noisy, variances, 10, np.zeros(60))[0]).max() == 0


def test_a_cluster_that_stands_out_is_not_held_back_by_the_others(rng):
    noisy = rng.standard_normal((10, 50))
    noisy[3] += 5
    shrunk = filtered(noisy, np.ones(10), 50, np.full(50, np.inf))[0]
    assert shrunk[3] == pytest.approx(noisy[3], rel=0.1)
    assert np.abs(np.delete(shrunk, 3, axis=0)).mean() < 0.9 * np.abs(np.delete(noisy, 3, axis=0)).mean()


def test_offsets_outside_the_subspace_are_those_of_the_servers_clusters(rng):
    projection = np.eye(6)[:, :2]
    members = np.repeat([0, 1], 200)
    points = rng.standard_normal((400, 6))
    points[members == 1, 5] += 8
    offsets = offsets_outside(points, np.ones(400), members, 2, projection)
    assert offsets[:, :2] == pytest.approx(np.zeros((2, 2)))
    assert offsets[:, 5] == pytest.approx([0, 8], abs=0.3)


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


def test_directions_are_the_clients_where_noise_is_low_and_the_servers_where_it_is_high():
    rng = np.random.default_rng(0)
    server = rng.standard_normal((400, 6)) * [1, 1, 1, 1, 1, 9]
    clients = np.diag([64.0, 25, 1, 1, 1, 1])
    traceless = clients - np.eye(6) * np.trace(clients) / 6
    trace = 1000 * np.trace(server.T @ server / len(server))
    quiet, loud = (steadied_directions(Moment(1000 * traceless, trace, noise, 100.0), server, 2) for noise in (1e-9, 1e9))
    assert np.abs(quiet.basis[:, :2]) == pytest.approx(np.eye(6)[:, :2], abs=0.02)
    assert quiet.n_points == pytest.approx(1000)
    assert quiet.above_noise == 2
    assert quiet.edge < 1e-9 * quiet.signal
    assert np.abs(loud.basis[:, 0]) == pytest.approx(np.eye(6)[5], abs=0.1)
    assert loud.above_noise == 0


@pytest.mark.parametrize("dimension", [1, 5, 40])
def test_the_median_square_of_normal_points_gives_their_variance(dimension):
    """False alarm: the median of 20,000 has a relative error below 2 %, in one dimension; the tolerance is five times that."""
    points = 3 * np.random.default_rng(0).standard_normal((20_000, dimension))
    assert variance_of(float(np.median(np.square(points).sum(axis=1))), dimension) == pytest.approx(9, rel=0.1)


def test_the_spread_around_cells_leaves_a_point_out_of_its_own_cell():
    """The mean of two points is one from each, but two from each as if the other were its cell; a point of its own has the next cell."""
    points, cells = np.array([[0.0], [2.0], [10.0]]), np.array([[1.0], [10.0]])
    assert variance_around(cells, points, np.array([1.0, 1.0, 0.0])) == pytest.approx(variance_of(4.0, 1))
    assert variance_around(cells, points, np.array([0.0, 0.0, 1.0])) == pytest.approx(variance_of(81.0, 1))


def test_cells_hold_all_server_points_and_no_more_are_made_than_there_are_places(rng):
    points = np.rint(1e4 * rng.standard_normal((60, 3)))
    centers, members, sizes = server_cells(points, 8, 0)
    assert centers.shape == (8, 3)
    assert sizes.sum() == 60
    np.testing.assert_array_equal(members, cdist(points, centers).argmin(axis=1))
    few, _, sizes = server_cells(np.repeat(points[:3], 20, axis=0), 8, 0)
    assert len(few) == 3
    assert (sizes == 20).all()
