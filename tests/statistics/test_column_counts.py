"""Histograms of columns, and rows that are read in units of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.batches import finite_batch
from feddp_kmeans.silos.memory import TableSilo
from feddp_kmeans.statistics import column_counts, norms, residual_sums
from feddp_kmeans.statistics.batch import ClientBatch, read_rows
from feddp_kmeans.statistics.norms import SHARE_STEPS
from feddp_kmeans.statistics.query import Query
from tests.statistics.engines import both

EDGES = np.array([[0.0, 1.0, 2.0], [-1.0, 0.0, 10.0]])
BOTH = {"chosen": np.ones(2), "column_edges": EDGES}
ROWS = np.array([[0.5, -5.0], [0.5, np.nan], [7.0, 3.0], [np.inf, 3.0]])


def counted(statistic, rows, starts):
    found = TableSilo(rows, np.array(starts)).exact_sum(Query(statistic, BOTH, 2))
    return (found / SHARE_STEPS).reshape(2, 4)


def test_each_cell_that_is_there_is_counted_in_its_column():
    expected = [[0, 2, 0, 1], [1, 0, 2, 0]]
    np.testing.assert_array_equal(counted(column_counts.POINT_COLUMNS, ROWS, [0, 4]), expected)


def test_only_chosen_columns_are_counted():
    second = {"chosen": np.array([0.0, 1.0]), "column_edges": EDGES[1:]}
    query = Query(column_counts.POINT_COLUMNS, second, 2)
    np.testing.assert_array_equal(TableSilo(ROWS, np.array([0, 4])).exact_sum(query) / SHARE_STEPS, [1, 0, 2, 0])
    assert query.sensitivity.l2 == SHARE_STEPS
    with pytest.raises(FedDPError, match="chosen must be 1 for as many columns as have edges, 1, got 2"):
        Query(column_counts.POINT_COLUMNS, second | {"chosen": np.ones(2)}, 2)
    with pytest.raises(FedDPError, match=r"chosen must have shape \(2\)"):
        Query(column_counts.POINT_COLUMNS, second | {"chosen": np.ones(3)}, 2)


def test_the_cells_of_a_client_share_one_count_in_each_column():
    found = counted(column_counts.CLIENT_COLUMNS, ROWS, [0, 3, 3, 4])
    np.testing.assert_allclose(found, [[0, 2 / 3, 0, 1 / 3], [0.5, 0, 1.5, 0]], atol=1e-6)


@given(st.data(), st.integers(1, 12), st.integers(1, 70), st.sampled_from([np.float64, np.float32, np.int64]), st.booleans())
def test_both_engines_count_the_same_cells(data, s, e, dtype, client):
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    d, chosen = s + 2, np.zeros(s + 2)
    chosen[rng.permutation(d)[:s]] = 1
    edges = np.sort(rng.integers(-5, 6, (s, e)) * 2.0 ** rng.integers(-3, 60, (s, 1)), axis=1)
    rows = rng.choice(edges.ravel(), (40, d)) * rng.choice([1, 1, 0.5, 2], (40, d))
    if dtype is not np.int64:
        rows[rng.random((40, d)) < 0.2] = rng.choice([np.nan, np.inf, -np.inf])
    starts = np.sort(np.append([0, 40], rng.integers(0, 41, 6))) if client else np.arange(41)
    batch = ClientBatch(rows.astype(dtype), starts)
    statistic = column_counts.CLIENT_COLUMNS if client else column_counts.POINT_COLUMNS
    plain, *compiled_ones = both(lambda: statistic.compute(batch, chosen=chosen, column_edges=edges))
    assert plain.sum()
    assert all(np.array_equal(plain, fast) for fast in compiled_ones)


cells = hnp.arrays(np.float64, (6, 2), elements=st.one_of(st.floats(-20, 20), st.sampled_from([np.nan, np.inf, -np.inf, 1e308, 0.0])))


@given(rows=cells, index=st.integers(0, 5), client=st.booleans())
def test_one_unit_moves_all_columns_by_at_most_the_stated_norm_whatever_its_cells_are(rows, index, client):
    statistic = column_counts.CLIENT_COLUMNS if client else column_counts.POINT_COLUMNS
    query = Query(statistic, BOTH, 2)
    unit = slice(2 * (index // 2), 2 * (index // 2) + 2) if client else index
    fewer = np.delete(rows, unit, axis=0)
    sums = [TableSilo(table, np.arange(0, len(table) + 1, 2)).exact_sum(query) for table in (rows, fewer)]  # clients of two rows
    moved = (sums[0] - sums[1]).astype(float)
    assert np.linalg.norm(moved) <= query.sensitivity.l2
    assert np.abs(moved).sum() <= query.sensitivity.l1


@given(rows=cells, index=st.integers(0, 5))
def test_a_row_that_is_filled_in_and_scaled_still_moves_a_sum_by_at_most_its_sensitivity(rows, index):
    public = {"center": np.zeros(2), "radius": 2.0, "bound": 1e6, "units": np.array([0.25, 1e-9]), "fill": np.array([1.0, -4.0])}
    query = Query(residual_sums.POINT_SECOND_MOMENT, public, 2)
    sums = [TableSilo(table, np.array([0, len(table)])).exact_sum(query) for table in (rows, np.delete(rows, index, axis=0))]
    assert np.linalg.norm((sums[0] - sums[1]).astype(float)) <= query.sensitivity.l2


def test_rows_with_gaps_count_only_where_something_is_filled_in():
    query = {"center": np.zeros(2), "edges": np.array([1e6])}
    dropped = TableSilo(ROWS, np.array([0, 4])).exact_sum(Query(norms.POINT_DISTANCES, query, 2))
    assert dropped.sum() == 2 * SHARE_STEPS
    with_units = query | {"units": np.ones(2)}
    assert np.array_equal(TableSilo(ROWS, np.array([0, 4])).exact_sum(Query(norms.POINT_DISTANCES, with_units, 2)), dropped)
    filled = with_units | {"fill": np.zeros(2)}
    assert TableSilo(ROWS, np.array([0, 4])).exact_sum(Query(norms.POINT_DISTANCES, filled, 2)).sum() == 4 * SHARE_STEPS


def test_a_row_without_any_cell_is_no_row_even_where_gaps_are_filled_in():
    rows = np.vstack([ROWS, [[np.nan, -np.inf]]])
    public = {"center": np.zeros(2), "edges": np.array([1e6]), "units": np.ones(2), "fill": np.zeros(2)}
    for table in (rows, sparse.csr_matrix(rows)):
        assert TableSilo(table, np.array([0, 5])).exact_sum(Query(norms.POINT_DISTANCES, public, 2)).sum() == 4 * SHARE_STEPS


def test_units_are_read_alike_from_dense_sparse_and_single_precision_rows():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((200, 3)) < 0.6, 0.0, rng.standard_normal((200, 3))).astype(np.float32)
    rows[3, 1] = np.nan
    public = {"center": np.zeros(3), "radius": 3.0, "bound": 1e8, "units": np.array([0.3, 7.0, 1e-3]), "fill": np.ones(3)}
    query = Query(residual_sums.POINT_SECOND_MOMENT, public, 3)
    kinds = (rows, rows.astype(np.float64), sparse.csr_matrix(rows.astype(np.float64)))
    first, *others = [TableSilo(table, np.array([0, 200])).for_run().exact_sum(query) for table in kinds]
    assert all(np.array_equal(first, other) for other in others)
    read = read_rows(rows.astype(np.float64), public["units"], public["fill"])
    plain = Query(residual_sums.POINT_SECOND_MOMENT, {key: public[key] for key in ("center", "radius", "bound")}, 3)
    assert np.array_equal(first, TableSilo(read, np.array([0, 200])).exact_sum(plain))


def test_a_batch_is_read_once_for_the_same_units_and_again_for_others():
    batch = finite_batch(ROWS, np.array([4]))
    units = np.array([2.0, 4.0])
    once = batch.read_as(units, np.zeros(2))
    assert batch.read_as(units, np.zeros(2)).points is once.points
    assert batch.read_as(units, np.ones(2)).points is not once.points
    np.testing.assert_array_equal(once.points, [[0.25, -1.25], [0.25, 0.0], [3.5, 0.75], [0.0, 0.75]])
    np.testing.assert_array_equal(batch.read_as(units, None).points, [[0.25, -1.25], [3.5, 0.75]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"units": np.zeros(2)}, "units must be from 1e-100 to"),
        ({"units": np.array([1.0, np.inf])}, "units must be from"),
        ({"units": np.ones(3)}, r"units must have shape \(2\)"),
        ({"units": np.ones(2), "fill": np.array([np.nan, 0])}, "fill must be finite"),
        ({"fill": np.zeros(2)}, "fill must be given together with units"),
    ],
)
def test_wrong_units_are_refused_by_the_gate(rows, message):
    with pytest.raises(FedDPError, match=message):
        Query(norms.POINT_COUNT, rows, 2)
