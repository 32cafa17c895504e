"""How points are put together: batches of sparse rows hold no more than stays exact and fits memory, and hold all that was given."""

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.silos import batched, batches
from feddp_kmeans.silos.batched import SourceSilo
from feddp_kmeans.silos.batches import as_floats, finite_batch, side_by_side, sparse_rows
from feddp_kmeans.silos.memory import ArraySilo, ArraySource, TableSilo
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS, MAX_DIMENSION
from feddp_kmeans.statistics.norms import POINT_COUNT
from feddp_kmeans.statistics.paper_sums import OUTER_PRODUCT
from feddp_kmeans.statistics.query import Query
from tests.statistics.engines import both


@pytest.mark.parametrize("rows", [0, 1, 4096, 9000])
def test_columns_become_rows(rows):
    columns = [np.arange(rows) + offset / 8 for offset in range(3)]
    assert np.array_equal(side_by_side(columns), np.column_stack(columns))


@pytest.mark.parametrize("dimension", [1, 2, 3, 64, 100, 819, 20_000, MAX_DIMENSION])
def test_a_batch_of_sparse_rows_stays_exact_and_fits_memory(dimension):
    assert 1 <= sparse_rows(dimension) <= EXACT_ROWS
    assert sparse_rows(dimension) * dimension <= 1 << 24


@pytest.mark.parametrize("sizes", [[900_000], [300_000, 300_000, 300_000], [1] * 700])
@pytest.mark.parametrize("whole", [True, False])
def test_rows_without_numbers_count(sizes, whole, monkeypatch):
    monkeypatch.setattr(batches, "EXACT_ROWS", 500 if sizes[0] == 1 else EXACT_ROWS)
    clients = SourceSilo([ArraySource(sparse.csr_matrix((size, 3))) for size in sizes])
    made = list(clients.whole(None) if whole else clients.points())
    assert sum(batch.n_points for batch in made) == sum(sizes)
    largest = max(sizes) if whole else 0  # a client is not taken apart where it is the unit
    assert max(batch.n_points for batch in made) <= max(sparse_rows(3), largest)


def test_clients_without_points_count_too():
    """Statistics of clients hold numbers for every client of a batch, empty or not."""
    empty = 1 << 19
    table = TableSilo(np.ones((2, 400)), np.concatenate([np.zeros(empty + 1, dtype=np.int64), [2]]))
    listed = SourceSilo([ArraySource(np.empty((0, 400)))] * 200_000)
    for clients, count in ((table, empty + 1), (listed, 200_000)):
        made = [batch.n_clients for batch in clients.whole(None)]
        assert sum(made) == count
        assert max(made) <= sparse_rows(400)


def test_a_place_that_is_stored_twice_is_one_number():
    """Two finite numbers of one place may add up to an infinity: the row is left out, as it is where the rows are dense."""
    rows = sparse.csr_matrix(([1e308, 1e308, 1.0, 2.0], [0, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    clients = SourceSilo([ArraySource(rows)])
    assert clients.exact_sum(Query(POINT_COUNT, {}, 2)).tolist() == [1]
    public = {"center": np.array([0.0, 3.0]), "radius": 1.0}
    assert clients.exact_sum(Query(OUTER_PRODUCT, public, 2)).tolist() == [0, 0, 0]
    assert as_floats(rows).nnz == 2
    assert rows.nnz == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimension", [1, 3, 8, 20, 100])
@pytest.mark.parametrize("part", [0.0, 0.1, 1.0])
def test_rows_that_are_not_finite_are_left_out_of_every_client(dtype, dimension, part, rng):
    sizes = np.array([0, 5, 1, 0, 40, 0])
    points = (rng.uniform(-1, 1, (46, dimension)) * np.finfo(dtype).max).astype(dtype)
    gaps = rng.random(46) < part
    points[gaps, rng.integers(0, dimension, 46)[gaps]] = rng.choice([np.nan, np.inf, -np.inf], gaps.sum())
    owners = np.repeat(np.arange(6), sizes)
    for batch in both(lambda: finite_batch(points, sizes)):
        assert batch.points.dtype == dtype
        assert np.array_equal(batch.points, points[~gaps])
        assert np.array_equal(batch.sizes, np.bincount(owners[~gaps], minlength=6))
        assert (batch.with_gaps is None) == (not gaps.any())


def test_rows_count_for_what_is_kept(monkeypatch):
    monkeypatch.setattr(batched, "_KEPT_NUMBERS", 1000)
    few, many = sparse.csr_matrix((1000, 3)), sparse.csr_matrix((1001, 3))
    for rows, kept in ((few, True), (many, False)):
        for silo in (ArraySilo([rows]), TableSilo.from_groups(rows, np.zeros(rows.shape[0]))):
            assert (silo.for_run().kept is not None) is kept


def test_what_is_much_larger_than_the_points_is_not_remembered(rng):
    """Encoded, a sparse row may differ from zero everywhere: then it is made again rather than kept."""
    rows = sparse.csr_matrix(np.eye(100))
    for center, kept in ((np.zeros(100), True), (np.full(100, 0.1), False)):
        batch = ClientBatch(rows, np.array([0, 100]))
        expected = OUTER_PRODUCT(ClientBatch(rows.toarray(), batch.starts), center=center, radius=0.5)
        for _ in range(2):
            assert np.array_equal(OUTER_PRODUCT(batch, center=center, radius=0.5), expected)
            assert bool(batch._held) is kept


@pytest.mark.parametrize("made", [sparse.csr_matrix((3, 0)), sparse.coo_array(np.ones(3))])
def test_a_sparse_matrix_without_columns_or_rows_is_no_table(made):
    with pytest.raises(FedDPError, match=r"client 0 must have"):
        InMemoryFederation([made])
