"""Releases on record: a run goes on where it stopped, and pays for nothing twice."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.residual_sums import CLIENT_SIZES
from tests.federation.counting import CLIENTS, SERVER, Counting
from tests.variants import slow_after


def settings(**more):
    return Settings(2, 500.0, lloyd_steps=2, **more)


def asked_in_one_run(prepared):
    whole = Counting(CLIENTS)
    run(whole, prepared, seed=5)
    return whole.asked


@pytest.mark.parametrize("more", [{"method": "paper"}, {}, {"privacy_unit": "client", "sampling_rate": 0.5}])
@pytest.mark.parametrize("stop_at", slow_after(1, [3, 0, 1]))
def test_a_release_that_nobody_saw_is_made_again(tmp_path, more, stop_at):
    prepared = prepare(settings(**more), SERVER, len(CLIENTS))
    first = Counting(CLIENTS)
    first.stop_at = stop_at
    with pytest.raises(KeyboardInterrupt):
        run(RecordedFederation(first, tmp_path / "run"), prepared, seed=5)
    assert first.asked == stop_at
    second = Counting(CLIENTS)
    found = run(RecordedFederation(second, tmp_path / "run"), prepared, seed=5)
    assert second.asked == asked_in_one_run(prepared) - stop_at
    assert np.array_equal(found.centers, run(InMemoryFederation(CLIENTS), prepared, seed=5).centers)


def test_a_release_that_was_kept_and_lost_is_not_made_again(tmp_path):
    prepared = prepare(settings(method="paper"), SERVER, len(CLIENTS))
    run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), prepared)
    min(tmp_path.glob("*.npy")).unlink()
    silent = Counting(CLIENTS)
    with pytest.raises(BudgetError, match="was made before and its result was lost"):
        run(RecordedFederation(silent, tmp_path), prepared)
    assert silent.asked == 0


def test_a_release_that_was_changed_is_not_taken_for_the_one_that_was_made(tmp_path):
    prepared = prepare(settings(method="paper"), SERVER, len(CLIENTS))
    run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), prepared)
    path = min(tmp_path.glob("*.npy"))
    np.save(path, np.load(path) + 1.0)
    silent = Counting(CLIENTS)
    with pytest.raises(FedDPError, match=f"{path.name} must hold the release .* as it was made; it was changed"):
        run(RecordedFederation(silent, tmp_path), prepared)
    assert silent.asked == 0


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("more", [{"method": "paper"}, {}, {"privacy_unit": "client", "sampling_rate": 0.5}])
def test_a_finished_run_is_repeated_from_the_record_alone(tmp_path, seed, more):
    prepared = prepare(settings(**more), SERVER, len(CLIENTS))
    first = run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), prepared, seed=seed)
    silent = Counting(CLIENTS)
    again = run(RecordedFederation(silent, tmp_path), prepared, seed=seed)
    assert silent.asked == 0
    assert np.array_equal(first.centers, again.centers)
    assert first.privacy == again.privacy
    if seed is not None:
        assert np.array_equal(first.centers, run(InMemoryFederation(CLIENTS), prepared, seed=seed).centers)


@pytest.mark.parametrize("more", [{"method": "paper"}, {}])
def test_a_run_in_two_parts_is_the_run_in_one(tmp_path, more):
    prepared = prepare(settings(**more), SERVER, len(CLIENTS))
    recorded = RecordedFederation(InMemoryFederation(CLIENTS), tmp_path)
    with recorded.open(prepared.plan, 5) as first:
        prepared.method.bind(first).subspace()
    rest = Counting(CLIENTS)
    found = run(RecordedFederation(rest, tmp_path), prepared, seed=5)
    assert rest.asked == asked_in_one_run(prepared) - 1
    assert np.array_equal(found.centers, run(InMemoryFederation(CLIENTS), prepared, seed=5).centers)


def test_another_plan_seed_or_query_is_refused(tmp_path):
    prepared = prepare(settings(method="paper"), SERVER, len(CLIENTS))
    run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), prepared, seed=1)
    for other, seed in ((prepare(settings(method="paper", delta=1e-7), SERVER, len(CLIENTS)), 1), (prepared, 2)):
        with pytest.raises(BudgetError, match="must be of this very plan and seed"):
            run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), other, seed=seed)
    twin = prepare(settings(method="paper", radius=prepared.plan.facts["radius"]), SERVER[::-1], len(CLIENTS))
    assert twin.plan.to_dict() == prepared.plan.to_dict()
    with pytest.raises(BudgetError, match="must answer the same query"):
        run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), twin, seed=1)


POOL = Plan(PrivacyUnit.CLIENT, 9.0, 1e-6, (Release("sizes", Mechanism.GAUSSIAN, 1.0, 1.0, 9.0, 99, 5),))


def pooled(federation, parts, seed=None):
    with federation.open(POOL, seed) as opened:
        return [opened.noisy_sum(CLIENT_SIZES, POOL["sizes"], times=times) for times in parts], opened.report()


@pytest.mark.parametrize("seed", [None, 5])
def test_releases_made_as_one_are_kept_as_one_and_stay_that_many(tmp_path, seed):
    (first,), _ = pooled(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), [3], seed)
    rest = Counting(CLIENTS)
    again, report = pooled(RecordedFederation(rest, tmp_path), [3, 2], seed)
    assert rest.asked == 1
    assert np.array_equal(first, again[0])
    assert report.ledger == tuple(POOL.ledger_rows())
    for other in ([2], [5], [1]):
        with pytest.raises(BudgetError, match="release 'sizes 0' must answer the same query"):
            pooled(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), other, seed)


def test_a_damaged_record_is_one_clear_error(tmp_path):
    (tmp_path / "releases.json").write_text('{"plan": 1}')
    prepared = prepare(settings(), SERVER, len(CLIENTS))
    with pytest.raises(FedDPError, match=r"releases\.json in .* must be the record of a run"):
        run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), prepared)
