"""The refined method with server data: its releases, its values from step to step, and what it spares where there is only noise."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.feddp_init import feddp_init, feddp_proxies
from feddp_kmeans.algorithm.methods.refined import RefinedMethod
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.server import weighted_kmeans
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.algorithm.tracking import POOL
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from tests.ledgers import check_ledger

TRUTH = np.array([[4.0, 0, 0, 0], [0, 4, 0, 0], [0, 0, 4, 0]])


def blobs(seed, n):
    rng = np.random.default_rng(seed)
    return TRUTH[rng.integers(3, size=n)] + 0.3 * rng.standard_normal((n, 4))


CLIENTS, SERVER = np.array_split(blobs(0, 3000), 300), blobs(1, 90)


@pytest.mark.parametrize("unit", ["point", "client"])
def test_without_much_noise_every_release_has_a_use_and_clusters_are_found(unit):
    found = run(InMemoryFederation(CLIENTS), prepare(Settings(3, 8.0, privacy_unit=unit, lloyd_steps=2), SERVER, 300), seed=0)
    assert check_ledger(found) == {}
    assert np.linalg.norm(TRUTH[:, None] - found.centers[None], axis=2).min(axis=1).max() < 0.2
    assert found.remarks == ()


@pytest.mark.parametrize("unit", ["point", "client"])
def test_where_there_is_only_noise_no_release_is_thrown_away(unit):
    prepared = prepare(Settings(3, 0.01, privacy_unit=unit, lloyd_steps=2), SERVER, 300)
    federation = InMemoryFederation(CLIENTS)
    with federation.open(prepared.plan, seed=0) as opened:
        server_seed = opened.server_seed
    found = run(federation, prepared, seed=0)
    assert check_ledger(found) == {}
    assert found.remarks[0].endswith("the centers are those of the server data")
    ball = prepared.method.ball
    server_centers = weighted_kmeans(ball.encode(SERVER), np.ones(len(SERVER)), 3, server_seed)
    assert found.centers == pytest.approx(ball.decode(server_centers), abs=1.01 * ball.grid)
    assert found.counts.shape == found.center_stddev.shape == (3,)
    assert np.isfinite(found.counts).all()


def test_steps_take_and_return_values_and_leave_nothing_behind():
    """The same values give the same next step, but for the noise and the simulated units, which move on and do not matter without noise."""
    prepared = prepare(Settings(3, float("inf"), lloyd_steps=3), SERVER, 300)
    with InMemoryFederation(CLIENTS).open(prepared.plan, seed=0) as opened:
        steps = prepared.method.bind(opened)
        before = dict(vars(steps))
        first = feddp_init(steps, feddp_proxies(steps), 3, 0)
        second, again = steps.lloyd_centers(first), steps.lloyd_centers(first)
        assert second.centers == pytest.approx(again.centers, abs=1e-6)
        assert vars(steps) == before


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("client_size", [None, 7])
@pytest.mark.parametrize("as_one", [True, False])
def test_parts_of_the_budget_add_up_to_the_whole(steps, client_size, as_one):
    method = RefinedMethod(PrivacyUnit.CLIENT, Ball(np.zeros(4), 5.0), 3, SERVER, steps, client_size, as_one=as_one)
    requests = method.requests()
    assert ("client sizes" in [release.name for release in requests]) == (client_size is None)
    spent = sum(release.times / release.noise_multiplier**2 for release in requests)
    assert spent == pytest.approx(1.0 if client_size is None else 1 - 0.96 * 0.02)
    pool = next(release for release in requests if release.name == POOL)
    assert pool.most_sums == (method.most_looks if as_one else pool.times)


@pytest.mark.parametrize(("epsilon", "rate"), [(0.1, 1.0), (3.0, 1.0), (30.0, 1.0), (3.0, 0.5)])
def test_looks_stay_within_the_planned_number_of_sums_and_use_the_whole_pool(epsilon, rate):
    """Low noise: a contest; high noise: steps in the subspace; sampled clients: each release is a sum of its own."""
    settings = Settings(3, epsilon, privacy_unit="client", sampling_rate=rate)
    found = run(InMemoryFederation(CLIENTS), prepare(settings, SERVER, 300), seed=0)
    assert check_ledger(found) == {}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_table_of_categories_is_clustered_at_high_and_low_noise(epsilon, seed):
    """Cells lie on the few points that there are, so most residuals are zero: that must not hide the counts."""
    rng = np.random.default_rng(seed)
    groups, other = rng.integers(4, size=8000), rng.integers(3, size=8000)
    points = np.concatenate([np.eye(4)[groups], np.eye(3)[other], np.eye(5)[(groups + rng.integers(2, size=8000)) % 5]], axis=1)
    model = FedDPKMeans(4, epsilon=epsilon, random_state=seed).fit(points, server_data=points[:200])
    assert model.clustering_.useless is None
    plain = KMeans(4, n_init=3, random_state=seed).fit(points)
    assert -model.score(points) < 1.02 * plain.inertia_


def test_few_server_points_and_many_client_points_are_not_taken_for_noise():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((12_000, 2)) + 4 * (np.arange(12_000) % 3 == 1)[:, None]
    server = points[:20]
    for seed in range(20, 40):
        assert FedDPKMeans(2, lloyd_steps=1, random_state=seed).fit(points, server_data=server).clustering_.remarks == ()
