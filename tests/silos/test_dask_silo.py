"""Points on a Dask cluster of two processes give the bits of points in memory."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.dask_silo import DaskSilo
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics.paper_sums import CLIENT_OUTER_PRODUCT, OUTER_PRODUCT
from feddp_kmeans.statistics.query import Query
from tests.variants import slow_after

distributed = pytest.importorskip("distributed", reason="points on a cluster need the extra 'dask'")
delayed = pytest.importorskip("dask").delayed

RNG = np.random.default_rng(5)
CLIENTS = [RNG.standard_normal((n, 3)) for n in (40, 0, 300, 7, 1, 20, 9, 11, 60, 2)]
SERVER = RNG.standard_normal((40, 3))
BALL = {"center": np.zeros(3), "radius": 4.0}
MOMENT = Query(OUTER_PRODUCT, BALL, 3)


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as made,
        distributed.Client(made) as client,
    ):
        yield client


def held(clients):
    return DaskSilo([delayed(points) for points in clients], ("a", "b", "c"))


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("method", slow_after(1, ["refined", "paper"]))
def test_a_cluster_gives_the_bits_of_this_process(cluster, unit, method):
    prepared = prepare(Settings(2, 1.0, privacy_unit=unit, method=method, lloyd_steps=1, client_size=50), SERVER, len(CLIENTS))
    expected = run(InMemoryFederation(CLIENTS), prepared, seed=3)
    found = run(LocalFederation(held(CLIENTS)), prepared, seed=3)
    assert np.array_equal(found.centers, expected.centers)
    assert np.array_equal(found.counts, expected.counts)


def test_a_cohort_is_asked_and_nobody_else(cluster):
    settings = Settings(2, 1.0, privacy_unit="client", method="paper", sampling_rate=0.3, client_size=50)
    prepared = prepare(settings, SERVER, len(CLIENTS))
    expected = run(InMemoryFederation(CLIENTS), prepared, seed=1)
    assert np.array_equal(run(LocalFederation(held(CLIENTS)), prepared, seed=1).centers, expected.centers)


def test_a_silo_on_a_cluster_answers_as_one_on_a_disk(cluster):
    site = ArraySilo(CLIENTS).as_one_client()
    assert np.array_equal(held(CLIENTS).as_one_client().exact_sum(MOMENT), site.exact_sum(MOMENT))
    assert not held(CLIENTS).exact_sum(MOMENT, np.zeros(len(CLIENTS), dtype=bool)).any()


def test_a_silo_in_parts_is_no_whole_client(cluster):
    bounded = Query(CLIENT_OUTER_PRODUCT, BALL | {"bound": 9.0}, 3)
    with pytest.raises(FedDPError, match="a client must be in one partition for the statistic 'client-outer-product' of clients, got 10"):
        held(CLIENTS).as_one_client().exact_sum(bounded)
    site = ArraySilo(CLIENTS[2:3])
    assert np.array_equal(held(CLIENTS[2:3]).as_one_client().exact_sum(bounded), site.exact_sum(bounded))


def test_a_dask_array_is_its_chunks(cluster):
    arrays = pytest.importorskip("dask.array")
    points = np.concatenate(CLIENTS)
    data = DaskSilo.of(arrays.from_array(points, chunks=(100, 3)))
    assert (data.n_clients, data.columns) == (5, ("x0", "x1", "x2"))
    assert np.array_equal(data.exact_sum(MOMENT), ArraySilo([points]).exact_sum(MOMENT))
    assert np.array_equal(np.concatenate(list(data.nonprivate_clients())), points)
    with pytest.raises(FedDPError, match="chunks of a Dask array must hold whole rows, got 3 chunks per row"):
        DaskSilo.of(arrays.from_array(points, chunks=(100, 1)))


def test_a_partition_of_another_width_is_refused(cluster):
    for rows in (2, 0):
        with pytest.raises(FedDPError, match="a partition must have 3 columns, got 4"):
            held([np.ones((rows, 4))]).exact_sum(MOMENT)


def test_a_cluster_without_partitions_has_no_clients():
    with pytest.raises(FedDPError, match="clients must be at least one"):
        held([])
