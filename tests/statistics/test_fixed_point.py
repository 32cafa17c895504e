"""Points as integers: bounds that hold exactly, and rows that do not see one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.statistics.fixed_point import LEAST_RADIUS, RESOLUTION, Ball, row_norms
from tests.strategies import points


def exact_squared_norm(row):
    return sum(int(x) ** 2 for x in row)


@given(points(), st.sampled_from([1e-3, 1.0, 11.0, 1e200]), st.floats(-5, 5))
def test_encoded_norms_never_exceed_the_resolution(rows, radius, shift):
    ball = Ball(np.full(rows.shape[1], shift), radius)
    encoded = ball.encode(rows)
    assert np.array_equal(encoded, np.rint(encoded))
    assert all(exact_squared_norm(row) <= RESOLUTION**2 for row in encoded)


@pytest.mark.parametrize("dimension", [1, 7, 100, 819, 4096])
def test_points_on_the_sphere_stay_within_the_bound(dimension, rng):
    rows = rng.standard_normal((200, dimension))
    rows *= 11.0 / np.linalg.norm(rows, axis=1, keepdims=True)
    encoded = Ball(np.zeros(dimension), 11.0).encode(rows)
    norms = [exact_squared_norm(row) for row in encoded]
    assert max(norms) <= RESOLUTION**2
    assert min(norms) >= (RESOLUTION - np.sqrt(dimension)) ** 2


def test_the_bound_is_reached():
    encoded = Ball(np.zeros(3), 11.0).encode(np.array([[11.0, 0, 0], [0, -1e300, 0]]))
    assert [exact_squared_norm(row) for row in encoded] == [RESOLUTION**2, RESOLUTION**2]


@given(points(min_rows=1), st.integers(0, 11))
def test_a_row_is_encoded_by_itself_to_the_last_bit(rows, index):
    ball = Ball(np.linspace(-1, 1, rows.shape[1]), 2.5)
    row = index % len(rows)
    together = ball.encode(rows)[row]
    assert np.array_equal(together, ball.encode(rows[row : row + 1])[0])
    shifted = np.vstack([rows[:1], rows])[1 + row :][:1]
    assert np.array_equal(together, ball.encode(shifted)[0])


def test_long_rows_are_encoded_by_themselves_in_any_layout(rng):
    rows = rng.standard_normal((57, 131)) * 3
    ball = Ball(np.zeros(131), 20.0)
    together = ball.encode(rows)
    alone = np.vstack([ball.encode(rows[i : i + 1]) for i in range(len(rows))])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, ball.encode(np.asfortranarray(rows)))
    assert np.array_equal(together[1:], ball.encode(rows[1:]))


def test_decoding_undoes_encoding_to_half_a_step(rng):
    ball = Ball(rng.standard_normal(5), 8.0)
    rows = ball.center + rng.uniform(-1, 1, (50, 5))
    assert np.abs(ball.decode(ball.encode(rows)) - rows).max() <= 0.51 * ball.grid


@given(points())
def test_clipping_returns_a_copy_and_bounds_every_row(rows):
    before = rows.copy()
    clipped = Ball(np.zeros(rows.shape[1]), 2.0).clip(rows)
    assert np.array_equal(rows, before)
    assert not np.shares_memory(rows, clipped)
    assert (row_norms(clipped) <= 2.0 * (1 + 1e-12)).all()


def test_clipping_keeps_short_rows_and_the_direction_of_long_ones():
    clipped = Ball(np.ones(2), 1.0).clip(np.array([[1.3, 1.4], [31.0, 41.0], [1.0, 1.0]]))
    assert clipped == pytest.approx(np.array([[1.3, 1.4], [1.6, 1.8], [1.0, 1.0]]))


@pytest.mark.parametrize("length", [1e149, 1e200, 1e308])
def test_points_as_far_as_numbers_go_are_moved_to_the_edge(length):
    ball = Ball(np.zeros(2), 2.0)
    rows = length * np.array([[1.0, 0.0], [-1.0, 1.0]])
    for moved in (ball.clip(rows), ball.decode(ball.encode(rows))):
        assert moved == pytest.approx(np.array([[2.0, 0.0], [-(2.0**0.5), 2.0**0.5]]), abs=2 * ball.grid)


@pytest.mark.parametrize("radius", [0.0, -1.0, 0.99 * LEAST_RADIUS, float("nan"), float("inf")])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(FedDPError, match="radius must be positive and finite"):
        Ball(np.zeros(2), radius)
