"""The closing look: exact without noise; with noise its errors are those that it states, on easy and on hard data."""

import math

import numpy as np
import pytest
from scipy import stats

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.closing import continued, least_error, with_closing
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.mechanism import Mechanism

FALSE_ALARM = 1e-4
"""Chance that a test of coverage below fails though all is right."""


def mixture(rng, n):
    centers = rng.standard_normal((6, 10)) * 3
    return centers[rng.integers(6, size=n)] + rng.standard_normal((n, 10))


def table(rng, n):
    """Numbers, two columns of categories and a skewed one."""
    groups = rng.integers(4, size=n)
    numbers = rng.standard_normal((n, 3)) + 2 * groups[:, None]
    return np.column_stack([numbers, np.eye(4)[groups], np.eye(3)[rng.integers(3, size=n)], np.exp(0.7 * rng.standard_normal(n))])


def heavy_tails(rng, n):
    return np.exp(rng.standard_normal((n, 4)))


def outliers(rng, n):
    points = mixture(rng, n)
    points[rng.random(n) < 0.01] *= 1e5
    return points


def plane(rng, n):
    """Two dimensions: without server data the grid's."""
    return rng.uniform(-8, 8, (5, 2))[rng.integers(5, size=n)] + rng.standard_normal((n, 2))


SETS = {"mixture": (mixture, 6), "table": (table, 4), "heavy tails": (heavy_tails, 4), "outliers": (outliers, 6), "plane": (plane, 5)}


def deviations(name, seed, *, with_server, n=4000, **settings):
    """Return how far sizes, inertia (of distances cut at the reach, and of all) and spreads are off, in stated standard deviations.

    Distances are taken in the columns' units, as the model takes them.
    """
    make, k = SETS[name]
    points = make(np.random.default_rng(seed), n + 200)
    server, points = points[:200], points[200:]
    server = server[np.abs(server).max(axis=1) < 1e3]
    model = FedDPKMeans(k, random_state=seed, **settings).fit(points, server_data=server if with_server else None)
    found = model.clustering_.closing
    units = np.ones(points.shape[1]) if model.scale_ is None else model.scale_
    squares = np.square((points[:, None] - model.cluster_centers_) / units).sum(axis=2)
    labels, squares = squares.argmin(axis=1), squares.min(axis=1)
    cut = np.minimum(squares, found.reach**2)
    sizes = np.bincount(labels, minlength=k)
    spreads = np.sqrt(np.bincount(labels, cut, minlength=k) / np.maximum(sizes, 1))
    assert model.cluster_counts_ is found.counts
    assert (model.inertia_, model.inertia_stddev_) == (found.inertia, found.inertia_stddev)
    return (
        (model.cluster_counts_ - sizes) / model.count_stddev_,
        (model.inertia_ - np.array([cut.sum(), squares.sum()])) / model.inertia_stddev_,
        (model.cluster_spread_ - spreads) / found.spread_stddev,
    )


def assert_covered(deviations, part=0.95):
    """Two standard deviations hold 95.4 % of normal noise, 94.1 % of Laplace noise: fewer than 95 % of these only by chance."""
    inside = int((np.abs(deviations) <= 2).sum())
    assert stats.binomtest(inside, len(deviations), part - 0.01, alternative="less").pvalue > FALSE_ALARM, inside / len(deviations)


def test_sizes_and_inertia_are_within_two_stated_deviations():
    """Fast: a mixture and far outliers, with and without server data; 20 runs."""
    sizes, inertia = [], []
    for name in ("mixture", "outliers"):
        for seed in range(10):
            size, cost, _ = deviations(name, 100 * len(name) + seed, with_server=seed % 2 == 0)
            sizes += [*size]
            inertia.append(cost[0])
    assert_covered(np.array(sizes))
    assert_covered(np.array(inertia))
    assert 0.5 < np.std(inertia) < 1.7  # neither too small nor stated too large: 20 normal draws, chance below 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("with_server", [True, False], ids=["server", "no server"])
@pytest.mark.parametrize("name", sorted(SETS))
def test_sizes_inertia_and_spreads_are_covered_on_every_set(name, with_server, epsilon):
    """20 seeds for each of the sets. Inertia is that of distances cut at the reach; the sets without far points must cover all of it."""
    runs = [deviations(name, 1000 + seed, with_server=with_server, epsilon=epsilon) for seed in range(20)]
    sizes, spreads = (np.concatenate([one[i] for one in runs]) for i in (0, 2))
    inertia = np.array([one[1] for one in runs])
    assert_covered(sizes)
    assert_covered(inertia[:, 0])
    known = spreads[np.isfinite(spreads)]
    assert_covered(known, 0.9) if len(known) else None
    if name in {"mixture", "table", "plane"}:
        assert_covered(inertia[:, 1], 0.9)


@pytest.mark.parametrize("with_server", [True, False])
@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("dimension", [2, 4])
def test_without_noise_everything_is_exact(unit, with_server, dimension, rng):
    middles = 9 * rng.standard_normal((3, dimension))
    points = middles[rng.integers(3, size=300)] + rng.standard_normal((300, dimension))
    model = FedDPKMeans(3, epsilon=math.inf, privacy_unit=unit, random_state=0)
    model.fit(points, groups=np.arange(300) // 10, server_data=points[:30] if with_server else None)
    squares = np.square(points[:, None] - model.cluster_centers_).sum(axis=2)
    sizes = np.bincount(squares.argmin(axis=1), minlength=3)
    assert model.cluster_counts_ == pytest.approx(sizes, rel=1e-4)
    reach = model.clustering_.closing.reach
    cut = np.minimum(squares.min(axis=1), reach**2)
    assert model.inertia_ == pytest.approx(cut.sum(), rel=2e-3)
    if unit == "point":
        assert model.inertia_ == pytest.approx(-model.score(points), rel=2e-3)
    assert model.inertia_stddev_ == 0
    assert np.square(model.cluster_spread_[sizes > 0]) @ sizes[sizes > 0] == pytest.approx(cut.sum(), rel=2e-3)


def test_sizes_of_clients_are_of_bounded_contributions(rng):
    """Clients of one size are counted in full, up to noise; one with a hundred times as many points counts as a few."""
    settings = Settings(2, 8.0, privacy_unit="client")
    clients = [rng.standard_normal((20, 3)) + 8 * (i % 2) for i in range(600)]
    large = [*clients[:-1], np.repeat(clients[-1], 100, axis=0)]
    prepared = prepare(settings, rng.standard_normal((40, 3)) + 8 * rng.integers(2, size=(40, 1)), 600)
    plain, one_large = (run(InMemoryFederation(held), prepared, seed=0) for held in (clients, large))
    # Six standard deviations of noise: never by chance. The bound may be half an octave off.
    assert abs(plain.counts.sum() / 12_000 - 1) < 0.3 + 6 * math.sqrt(2) * plain.count_stddev / 12_000
    assert abs(one_large.counts.sum() - plain.counts.sum()) < 200 + 0.2 * 12_000


def test_method_paper_keeps_its_plan_and_says_nothing(rng):
    server = rng.standard_normal((30, 3))
    model = FedDPKMeans(2, method="paper", random_state=0).fit(rng.standard_normal((500, 3)), server_data=server)
    assert "closing" not in model.plan_
    assert model.inertia_ is model.inertia_stddev_ is model.cluster_spread_ is None


def test_the_shares_of_the_budget_stay_in_proportion():
    parts = with_closing({"a": 3.0, "b": 1.0})
    assert sum(parts.values()) == pytest.approx(1)
    assert parts["a"] == pytest.approx(3 * parts["b"])
    assert parts["closing"] == 0.03


EDGES = 2.0 ** np.arange(10)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ([0, 900, 8000, 100, 0, 0, 0, 0, 0, 0], 4, 16),  # light tails: just beyond the last class that stands out
        ([0, 4000, 2500, 1500, 900, 500, 300, 180, 100, 60], 64, 512),  # heavy ones: where few are left
        ([0, 900, 8000, 100, 0, 0, 0, 0, 400, 0], 256, 512),  # a group far out that stands out
        ([0, 900, 8000, 100, 0, 0, 0, 0, 5, 0], 4, 16),  # and one that does not
    ],
)
def test_the_reach_is_where_noise_and_what_is_cut_off_are_least(counts, low, high):
    assert low**2 <= least_error(np.array(counts, dtype=float), 20.0, EDGES**2, 2.0) <= high**2


def test_the_more_noise_the_shorter_the_reach_and_none_if_all_is_noise():
    counts = np.array([0, 4000, 2500, 1500, 900, 500, 300, 180, 100, 60.0])
    reaches = [least_error(counts, 20.0, EDGES**2, price) for price in (0.2, 20.0, 2e3, 2e5)]
    assert reaches == sorted(reaches, reverse=True)
    assert reaches[0] > reaches[-1]
    assert least_error(np.full(10, 19.0), 20.0, EDGES, 10.0) is None


def test_what_follows_the_last_visible_class_falls_as_the_visible_ones_do_and_less_slowly_than_stated():
    heavy, light = np.array([4000, 2800, 1960, 0, 0, 0.0]), np.array([4000, 400, 40, 0, 0, 0.0])
    np.testing.assert_allclose(continued(heavy, 2000.0, 0.5)[2:], [1000, 500, 250, 125])
    np.testing.assert_allclose(continued(heavy, 2000.0, 0.9)[2:], [1000, 700, 490, 343])
    for slowest in (0.5, 0.9):
        np.testing.assert_allclose(continued(light, 20.0, slowest)[3:], [4, 0.4, 0.04])
    assert continued(heavy, 5000.0, 0.5) is continued(heavy, 0.0, 0.5) is None


@pytest.mark.slow
def test_the_error_of_the_cost_holds_most_of_what_heavy_tails_hide():
    """Log-normal points at 0.25: the error of the noise alone holds the whole cost in 4 of these 20 runs, with what is cut off in 13."""
    errors = [deviations("heavy tails", 1000 + seed, with_server=False, n=20_000, epsilon=0.25)[1] for seed in range(20)]
    assert np.mean(np.abs(np.array(errors)[:, 1]) <= 2) >= 0.5


def test_a_grid_pays_in_its_own_kind_of_noise():
    box = (np.zeros(2), np.ones(2))
    for noise, law in (("auto", Mechanism.LAPLACE), ("gaussian", Mechanism.GAUSSIAN)):
        plan = prepare(Settings(3, 1.0, box=box, noise=noise), None, 10, 2).plan
        assert {plan[name].mechanism for name in ("closing bounds", "closing")} == {law}
