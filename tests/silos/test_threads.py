"""Threads change when a batch is done and nothing else."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.silos import batches, threads
from feddp_kmeans.silos.threads import THREADS, add_batches, n_threads, one_thread
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.engine import Engine, compiled, using


@pytest.fixture(autouse=True)
def threads_start_early(monkeypatch):
    monkeypatch.setattr(threads, "_ALONE", 4)


def made_up(n):
    return (ClientBatch(np.full((1, 1), float(i)), np.array([0, 1])) for i in range(n))


@pytest.mark.parametrize("unit", ["point", "client"])
def test_any_number_of_threads_gives_the_same_bits(monkeypatch, rng, unit):
    monkeypatch.setattr(batches, "BATCH_VALUES", 200)
    clients = [rng.standard_normal((n, 3)) for n in (500, 7, 0, 200)] * 5
    prepared = prepare(Settings(2, 1.0, privacy_unit=unit, client_size=100), rng.standard_normal((40, 3)), 20)
    found = []
    for number in ("1", "2", "5"):
        monkeypatch.setenv(THREADS, number)
        found.append(run(InMemoryFederation(clients), prepared, seed=1).centers)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_threads_use_the_engine_of_their_run(monkeypatch):
    monkeypatch.setenv(THREADS, "2")
    seen = set()

    def compute(batch):
        seen.add((threading.current_thread() is threading.main_thread(), compiled()))
        return batch.points.sum(axis=0).astype(np.int64)

    with using(Engine.COMPILED):
        add_batches(np.zeros(1, dtype=np.int64), made_up(12), compute)
    assert seen == {(True, True), (False, True)}


def test_many_batches_are_done_at_the_same_time(monkeypatch):
    monkeypatch.setenv(THREADS, "2")
    total, together, seen = np.zeros(1, dtype=np.int64), threading.Barrier(2, timeout=60), set()

    def compute(batch):
        if threading.current_thread() is not threading.main_thread():
            seen.add(threading.current_thread())
            together.wait()
        return batch.points.sum(axis=0).astype(np.int64)

    add_batches(total, made_up(12), compute)
    assert total == [66]
    assert len(seen) == 2


def test_few_batches_start_no_thread(monkeypatch):
    monkeypatch.setenv(THREADS, "2")
    seen = set()

    def compute(batch):
        seen.add(threading.current_thread())
        return np.ones(1, dtype=np.int64)

    add_batches(total := np.zeros(1, dtype=np.int64), made_up(4), compute)
    assert total == [4]
    assert seen == {threading.main_thread()}


def test_what_fails_in_a_thread_fails(monkeypatch):
    monkeypatch.setenv(THREADS, "2")

    def compute(batch):
        if batch.points[0, 0] == 9:
            raise FedDPError("this one.")
        return np.ones(1, dtype=np.int64)

    with pytest.raises(FedDPError, match="this one"):
        add_batches(np.zeros(1, dtype=np.int64), made_up(20), compute)


@pytest.mark.parametrize("given", ["0", "-1", "two", ""])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv(THREADS, given)
    with pytest.raises(FedDPError, match="FEDDP_THREADS must be a whole number from 1"):
        n_threads()


def test_by_default_threads_are_as_many_as_cores(monkeypatch):
    monkeypatch.delenv(THREADS, raising=False)
    assert n_threads() >= 1


def test_all_pools_have_one_thread_while_a_run_is_carried_out():
    """Also scikit-learn's, whatever a user has set."""
    with threadpool_limits(2):
        with one_thread():
            inside = threadpool_info()
        assert {pool["user_api"] for pool in inside} >= {"blas", "openmp"}
        assert {pool["num_threads"] for pool in inside} == {1}
        assert {pool["num_threads"] for pool in threadpool_info()} == {2}
