"""Silos in this process: the same sums from each kind, as many clients and as one, and the engine that their size asks for."""

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos import batched
from feddp_kmeans.silos.batched import SourceSilo
from feddp_kmeans.silos.memory import ArraySilo, TableSilo
from feddp_kmeans.statistics.norms import POINT_COUNT
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.statistics.residual_sums import CLIENT_SIZES
from feddp_kmeans.tables.client_files import open_clients
from tests.statistics.cases import ALL_CASES, DIMENSION, names

RNG = np.random.default_rng(3)
CLIENTS = [RNG.standard_normal((n, DIMENSION)) for n in (40, 0, 1, 300, 7)]
CLIENTS[3][5] = np.nan


def shuffled():
    owners = np.repeat(np.arange(5), [len(rows) for rows in CLIENTS])
    shuffle = np.random.default_rng(1).permutation(len(owners))
    order = np.argsort(owners[shuffle], kind="stable")
    return TableSilo(np.concatenate(CLIENTS)[shuffle], np.searchsorted(owners, np.arange(6)), order)


def in_files(folder):
    for index, rows in enumerate(CLIENTS):
        np.save(folder / f"{index}.npy", rows)
    return SourceSilo(open_clients(str(folder)))


KINDS = {
    "arrays": lambda _: ArraySilo(CLIENTS),
    "sparse": lambda _: ArraySilo([sparse.csr_matrix(rows) for rows in CLIENTS]),
    "table": lambda _: TableSilo.from_offsets(np.concatenate(CLIENTS), np.cumsum([0, *(len(rows) for rows in CLIENTS)])),
    "shuffled": lambda _: shuffled(),
    "files": in_files,
}


@pytest.fixture(params=KINDS)
def silo(request, tmp_path):
    return KINDS[request.param](tmp_path)


@pytest.mark.parametrize("case", ALL_CASES, ids=names(ALL_CASES))
def test_every_kind_adds_up_alike_as_many_clients_and_as_one(silo, case):
    statistic, public, *_ = case
    query = Query(statistic, public, DIMENSION)
    assert np.array_equal(silo.exact_sum(query), ArraySilo(CLIENTS).exact_sum(query))
    assert np.array_equal(silo.as_one_client().exact_sum(query), ArraySilo([np.concatenate(CLIENTS)]).exact_sum(query))


def test_what_is_kept_for_a_run_adds_up_alike_and_is_not_the_silos_own(silo):
    whole, single = (Query(statistic, {}, DIMENSION) for statistic in (CLIENT_SIZES, POINT_COUNT))
    held = silo.for_run()
    for query in (whole, single) * 2:
        assert np.array_equal(held.exact_sum(query), silo.exact_sum(query))
    assert held.exact_sum(whole, np.arange(5) == 3).sum() == 1
    assert set(held.kept) == {"whole", "points"}
    assert silo.kept is None
    assert not silo.for_run().kept


def test_a_silo_that_turns_out_larger_than_its_size_says_keeps_nothing(silo, monkeypatch):
    """A compressed file holds more numbers than its bytes tell."""
    query = Query(POINT_COUNT, {}, DIMENSION)
    monkeypatch.setattr(batched, "_KEPT_NUMBERS", silo.size)
    held = silo.for_run()
    monkeypatch.setattr(batched, "_KEPT_NUMBERS", 99)
    for _ in range(2):
        assert np.array_equal(held.exact_sum(query), silo.exact_sum(query))
        assert held.kept is None


def test_a_silo_says_how_many_clients_and_which_columns_there_are(silo):
    assert (silo.n_clients, silo.dimension, silo.columns) == (5, DIMENSION, tuple(f"x{i}" for i in range(DIMENSION)))
    assert silo.as_one_client().n_clients == 1
    assert [rows.shape[0] for rows in silo.nonprivate_clients()] == [len(rows) for rows in CLIENTS]


def test_columns_are_named_where_they_have_names():
    assert ArraySilo([np.ones((3, 2))], ("age", "height")).columns == ("age", "height")
    with pytest.raises(FedDPError, match="columns must name the 2 coordinates of a point, got 1 names"):
        ArraySilo([np.ones((3, 2))], ("age",))


def test_a_silo_without_points_adds_up_to_nothing():
    for empty in (ArraySilo([np.empty((0, 2))] * 3), TableSilo(np.empty((0, 2)), np.zeros(4, dtype=np.int64))):
        for one in (empty, empty.as_one_client()):
            assert one.exact_sum(Query(POINT_COUNT, {}, 2)).tolist() == [0]
