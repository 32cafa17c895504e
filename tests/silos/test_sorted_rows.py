"""A table sorted by client, read in pieces: the integers of the same table in memory."""

import numpy as np
import pytest

from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos import batches
from feddp_kmeans.silos.memory import ArraySource, TableSilo
from feddp_kmeans.silos.sorted_rows import SortedSilo
from feddp_kmeans.statistics.query import Query
from tests.statistics.cases import ALL_CASES, DIMENSION, names

STARTS = np.array([0, 5, 5, 6, 90, 91, 400, 401, 401])


@pytest.fixture
def table(rng):
    rows = 2 * rng.standard_normal((STARTS[-1], DIMENSION))
    rows[7, 1] = np.nan
    return rows


@pytest.mark.parametrize("values", [1, 30, 1 << 18])
@pytest.mark.parametrize("case", ALL_CASES, ids=names(ALL_CASES))
def test_sums_are_those_of_the_table_in_memory(case, values, table, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_VALUES", values)
    monkeypatch.setattr("feddp_kmeans.silos.sorted_rows.READ_VALUES", values)
    statistic, public, *_ = case
    query = Query(statistic, public, DIMENSION)
    silo, expected = SortedSilo(ArraySource(table), STARTS), TableSilo.from_offsets(table, STARTS)
    assert (silo.n_clients, silo.dimension, silo.columns) == (8, DIMENSION, expected.columns)
    assert np.array_equal(silo.exact_sum(query), expected.exact_sum(query))
    assert np.array_equal(silo.for_run().exact_sum(query), expected.exact_sum(query))
    if statistic.unit is PrivacyUnit.CLIENT:
        cohort = np.array([True, False, True, True, False, True, False, True])
        assert np.array_equal(silo.exact_sum(query, cohort), expected.exact_sum(query, cohort))


def test_clients_and_their_points_are_those_of_the_table(table):
    silo = SortedSilo(ArraySource(table), STARTS)
    clients = list(silo.nonprivate_clients())
    assert [len(client) for client in clients] == np.diff(STARTS).tolist()
    assert np.array_equal(np.concatenate(clients), table, equal_nan=True)
    assert silo.as_one_client().n_clients == 1


def test_a_table_that_became_shorter_is_refused(table):
    silo = SortedSilo(ArraySource(table[:-1]), STARTS)
    with pytest.raises(InputError, match="stay as they are during a run"):
        list(silo.whole(None))
