"""What Spark's workers compute, without Spark: the same sums however rows come in batches, and clients that stay whole."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.silos import spark_job
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.silos.spark_job import (
    CLIENT,
    NumberColumns,
    SumOfClients,
    SumOfOneClient,
    SumOfPoints,
    SumOfSums,
    VectorColumn,
    added,
    codes,
)
from feddp_kmeans.statistics.paper_sums import CLIENT_OUTER_PRODUCT, OUTER_PRODUCT
from feddp_kmeans.statistics.query import Query

BALL = {"center": np.zeros(2), "radius": 4.0}
MOMENT = Query(OUTER_PRODUCT, BALL, 2)
BOUNDED = Query(CLIENT_OUTER_PRODUCT, BALL | {"bound": 9.0}, 2)
POINTS = NumberColumns(("a", "b"))


def batches_of(clients, cuts, *, named=True):
    """Return the rows of clients, sorted by client, in batches that end at these rows."""
    keys = pa.array([key for key, points in clients for _ in points], type=pa.binary())
    rows = np.concatenate([np.empty((0, 2)), *(points for _, points in clients)])
    table = pa.table(({CLIENT: keys} if named else {}) | {"a": rows[:, 0], "b": rows[:, 1]})
    ends = sorted({*(cut for cut in cuts if cut < len(rows)), len(rows)})
    return [table.slice(a, b - a).combine_chunks().to_batches()[0] for a, b in zip([0, *ends], ends, strict=False) if b > a]


def found(job, batches):
    (row,) = job(iter(batches))
    return added(job.query, [row.column(0)[0].as_py()])


sizes = st.lists(st.integers(1, 30), min_size=1, max_size=6)
cuts = st.lists(st.integers(1, 150), max_size=12)


@given(sizes=sizes, cuts=cuts, rows=st.integers(1, 60), seed=st.integers(0, 99))
def test_batches_may_end_anywhere(sizes, cuts, rows, seed):
    rng = np.random.default_rng(seed)
    keys = [None, b"", *(bytes([letter]) for letter in b"abcd")]
    clients = [(key, rng.standard_normal((n, 2))) for key, n in zip(keys, sizes, strict=False)]
    arrays = [points for _, points in clients]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_job, "READ_VALUES", 2 * rows)
        assert np.array_equal(found(SumOfClients(BOUNDED, POINTS, None), batches_of(clients, cuts)), ArraySilo(arrays).exact_sum(BOUNDED))
        assert np.array_equal(found(SumOfPoints(MOMENT, POINTS), batches_of(clients, cuts)), ArraySilo(arrays).exact_sum(MOMENT))
    one = found(SumOfOneClient(BOUNDED, POINTS), batches_of(clients, cuts, named=False))
    assert np.array_equal(one, ArraySilo([np.concatenate(arrays)]).exact_sum(BOUNDED))


def test_only_the_taken_clients_are_added_up():
    clients = [(None, np.ones((3, 2))), (b"a", 2 * np.ones((2, 2))), (b"b", 3 * np.ones((1, 2)))]
    for taken in ([b"a"], [None, b"b"], []):
        job = SumOfClients(BOUNDED, POINTS, pa.array(taken, type=pa.binary()))
        chosen = [points for key, points in clients if key in taken]
        expected = ArraySilo(chosen).exact_sum(BOUNDED) if chosen else BOUNDED.nothing()
        assert np.array_equal(found(job, batches_of(clients, [2, 4])), expected)


@pytest.mark.parametrize("job", [SumOfPoints(MOMENT, POINTS), SumOfClients(BOUNDED, POINTS, None), SumOfOneClient(BOUNDED, POINTS)])
def test_a_partition_without_rows_adds_nothing(job):
    assert not found(job, []).any()
    assert not found(job, batches_of([(b"a", np.ones((1, 2)))], [])[0:0]).any()


def test_sums_are_added_up():
    rows = [row for n in (3, 5) for row in SumOfPoints(MOMENT, POINTS)(batches_of([(b"a", np.ones((n, 2)))], []))]
    assert np.array_equal(found(SumOfSums(MOMENT), rows), ArraySilo([np.ones((8, 2))]).exact_sum(MOMENT))


def test_vectors_of_another_length_are_rows_of_missing_cells():
    table = pa.table({"v": pa.array([[1.0, 2.0], None, [3.0], [4.0, None], [5, 6]], type=pa.list_(pa.float64()))})
    points = VectorColumn("v", ("x0", "x1"))(table)
    expected = [[1, 2], [np.nan, np.nan], [np.nan, np.nan], [4, np.nan], [5, 6]]
    assert np.array_equal(points, expected, equal_nan=True)


def test_nulls_are_missing_cells_in_numbers_of_any_kind():
    table = pa.table({"a": pa.array([True, None]), "b": pa.array([1, None], type=pa.int64())})
    assert np.array_equal(POINTS(table), [[1, 1], [np.nan, np.nan]], equal_nan=True)


def test_no_name_is_a_client_of_its_own():
    keys = pa.chunked_array([[b"", None], [None, b"a"]], type=pa.binary())
    assert list(codes(pa.table({CLIENT: keys}))) == [0, 1, 1, 2]
