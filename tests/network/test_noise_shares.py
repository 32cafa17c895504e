"""The noise under the masks: every site adds its own fresh share, of the planned size, to every release; a seed serves simulations only."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from feddp_kmeans import _files
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.secure_sum.party import Party
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.paper_sums import CLUSTER_SUMS
from tests.network import loopback

VALUES = 600
PUBLIC = {"center": np.zeros(1), "radius": 9.0, "centers": np.linspace(1e5, 2e5, VALUES)[:, None]}
"""Centers so far out that sums are zero but for one: what is left is noise."""

FALSE_ALARM = 1e-9
"""Chance that one of these tests fails on sound code, for each share that is looked at."""

RELEASES = tuple(Release(name, Mechanism.GAUSSIAN, 1.0, 2.0**16, 2.0, VALUES, times) for name, times in (("one", 1), ("two", 2)))
PLAN = Plan(PrivacyUnit.POINT, 50.0, 1e-6, RELEASES)
LABELS = ("one", "two", "two")


@pytest.fixture
def parts(monkeypatch):
    """What each site puts under its masks, by site, in order of releases."""
    seen = {}
    whole = Party.mask

    def spied(self, round_, values, *more):
        seen.setdefault(self.name, []).append(values.view(np.int64).copy())
        return whole(self, round_, values, *more)

    monkeypatch.setattr(Party, "mask", spied)
    monkeypatch.setattr(_files.os, "fsync", lambda _: None)
    return seen


def run(folder, seed=None, **more):
    folder.mkdir(exist_ok=True)
    federation, transport = loopback.federation([np.empty((0, 1))] * 5, folder, **more)
    with federation.open(PLAN, seed) as opened:
        for name in LABELS:
            opened.noisy_sum(CLUSTER_SUMS, PLAN[name], **PUBLIC)
    return transport


def noises(parts):
    return [noise for site in parts.values() for noise in site]


def steps(threshold, colluders):
    """The standard deviation of one share in the steps that travel: the release's own is at least 2**27."""
    return RELEASES[0].stddev / RELEASES[0].fine_step / math.sqrt(threshold - colluders)


@pytest.mark.parametrize(("threshold", "colluders"), [(4, 1), (5, 1), (5, 3)])
def test_every_share_has_the_law_that_the_terms_ask_for(tmp_path, parts, threshold, colluders):
    run(tmp_path, threshold=threshold, colluders=colluders)
    assert {name: len(site) for name, site in parts.items()} == {f"site{i:02d}": 3 for i in range(5)}
    for noise in noises(parts):
        assert stats.kstest(noise / steps(threshold, colluders), "norm").pvalue > FALSE_ALARM
    assert has_variance_one(np.concatenate(noises(parts)) / steps(threshold, colluders))


def answered(federation, transport, absent=(), times=1, name="one"):
    """One release of a new run with these sites absent: its values, and the release as it was made."""
    with federation.open(PLAN) as opened:
        transport.absent = set(absent)
        return opened.noisy_sum(CLUSTER_SUMS, PLAN[name], times=times, **PUBLIC), opened.made[name]


def test_stated_noise_is_that_of_the_sites_that_answered(tmp_path, monkeypatch):
    """Threshold 4 of which 1 may collude: five shares where three are counted on, then four of them, then half the variance of both."""
    monkeypatch.setattr(_files.os, "fsync", lambda _: None)
    federation, transport = loopback.federation([np.empty((0, 1))] * 5, tmp_path, threshold=4, colluders=1)
    stated, planned = [], []
    for absent, times, name, factor in (((), 1, "one", 5 / 3), ((2,), 1, "one", 4 / 3), ((), 2, "two", 5 / 6), ((2,), 2, "two", 4 / 6)):
        values, made = answered(federation, transport, absent, times, name)
        assert made.stddev == pytest.approx(PLAN[name].stddev * math.sqrt(factor))
        stated.append(values / made.stddev)
        planned.append(values / PLAN[name].as_one(times).stddev)
        assert has_variance_one(stated[-1])
    assert has_variance_one(np.concatenate(stated))
    assert not has_variance_one(np.concatenate(planned))


def test_the_factor_is_that_of_each_release_and_the_budget_counts_what_was_planned(tmp_path):
    federation, transport = loopback.federation([np.empty((0, 1))] * 5, tmp_path, threshold=4, colluders=1)
    made = []
    with federation.open(PLAN) as opened:
        for absent in (set(), {1}):
            transport.absent = absent
            opened.noisy_sum(CLUSTER_SUMS, PLAN["two"], **PUBLIC)
            made.append(opened.made["two"].stddev / PLAN["two"].stddev)
    assert made == pytest.approx([math.sqrt(5 / 3), math.sqrt(4 / 3)])
    assert opened.report().ledger == (PLAN["two"].to_dict(),)


@pytest.mark.parametrize("trust", Trust)
def test_a_recorded_run_states_the_same_noise_when_it_goes_on(tmp_path, trust):
    given = {} if trust is Trust.AGGREGATOR else {"threshold": 4, "colluders": 1}
    federation, transport = loopback.federation([np.empty((0, 1))] * 5, tmp_path / "sites", trust=trust, **given)
    expected = 1.0 if trust is Trust.AGGREGATOR else math.sqrt(4 / 3)
    transport.absent = {1}
    seen = []
    for _ in range(2):
        with RecordedFederation(federation, tmp_path / "record").open(PLAN) as opened:
            values = opened.noisy_sum(CLUSTER_SUMS, PLAN["two"], times=2, **PUBLIC)
        seen.append((values.tobytes(), opened.made["two"].stddev))
        transport.absent = set()
    assert seen[0] == seen[1]
    assert seen[0][1] == pytest.approx(expected * PLAN["two"].stddev / math.sqrt(2))


def has_variance_one(values):
    low, high = stats.chi2.ppf(FALSE_ALARM, values.size), stats.chi2.isf(FALSE_ALARM, values.size)
    return low < np.square(values).sum() < high


def test_a_share_of_one_site_more_or_fewer_is_refused():
    rng = np.random.default_rng(0)
    for shares in (3, 4):
        for others in (shares - 1, shares + 1):
            assert not has_variance_one(rng.standard_normal(15 * VALUES) * math.sqrt(shares / others))


def check_independent(found):
    """No two shares have more in common than independent ones: |r| sqrt(n) is about normal, and beyond 7 with a chance of 3e-12."""
    for one, other in itertools.combinations(found, 2):
        assert not np.array_equal(one, other)
        assert abs(np.corrcoef(one, other)[0, 1]) * math.sqrt(VALUES) < 7


def test_no_two_sites_releases_or_runs_have_noise_in_common(tmp_path, parts):
    run(tmp_path / "one")
    run(tmp_path / "other")
    found = noises(parts)
    assert len(found) == 30
    check_independent(found)


def test_a_seed_that_a_server_sends_along_is_of_no_use_in_a_secure_run(tmp_path, parts, monkeypatch):
    honest = RemoteFederation._adder

    def with_seed(self, opened):
        adder = honest(self, opened)
        opened.seed = 7
        return adder

    monkeypatch.setattr(RemoteFederation, "_adder", with_seed)
    for name in ("one", "other"):
        transport = run(tmp_path / name)
        assert any(b'"seed": 7' in request for _, kind, request in transport.sent if kind == "mask")
    check_independent(noises(parts))


def test_a_simulation_is_repeated_to_the_bit_and_its_shares_are_independent(tmp_path, parts):
    run(tmp_path / "one", seed=7)
    first = {name: list(site) for name, site in parts.items()}
    check_independent(noises(parts))
    parts.clear()
    run(tmp_path / "other", seed=7)
    assert all(np.array_equal(a, b) for name, site in parts.items() for a, b in zip(site, first[name], strict=True))


METHODS = {"paper": ({"method": "paper"}, True), "refined": ({}, True), "serverless": ({}, False), "grid": ({"radius": 9.0}, False)}


@pytest.mark.parametrize("method", ["paper", "refined", pytest.param("serverless", marks=pytest.mark.slow), "grid"])
def test_stated_errors_of_every_method_know_the_sites_that_answered(tmp_path, monkeypatch, method):
    """Three shares where two are counted on: sizes are stated with sqrt(3/2) times the error that they have in memory."""
    monkeypatch.setattr(_files.os, "fsync", lambda _: None)
    (more, server), rng = METHODS[method], np.random.default_rng(0)
    d = 2 if method == "grid" else 4
    clients = [rng.standard_normal((40, d)) + 5 * (number % 2) for number in range(3)]
    known = rng.standard_normal((30, d)) * 3 if server else None
    prepared = prepare(Settings(2, 8.0, noise="gaussian", lloyd_steps=1, **more), known, 3, d)
    remote, _ = loopback.federation(clients, tmp_path, threshold=3, colluders=1)
    found, local = (clustering.run(federation, prepared, seed=1) for federation in (remote, InMemoryFederation(clients)))
    assert found.count_stddev == pytest.approx(math.sqrt(3 / 2) * local.count_stddev)
    assert found.privacy.epsilon_spent == local.privacy.epsilon_spent
