"""Method paper: its arithmetic by hand, its shares of the budget, and what it does with counts that may be noise."""

import math

import numpy as np
import pytest

from feddp_kmeans.algorithm.client_bounds import ClientBounds
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.methods.paper import SHARES, PaperMethod
from feddp_kmeans.algorithm.prepare import prepare, prepare_lloyds
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.network.terms import Terms, Trust
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.privacy.plan import epsilon_share_multiplier
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from tests.algorithm.blobs import blobs, fit, in_order

UNITS = ["point", "client"]


def test_four_points_by_hand():
    clients = [np.array([[0.0, 0.0], [10.0, 0.0]]), np.array([[0.0, 2.0], [10.0, 4.0]])]
    server = np.array([[0.0, 1.0], [9.0, 3.0], [5.0, 30.0]])
    found = fit(clients, server, n_clusters=2, epsilon=math.inf, method="paper", lloyd_steps=0)
    expected = np.array([[0.0, 1.0], [10.0, 2.0]])
    assert in_order(found.centers, expected) == pytest.approx(expected, abs=1e-3)
    assert found.counts.tolist() == [2, 2]


def test_client_level_without_noise_is_the_mean_of_means():
    # The mean of the clients' means, not of their points: 1 either way on the left, 11 on the right from one client alone.
    clients = [np.array([[0.0]]), np.array([[2.0], [10.0], [10.0], [13.0]])]
    server = np.array([[0.0], [1.0], [11.0], [12.0]])
    found = fit(clients, server, n_clusters=2, epsilon=math.inf, privacy_unit="client", method="paper", client_size=100, radius=20.0)
    assert sorted(found.centers[:, 0]) == pytest.approx([1.0, 11.0], abs=1e-3)
    assert sorted(found.counts) == pytest.approx([1.0, 2.0])


def test_client_sampling_runs(rng):
    clients, server, _ = blobs(rng, sizes=[20] * 50)
    found = fit(clients, server, n_clusters=3, epsilon=math.inf, privacy_unit="client", method="paper", sampling_rate=0.5)
    assert 10 < found.counts.sum() / 3 < 40


@pytest.mark.parametrize("composition", ["tight", "paper-naive"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("start", [None, "server-lloyds"])
def test_noise_can_be_gaussian_alone_within_the_same_budget(composition, unit, start, rng):
    clients, server, _ = blobs(rng)
    plans = {}
    for noise in ("auto", "gaussian"):
        settings = Settings(3, 1.0, method="paper", privacy_unit=unit, lloyd_steps=2, composition=composition, noise=noise)
        prepared = prepare(settings, server, 5) if start is None else prepare_lloyds(settings, server, 5, start, 2)
        run(InMemoryFederation(clients), prepared, seed=0, start=None if start is None else server[:3])
        plans[noise] = prepared.plan
    assert {r.mechanism for r in plans["auto"].releases} == set(Mechanism)
    assert {r.mechanism for r in plans["gaussian"].releases} == {Mechanism.GAUSSIAN}
    assert [r.name for r in plans["auto"].releases] == [r.name for r in plans["gaussian"].releases]
    for plan in plans.values():
        assert (0.98 if composition == "tight" else 0.1) < plan.epsilon_spent <= 1.0
    Terms("a", plans["gaussian"], Trust.SECURE_SUM, secure=True, threshold=3, colluders=0)


def test_gaussian_noise_of_counts_is_for_what_a_unit_adds_in_l2_norm(rng):
    _, server, _ = blobs(rng)
    bounds = ClientBounds(1.0, 50.0, 1.0, 3.0, 1.0, 40.0)
    settings = Settings(3, 1.0, method="paper", privacy_unit="client", bounds=bounds, lloyd_steps=1, noise="gaussian")
    plan = prepare(settings, server, 5).plan
    assert plan["weights"].sensitivity == 50
    assert plan["counts"].sensitivity == math.sqrt(3)
    assert plan["lloyd counts"].sensitivity == 40
    for name in ("weights", "counts", "lloyd counts"):
        assert plan[name].grid == pytest.approx(2.0**-16, rel=1e-15)


def test_every_release_has_its_share_of_epsilon_and_an_even_part_of_delta():
    method = PaperMethod(PrivacyUnit.POINT, Ball(np.zeros(3), 2.0), 4, np.ones((9, 3)), 2)
    first, second, sums, counts = SHARES[PrivacyUnit.POINT]
    total = first + second + 3 * (sums + counts)
    shares = {"outer product": first, "weights": second, "sums": sums, "counts": counts, "lloyd sums": sums, "lloyd counts": counts}
    releases = method.requests(1.5, 1e-6)
    assert [release.name for release in releases] == list(shares)
    for release in releases:  # four Gaussian releases in all: outer product, sums, and twice the Lloyd sums
        expected = epsilon_share_multiplier(release.mechanism, 1.5 * shares[release.name] / total, 1e-6 / 4)
        assert release.noise_multiplier == pytest.approx(expected)
    assert [release.sensitivity for release in releases] == [4.0, 1.0, 2.0, 1.0, 2.0, 1.0]
    assert [release.times for release in releases] == [1, 1, 1, 1, 2, 2]


def test_a_center_whose_count_may_be_noise_stays_where_it_was():
    clients, start = [np.repeat([[1.0, 0.0]], 50_000, axis=0)], np.array([[0.9, 0.0], [-0.9, 0.0]])
    prepared = prepare_lloyds(Settings(2, 1.0, method="paper", radius=2.0, lloyd_steps=1), start, 1, "by hand", 1)
    found = run(InMemoryFederation(clients), prepared, start=start, seed=0)
    assert found.centers[0] == pytest.approx([1.0, 0.0], abs=0.01)
    assert found.centers[1] == pytest.approx(start[1])
    assert found.remarks[0].startswith("lloyd sums: 1 of 2 noisy counts may be noise only")
