"""The whole algorithm: exact without noise, within the ball with it, and under its plan always."""

import math

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from tests.algorithm.blobs import blobs, fit, in_order
from tests.ledgers import check_ledger
from tests.variants import slow_after

METHODS = ["paper", "refined"]
UNITS = ["point", "client"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_without_noise_the_centers_are_the_exact_means(method, steps, rng):
    clients, server, truth = blobs(rng)
    found = fit(clients, server, n_clusters=3, epsilon=math.inf, method=method, lloyd_steps=steps, radius=50.0)
    points = np.concatenate(clients)
    labels = np.linalg.norm(points[:, None] - truth[None], axis=2).argmin(axis=1)
    means = np.array([points[labels == r].mean(axis=0) for r in range(3)])
    assert in_order(found.centers, means) == pytest.approx(means, abs=2e-4)
    # Without noise a contribution has 2**20 steps to spare over a typical one.
    assert sorted(found.counts) == pytest.approx(sorted(np.bincount(labels)), rel=1e-5)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", slow_after(6, range(25)))
def test_any_seed_any_noise_gives_finite_centers_in_the_ball_and_a_ledger_within_the_plan(unit, method, seed, rng):
    clients, server, _ = blobs(rng)
    epsilon = [0.01, 0.3, 2.0, 20.0][seed % 4]
    found = fit(clients, server, seed, n_clusters=3, epsilon=epsilon, privacy_unit=unit, method=method, lloyd_steps=seed % 3)
    radius = 1.0001 * np.linalg.norm(server - (server.mean(axis=0) if method == "refined" else 0), axis=1).max()
    center = server.mean(axis=0) if method == "refined" else 0
    assert np.isfinite(found.centers).all()
    assert (np.linalg.norm(found.centers - center, axis=1) <= radius * 1.5).all()
    assert np.isfinite(found.center_stddev).all()
    assert (found.center_stddev > 0).all()
    assert found.count_stddev > 0
    check_ledger(found)


@pytest.mark.parametrize("method", slow_after(1, METHODS))
def test_the_stated_error_of_counts_is_that_of_their_noise(method):
    # One far point a cluster on server and clients: the true count is known, and 60 runs of 2 counts each show the noise.
    points = np.array([[-1.0, 0.0], [1.0, 0.0]])
    errors = []
    for seed in range(60):
        found = fit([np.repeat(points, 2000, axis=0)], points, seed, n_clusters=2, epsilon=1.0, method=method, lloyd_steps=0, radius=2.0)
        errors += ((found.counts - 2000) / found.count_stddev).tolist()
    # The sample standard deviation of 120 Laplace draws is within 0.6 to 1.5 of the true one but for a chance of about 1e-4.
    assert 0.6 < np.std(errors) < 1.5


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
def test_what_depends_on_private_values_is_no_error(unit, method):
    server = np.random.default_rng(1).standard_normal((20, 3))
    odd = [
        np.empty((0, 3)),
        np.full((4, 3), np.nan),
        np.array([[np.inf, 0, 0], [1e300, 1e300, 1e300], [1e-310, 0, 0]]),
        np.ones((1, 3)),
        np.ones((50, 3)),
    ]
    for clients in (odd, odd[:1], odd[1:2], odd[4:]):
        for epsilon in (1.0, math.inf):
            found = fit(clients, server, n_clusters=4, epsilon=epsilon, privacy_unit=unit, method=method, lloyd_steps=1)
            assert np.isfinite(found.centers).all()


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("k", "d"), [(1, 1), (1, 4), (3, 1), (6, 2)])
def test_small_k_and_small_dimensions_work(unit, method, k, d, rng):
    server = rng.standard_normal((20, d))
    clients = [rng.standard_normal((30, d)) for _ in range(10)]
    found = fit(clients, server, n_clusters=k, epsilon=5.0, privacy_unit=unit, method=method)
    assert found.centers.shape == (k, d)


@pytest.mark.parametrize("method", METHODS)
def test_client_data_are_not_changed(method, rng):
    clients, server, _ = blobs(rng)
    before = [c.copy() for c in clients]
    fit(clients, server, n_clusters=3, epsilon=1.0, method=method, lloyd_steps=1)
    assert all(np.array_equal(a, b) for a, b in zip(clients, before, strict=True))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
def test_the_result_does_not_depend_on_how_points_lie_in_memory(unit, method, rng):
    clients, server, _ = blobs(rng)
    settings = {"n_clusters": 3, "epsilon": 1.0, "privacy_unit": unit, "method": method}
    plain = fit(clients, server, **settings).centers
    shuffled = [np.asfortranarray(c[rng.permutation(len(c))]) for c in clients]
    assert np.array_equal(plain, fit(shuffled, server, **settings).centers)
    if unit == "point":
        assert np.array_equal(
            plain,
            run(InMemoryFederation([np.concatenate(clients)]), prepare(Settings(**settings), server, len(clients)), seed=0).centers,
        )


def test_a_seed_repeats_a_run_and_the_absence_of_one_does_not(rng):
    clients, server, _ = blobs(rng)
    settings = {"n_clusters": 3, "epsilon": 1.0}
    assert np.array_equal(fit(clients, server, 4, **settings).centers, fit(clients, server, 4, **settings).centers)
    first, second = (fit(clients, server, None, **settings) for _ in range(2))
    assert first.privacy.secure
    assert not np.array_equal(first.counts, second.counts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1 or 'auto', got 0"),
        ({"n_clusters": 41}, "n_clusters must be at most the number of server points, 40, got 41"),
        ({"epsilon": -1.0}, "epsilon must be positive, got -1.0"),
        ({"delta": 2.0}, "delta must be between 0 and 1, got 2.0"),
        ({"method": "best"}, "method must be one of"),
        ({"init": "guess"}, "init must be one of"),
        ({"noise": "laplace"}, r"noise must be one of \['auto', 'gaussian'\], got 'laplace'"),
        ({"privacy_unit": "row"}, "privacy_unit must be 'point' or 'client', got 'row'"),
        ({"lloyd_steps": -1}, "lloyd_steps must be a whole number of at least 0 or 'auto', got -1"),
        ({"lloyd_steps": 1.5}, "lloyd_steps must be a whole number"),
        ({"radius": 0.0}, "radius must be positive and finite, got 0.0"),
        ({"client_size": 0}, "client_size must be a whole number of at least 1, got 0"),
        ({"sampling_rate": 0.0}, "sampling_rate must be above 0 and at most 1, got 0.0"),
    ],
)
def test_bad_settings_are_refused_by_name_rule_and_value(change, message, rng):
    clients, server, _ = blobs(rng)
    with pytest.raises(FedDPError, match=message):
        fit(clients, server, **({"n_clusters": 3} | change))


def test_server_data_must_fit(rng):
    clients, server, _ = blobs(rng)
    with pytest.raises(FedDPError, match="clients have 5, the server has 4"):
        fit(clients, server[:, :4], n_clusters=3)
    with pytest.raises(FedDPError, match="server data must be finite"):
        fit(clients, np.full_like(server, np.nan), n_clusters=3)
    with pytest.raises(FedDPError, match="radius must be given if all server points are the same"):
        fit(clients, np.zeros_like(server), n_clusters=3)


def test_client_sampling_runs_with_the_refined_method(rng):
    clients, server, truth = blobs(rng, sizes=[20] * 600)
    found = fit(clients, server, n_clusters=3, epsilon=4.0, privacy_unit="client", sampling_rate=0.5)
    assert found.plan.sampling_rate == 0.5
    assert np.linalg.norm(in_order(found.centers, truth) - truth, axis=1).max() < 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_category_keeps_its_share_where_noise_is_cheap(seed):
    rng = np.random.default_rng(seed)

    def people(n):
        kind, rare = rng.integers(2, size=n), rng.random(n) < 0.1
        return np.column_stack([kind, 1 - kind, rare, ~rare]) / np.sqrt(2) + 0.02 * rng.standard_normal((n, 4))

    clients, server = [people(5000) for _ in range(4)], people(200)
    model = FedDPKMeans(2, epsilon=1.0, random_state=seed).fit(clients, server_data=server)
    # A bound at the typical length would leave a quarter of it.
    assert model.cluster_centers_[:, 2] * np.sqrt(2) == pytest.approx([0.1, 0.1], abs=0.02)


@pytest.mark.parametrize(
    "changed", [{"epsilon": 0.5}, {"delta": 1e-7}, {"sampling_rate": 0.5}, {"client_size": 7}, {"lloyd_steps": 3}, {"radius": 9.0}]
)
def test_a_plan_follows_the_settings(changed, rng):
    server = rng.standard_normal((20, 3))
    asked = {"n_clusters": 2, "epsilon": 1.0, "method": "paper", "privacy_unit": "client"}
    one, other = (prepare(Settings(**settings), server, 4) for settings in (asked, asked | changed))
    assert other.settings == Settings(**asked | changed)
    assert other.plan.to_dict() != one.plan.to_dict()


@pytest.mark.parametrize(("dimension", "place", "by"), [(1200, 600, 1e6), (3, 1, 1e-9)])
def test_a_plan_follows_the_box(dimension, place, by, rng):
    server = rng.standard_normal((20, dimension))
    low, high = np.full(dimension, -9.0), np.full(dimension, 9.0)
    moved = high.copy()
    moved[place] += by
    radii = [
        prepare(Settings(2, 1.0, method="paper", box=(low, end), scale="off"), server, 4).plan.facts["radius"] for end in (high, moved)
    ]
    assert radii[0] < radii[1]
