"""Clients on other machines answer the one verb as clients in memory do: to the last bit without noise, by the same law with it."""

import math

import numpy as np
import pytest
from scipy import stats

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.paper_sums import CLUSTER_SUMS
from tests.conformance.clients import CLIENTS, SERVER
from tests.network import loopback
from tests.variants import slow_after

MODES = [Trust.AGGREGATOR, Trust.SECURE_SUM]


@pytest.mark.parametrize("trust", MODES)
@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("method", slow_after(1, ["paper", "refined"]))
def test_without_noise_the_bits_are_the_same(tmp_path, trust, unit, method):
    prepared = prepare(Settings(2, math.inf, privacy_unit=unit, method=method, lloyd_steps=1), SERVER, len(CLIENTS))
    federation, _ = loopback.federation(CLIENTS, tmp_path, trust=trust, site={"unit": PrivacyUnit(unit)})
    expected = run(InMemoryFederation(CLIENTS), prepared, seed=3)
    found = run(federation, prepared, seed=3)
    assert np.array_equal(found.centers, expected.centers)
    assert np.array_equal(found.counts, expected.counts)
    assert found.privacy.trust == trust.value


@pytest.mark.parametrize("trust", [pytest.param(mode, marks=[pytest.mark.slow] * (mode is Trust.SECURE_SUM)) for mode in MODES])
def test_without_server_data_the_bits_are_the_same(tmp_path, trust):
    prepared = prepare(Settings(2, math.inf, privacy_unit="client"), None, len(CLIENTS), 4)
    federation, _ = loopback.federation(CLIENTS, tmp_path, trust=trust, site={"unit": PrivacyUnit.CLIENT})
    expected = run(InMemoryFederation(CLIENTS), prepared, seed=3)
    assert np.array_equal(run(federation, prepared, seed=3).centers, expected.centers)


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("method", ["paper", "refined"])
def test_a_server_that_is_trusted_adds_the_same_noise(tmp_path, unit, method):
    prepared = prepare(Settings(2, 1.0, privacy_unit=unit, method=method, lloyd_steps=1), SERVER, len(CLIENTS))
    federation, _ = loopback.federation(CLIENTS, tmp_path, trust=Trust.AGGREGATOR, site={"unit": PrivacyUnit(unit)})
    expected = run(InMemoryFederation(CLIENTS), prepared, seed=3)
    found = run(federation, prepared, seed=3)
    assert np.array_equal(found.centers, expected.centers)
    assert found.privacy == expected.privacy


@pytest.mark.parametrize("method", ["paper", "refined"])
def test_a_server_that_is_trusted_asks_the_same_cohorts(tmp_path, method):
    settings = Settings(2, math.inf, privacy_unit="client", method=method, client_size=50, sampling_rate=0.5, lloyd_steps=2)
    prepared = prepare(settings, SERVER, len(CLIENTS))
    federation, transport = loopback.federation(CLIENTS, tmp_path, trust=Trust.AGGREGATOR, site={"unit": PrivacyUnit.CLIENT})
    found = run(federation, prepared, seed=3)
    assert np.array_equal(found.centers, run(InMemoryFederation(CLIENTS), prepared, seed=3).centers)
    asked = sum(kind == "sum" for _, kind, _ in transport.sent)
    assert 0 < asked < len(CLIENTS) * sum(release.times for release in prepared.plan.releases)


@pytest.mark.parametrize(("threshold", "colluders"), [(5, 0), (4, 0), (4, 1)])
def test_shares_of_noise_add_up_to_the_noise_of_the_plan(tmp_path, threshold, colluders):
    k, dimension = 2_000, 4
    release = Release("sums", Mechanism.GAUSSIAN, 1.0, 2.0**16, 1.0, k * dimension)
    plan = Plan(PrivacyUnit.POINT, 8.0, 1e-6, (release,))
    federation, _ = loopback.federation(CLIENTS, tmp_path, threshold=threshold, colluders=colluders)
    centers = np.random.default_rng(0).standard_normal((k, dimension)) * 1e4
    public = {"center": np.zeros(dimension), "radius": 9.0, "centers": centers}
    values = federation.open(plan).noisy_sum(CLUSTER_SUMS, release, **public)
    open_plan = Plan(PrivacyUnit.POINT, math.inf, 1e-6, (Release("sums", Mechanism.GAUSSIAN, 1.0, 2.0**16, 0.0, k * dimension),))
    exact = InMemoryFederation(CLIENTS).open(open_plan)
    noise = values - exact.noisy_sum(CLUSTER_SUMS, open_plan["sums"], **public)
    # All five answer, so there is a little more noise than planned: five shares of which threshold - colluders would do.
    expected = math.sqrt(len(CLIENTS) / (threshold - colluders))
    assert stats.kstest(noise / expected, "norm").pvalue > 1e-4
    assert noise.std() == pytest.approx(expected, rel=0.04)
    assert noise.std() >= release.stddev * 0.96


def test_a_run_under_secure_sum_keeps_plan_and_ledger(tmp_path):
    prepared = prepare(Settings(2, 4.0, lloyd_steps=1), SERVER, len(CLIENTS))
    federation, transport = loopback.federation(CLIENTS, tmp_path)
    found = run(federation, prepared)
    assert [dict(row) for row in found.privacy.ledger] == prepared.plan.ledger_rows()
    assert found.privacy.secure
    assert found.privacy.trust == "secure-sum"
    sums = sum(kind == "mask" for name, kind, _ in transport.sent if name == "site00")
    assert 5 < sums <= sum(release.most_sums for release in prepared.plan.releases)
    # Who are you, the terms, shares of keys; then two messages a sum.
    assert len(transport.sent) == len(CLIENTS) * (3 + 2 * sums)


@pytest.mark.slow
def test_columns_get_units_and_gaps_are_filled_in_over_a_network_too(tmp_path):
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 5e6, 0.0], [1e-3, 6e6, 10.0]])
    points = centers[rng.integers(2, size=6000)] + rng.standard_normal((6000, 3)) * [1e-4, 1e5, 1.0]
    points[::10, 0] = np.nan
    federation, _ = loopback.federation(np.array_split(points, 3), tmp_path)
    found = run(federation, prepare(Settings(2, 4.0), None, 3, 3))
    assert found.units.scale == pytest.approx(np.nanstd(points, axis=0), rel=0.5)
    errors = np.abs(found.centers[found.centers[:, 1].argsort()] - centers) / [1e-3, 1e6, 10.0]
    assert errors.max() < 0.2
    assert found.counts.sum() == pytest.approx(6000, rel=0.1)
