"""The number of clusters."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.choose_k import find_elbow
from feddp_kmeans.algorithm.clustering import choose_k, run
from feddp_kmeans.algorithm.feddp_init import Proxies
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.mixture import gaussian_mixture


def proxies_of(points, weights=None, **noise):
    weights = np.ones(len(points)) if weights is None else weights
    return Proxies(np.eye(points.shape[1]), points, weights, np.zeros(0), **noise)


def planted(seed, k, dimension, n):
    """Return k round clusters of standard deviation 1 whose means are at least 7 apart."""
    rng = np.random.default_rng(seed)
    means = np.empty((0, dimension))
    while len(means) < k:
        candidate = rng.uniform(-25, 25, (1, dimension))
        if len(means) == 0 or np.linalg.norm(means - candidate, axis=1).min() >= 7:
            means = np.vstack([means, candidate])
    return means[rng.integers(k, size=n)] + rng.standard_normal((n, dimension))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
@pytest.mark.parametrize("k", [3, 8, 15, 25])
@pytest.mark.parametrize("dimension", [2, 6])
def test_planted_clusters_are_counted_on_points_without_noise(k, dimension, seed):
    elbow = find_elbow(proxies_of(planted(seed, k, dimension, 2000)), 30, seed)
    assert elbow.picked == k
    assert elbow.is_clear
    assert elbow.why.startswith(f"the closest two of {k} clusters have a separation of")
    assert (np.diff(elbow.costs) <= 0).all()


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))])
@pytest.mark.parametrize("k", [5, 20])
def test_planted_clusters_are_counted_on_noisy_cells(k, seed):
    """Cells of one to some 40 points, with noisy weights and places, and 30 more that are noise only."""
    points = planted(seed, k, 6, 10_000)
    rng = np.random.default_rng(seed)
    cells = KMeans(90, n_init=1, random_state=seed).fit(points)
    counts = np.append(np.bincount(cells.labels_), np.zeros(30)) + 10 * rng.standard_normal(120)
    places = np.vstack([cells.cluster_centers_, rng.uniform(-25, 25, (30, 6))])
    places += rng.standard_normal(places.shape) * (8 / np.maximum(counts, 10))[:, None]
    weights = np.where(counts > 10, counts, 0.0)
    variance = cells.inertia_ / len(points) / 6
    assert find_elbow(proxies_of(places, weights, weight_noise=10.0, place_noise=8.0, variance=variance), 30, seed).picked == k


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
@pytest.mark.parametrize("dimension", [1, 2, 10])
@pytest.mark.parametrize("law", ["standard_normal", "random", "standard_exponential"])
def test_points_without_clusters_have_no_clear_number(law, dimension, seed):
    elbow = find_elbow(proxies_of(getattr(np.random.default_rng(seed), law)((2000, dimension))), 30, seed)
    assert elbow.picked == 1
    assert not elbow.is_clear
    assert elbow.why.startswith("no clear number of clusters")


def test_halves_of_an_interval_are_not_apart():
    """The separation of two halves is a quarter of the length twice over, in standard deviations of a half: sqrt(3)."""
    elbow = find_elbow(proxies_of(np.linspace(0, 1, 1000)[:, None]), 3, 0)
    assert elbow.separations[1] == pytest.approx(3**0.5, rel=1e-3)
    assert elbow.picked == 1


def test_points_without_weight_have_no_say():
    points = np.array([[0.0], [1.0], [1000.0]])
    elbow = find_elbow(proxies_of(points, np.array([1.0, 1.0, 0.0])), 3, 0)
    assert elbow.costs == pytest.approx([0.25, 0.0, 0.0])


def test_noise_of_places_brings_clusters_no_further_apart():
    points = np.array([[0.0, 0.0], [3.0, 4.0]])
    weights = np.array([10.0, 10.0])
    apart = [find_elbow(proxies_of(points, weights, place_noise=noise, variance=1.0), 3, 0).separations[1] for noise in (0.0, 10.0, 90.0)]
    assert apart == pytest.approx([5 / (2 * 1.0), (25 - 2 * 2 * 1.0) ** 0.5 / 2, 0.0])


def test_clusters_that_may_be_noise_are_not_counted():
    points, weights = np.array([[0.0], [10.0], [20.0]]), np.array([100.0, 100.0, 3.0])
    assert find_elbow(proxies_of(points, weights, weight_noise=0.5, variance=1.0), 4, 0).picked == 3
    assert find_elbow(proxies_of(points, weights, weight_noise=2.0, variance=1.0), 4, 0).picked == 2


def test_as_many_as_were_tried_are_not_clear():
    elbow = find_elbow(proxies_of(planted(0, 8, 4, 1000)), 6, 0)
    assert elbow.picked == 6
    assert not elbow.is_clear
    assert elbow.why.endswith("raise max_clusters")


@pytest.mark.parametrize(("weight", "picked"), [(4.0, 2), (8.0, 3)])
def test_points_between_clusters_are_counted_only_if_tails_do_not_explain_them(weight, picked):
    """Of 100 normal points each, 2.3 per cluster are nearer to a center 4 standard deviations away: 4.6 of the weight in the middle."""
    elbow = find_elbow(proxies_of(np.array([[0.0], [4.0], [8.0]]), np.array([100.0, weight, 100.0]), variance=1.0), 3, 0)
    assert elbow.picked == picked
    assert elbow.separations[2] == pytest.approx(0.0 if picked == 2 else 2.0)


def test_fringe_has_no_say_in_the_spread_of_clusters():
    """The two clusters are as far apart as without the points between them."""
    both = np.array([[0.0, 0.0], [6.0, 0.0]])
    alone = find_elbow(proxies_of(both, np.array([100.0, 100.0]), variance=1.0), 3, 0)
    found = find_elbow(proxies_of(np.vstack([both, [[3.0, 1.0]]]), np.array([100.0, 100.0, 15.0]), variance=1.0), 3, 0)
    assert alone.separations == found.separations
    assert found.picked == 2


def budgets(ledger):
    return sum(row["times"] / row["noise_multiplier"] ** 2 for row in ledger)


@pytest.mark.parametrize("method", ["paper", "refined"])
def test_auto_takes_the_elbow_and_pays_nothing_more(method):
    data = gaussian_mixture(0, n_clients=20, k=6, dimension=12, variance=0.02, server_uniform=0)
    model = FedDPKMeans("auto", epsilon=20.0, method=method, max_clusters=12, random_state=0)
    model.fit(data.clients, server_data=data.server_points)
    assert model.cluster_centers_.shape == (6, 12)
    assert model.clustering_.elbow.picked == 6
    assert model.clustering_.elbow.numbers == tuple(range(1, 13))
    given = FedDPKMeans(12, epsilon=20.0, method=method, random_state=0).fit(data.clients, server_data=data.server_points)
    assert budgets(model.privacy_.ledger) == pytest.approx(budgets(given.privacy_.ledger), rel=1e-3)
    assert model.privacy_.epsilon_spent <= 20.0


@pytest.mark.parametrize("method", ["paper", "refined"])
def test_steps_paid_for_are_reused_by_the_fit_that_follows(method, tmp_path):
    data = gaussian_mixture(1, n_clients=10, k=4, dimension=8, variance=0.02, server_uniform=0)
    prepared = prepare(Settings("auto", 8.0, method=method, max_clusters=8), data.server_points, 10)
    asked = []
    elbow = choose_k(RecordedFederation(InMemoryFederation(data.clients), tmp_path), prepared, seed=3, on_release=asked.append)
    rest = []
    federation = RecordedFederation(InMemoryFederation(data.clients), tmp_path)
    found = run(federation, prepared, seed=3, chosen_k=elbow.picked + 1, on_release=rest.append)
    assert len(found.centers) == elbow.picked + 1
    assert found.elbow == elbow
    whole = run(InMemoryFederation(data.clients), prepared, seed=3, chosen_k=elbow.picked + 1)
    assert np.array_equal(found.centers, whole.centers)
    assert len(asked) < len(rest) <= sum(release.most_sums for release in prepared.plan.releases)
    with pytest.raises(FedDPError, match="n_clusters must be from 1 to the 8 that the plan is made for, got 9"):
        run(federation, prepared, seed=3, chosen_k=9)


def test_bad_wishes_are_refused():
    server = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.raises(FedDPError, match="n_clusters must be a whole number of at least 1 or 'auto', got 'many'"):
        Settings("many")
    with pytest.raises(FedDPError, match="max_clusters must be a whole number of at least 3"):
        Settings("auto", max_clusters=2)
    with pytest.raises(FedDPError, match="max_clusters must be at most the number of server points, 10, got 30"):
        prepare(Settings("auto"), server, 1)
    with pytest.raises(FedDPError, match="n_clusters must be a whole number here, got 'auto'"):
        _ = Settings("auto").fixed_k
