"""Sparse points: the bits of dense ones, wherever the ball is."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from feddp_kmeans.statistics import arithmetic, sparse_points
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS, RESOLUTION, Ball
from feddp_kmeans.statistics.residual_sums import point_scales
from feddp_kmeans.statistics.sparse_points import SparsePoints, encode_sparse, without_duplicates
from tests.sparse_rows import AWAY, as_stored, balls, rows_about, shifted


def kept_sparse():
    """Rows stay sparse however many are clipped."""
    return patch.object(sparse_points, "_DENSE_SHARE", np.inf)


def encoded_both(ball, dense, stored):
    with kept_sparse():
        found = encode_sparse(ball, stored)
    assert isinstance(found, SparsePoints)
    return ball.encode(dense), found


def exact(values):
    return [[int(x) for x in row] for row in values]


@given(st.data())
@settings(max_examples=150)
def test_rows_are_encoded_to_the_same_bits(data):
    ball = data.draw(balls())
    dense, stored = data.draw(rows_about(ball))
    before = stored.copy()
    expected, found = encoded_both(ball, dense, stored)
    assert np.array_equal(found.dense(), expected)
    assert np.array_equal(arithmetic.dense(encode_sparse(ball, stored)), expected)
    assert all(sum(z * z for z in row) <= RESOLUTION**2 for row in exact(found.dense()))
    assert np.abs(found.bases).max() <= RESOLUTION
    assert np.abs(found.differences.data).max(initial=0) <= 2 * RESOLUTION
    assert (before.data == stored.data).all()
    assert (before.indices == stored.indices).all()


@given(st.data())
@settings(max_examples=150)
def test_every_product_has_the_same_bits(data):
    ball = data.draw(balls())
    dense, stored = data.draw(rows_about(ball))
    expected, found = encoded_both(ball, dense, stored)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, d = dense.shape
    labels, vectors = rng.integers(0, 3, n), np.rint(rng.standard_normal((3, d)) * 2.0**22)
    weights = rng.integers(0, 1 << 30, n).astype(float)
    matrix = np.rint(rng.standard_normal((d, 2)) * 2.0**19)
    squares = arithmetic.squared_norms(expected)
    assert np.array_equal(found.squared_norms(), squares)
    assert np.array_equal(found.products_with(vectors, labels), arithmetic.products_with(expected, vectors, labels))
    assert np.array_equal(found @ matrix, expected @ matrix)
    assert np.array_equal(found.weighted_sums(weights, labels, 3), arithmetic.weighted_sums(expected, weights, labels, 3))
    assert np.array_equal(found.gram(), arithmetic.gram(expected))
    members = rng.permutation(n)
    assert np.array_equal(found[members].dense(), expected[members])
    scales = point_scales(squares, d, data.draw(st.sampled_from([1e-9, 1.0, 1e4, 0.3 * RESOLUTION**2, 1e15])))
    scaled = arithmetic.scaled_points(expected, scales)
    assert np.array_equal(found.scaled(scales).dense(), scaled)
    assert np.array_equal(found.scaled(scales).gram(), arithmetic.gram(scaled))


@pytest.mark.parametrize("where", ["one", "some", "all"])
@pytest.mark.parametrize("away", AWAY)
def test_rows_outside_are_clipped_wherever_the_ball_is(away, where, rng):
    """Rows at 14 to 126 radii once passed for short ones, from 1e5 radii on."""
    ball = Ball(shifted(5, 2.0, away, where), 2.0)
    directions = rng.standard_normal((300, 5))
    directions *= 2.0 * rng.uniform(1.5, 126, (300, 1)) / np.linalg.norm(directions, axis=1, keepdims=True)
    rows = ball.center + directions
    expected, found = encoded_both(ball, rows, sparse.csr_matrix(rows))
    assert np.array_equal(found.dense(), expected)
    norms = np.sqrt(found.squared_norms())
    assert norms.max() <= RESOLUTION
    if away <= 1e12:  # beyond that, rows at this distance round to the center
        assert norms.min() > RESOLUTION - 3


def test_a_base_does_not_cancel_under_a_short_point():
    """A point one step from the center, scaled 2**16 times over an origin at the edge: 2**64 minus 2**64, in float64."""
    ball = Ball(np.array([1.0, 1.0]), 1.0)
    rows = ball.center + np.array([[3.0, 1.0], [1.0, -2.0], [-1.0, 5.0]]) * ball.grid
    expected, found = encoded_both(ball, rows, sparse.csr_matrix(rows))
    scales = point_scales(arithmetic.squared_norms(expected), 2, 1e-9)
    assert scales.min() > 1000
    scaled = arithmetic.scaled_points(expected, scales)
    assert found.scaled(scales).gram().tolist() == [
        [sum(int(a) * int(b) for a, b in zip(x, y, strict=True)) for y in scaled.T] for x in scaled.T
    ]


def test_many_rows_multiply_exactly(monkeypatch):
    monkeypatch.setattr(sparse_points, "_GRAM_ROWS", 7)
    ball = Ball(np.array([0.5, -0.4, 0.1]), 1.0)
    rows = np.repeat(np.eye(3) * 0.5, 9, axis=0)
    expected, found = encoded_both(ball, rows, sparse.csr_matrix(rows))
    assert np.array_equal(found.gram(), expected.T @ expected)


def test_products_of_as_many_rows_as_a_batch_holds_are_exact():
    """The longest bases and differences: what the rows add to a partial sum is 2**54, in odd numbers."""
    n, base, point = EXACT_ROWS, 2.0 * RESOLUTION - 1, 2.0 - 2 * RESOLUTION
    stored = sparse.csr_matrix((np.full(2 * n, point - base), np.tile([0, 1], n), np.arange(0, 2 * n + 1, 2)), shape=(n, 2))
    points = SparsePoints(np.full((1, 2), base), np.zeros(n, dtype=np.int64), stored)
    assert points.gram().tolist() == [[n * int(point) ** 2] * 2] * 2


def test_where_many_rows_are_clipped_they_become_an_array(rng, monkeypatch):
    monkeypatch.setattr(sparse_points, "_DENSE_VALUES", 40)
    ball = Ball(np.ones(4), 0.5)
    rows = rng.standard_normal((50, 4)) * (rng.random((50, 4)) < 0.3)
    found = encode_sparse(ball, sparse.csr_matrix(rows))
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, ball.encode(rows))
    assert isinstance(encode_sparse(Ball(np.zeros(4), 0.5), sparse.csr_matrix(rows)), SparsePoints)
    assert isinstance(encode_sparse(Ball(np.ones(4), 50.0), sparse.csr_matrix(rows)), SparsePoints)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, bool])
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_any_kind_of_number_and_matrix_is_encoded(kind, make, rng):
    rows = (rng.standard_normal((20, 6)) * 3 * (rng.random((20, 6)) < 0.4)).astype(kind)
    ball = Ball(np.linspace(-1, 1, 6), 2.5)
    assert np.array_equal(arithmetic.dense(encode_sparse(ball, make(rows).tocsr())), ball.encode(rows))


def test_no_rows_are_no_rows():
    assert encode_sparse(Ball(np.full(3, 1e9), 1.0), sparse.csr_matrix((0, 3))).shape == (0, 3)


def test_a_million_coordinates_are_encoded_exactly():
    """The base is just within R in every coordinate: sums of squares come close to 2**53."""
    d = 1 << 20
    ball = Ball(np.full(d - 9, 1.0 - 2.0**-20), 1.0)
    near = sparse.csr_matrix(np.full((1, d - 9), 1.0))
    away = sparse.csr_matrix(([1.0], [3], [0, 1]), shape=(1, d - 9))
    for rows in (near, away):
        expected, found = encoded_both(ball, rows.toarray(), rows)
        assert np.array_equal(found.dense(), expected)
        assert int(found.squared_norms()[0]) == sum(int(z) ** 2 for z in expected[0])


@given(st.integers(0, 2**32 - 1), st.sampled_from(["canonical", "explicit zeros", "unsorted", "duplicates"]))
def test_numbers_of_one_place_are_added_as_toarray_adds_them(seed, form):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((6, 5)) * rng.choice([1e-17, 1.0, 1e16], (6, 5)) * (rng.random((6, 5)) < 0.6)
    dense, stored = as_stored(rows, form, rng)
    found = without_duplicates(stored)
    assert np.array_equal(found.toarray(), dense)
    assert found.has_canonical_format
