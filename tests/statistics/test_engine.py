"""The engine: compiled kernels where there are any, and the same bits from both."""

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.statistics import kernels
from feddp_kmeans.statistics.engine import Engine, available, compiled, using
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from tests.statistics.engines import both, needs_kernels
from tests.strategies import points

TYPES = [np.float64, np.float32, np.int64]


def as_type(rows, dtype):
    limit = {np.float32: 1e38, np.int64: 1e17}.get(dtype, np.inf)
    return np.clip(rows, -limit, limit).astype(dtype)


@given(points(), st.sampled_from(TYPES), st.sampled_from([1e-140, 1e-3, 1.0, 11.0, 1e200]), st.sampled_from([0.0, -3.7, 1e307]))
def test_both_engines_encode_to_the_same_bits(rows, dtype, radius, shift):
    ball = Ball(np.full(rows.shape[1], shift), radius)
    table = as_type(rows, dtype)
    plain, *compiled_ones = both(lambda: ball.encode(table))
    assert all(fast.dtype == plain.dtype == np.float64 and np.array_equal(plain, fast) for fast in compiled_ones)


@pytest.mark.parametrize("dimension", [1, 2, 7, 8, 100, 819])
@pytest.mark.parametrize("radius", [0.5, 0.99, 1.0, 1.01, 3.0])
def test_both_engines_agree_on_rows_at_the_edge_of_the_ball(dimension, radius, rng):
    rows = rng.standard_normal((60, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    plain, *compiled_ones = both(lambda: Ball(np.zeros(dimension), radius).encode(rows))
    assert all(np.array_equal(plain, fast) for fast in compiled_ones)
    assert max(sum(int(x) ** 2 for x in row) for row in plain) <= RESOLUTION**2


def test_both_engines_take_tables_in_any_layout(rng):
    rows = rng.standard_normal((30, 8))
    ball = Ball(np.zeros(8), 2.0)
    expected = ball.encode(rows)
    for table in (np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2], np.repeat(rows, 3, axis=0)[::3]):
        assert all(np.array_equal(expected, encoded) for encoded in both(lambda table=table: ball.encode(table)))


def test_shortened_rows_do_not_depend_on_the_order_of_coordinates(rng):
    rows = 50 * rng.standard_normal((40, 33))
    order = rng.permutation(33)
    ball = Ball(np.zeros(33), 3.0)
    assert np.array_equal(ball.encode(rows)[:, order], ball.encode(rows[:, order]))


@needs_kernels
def test_the_package_is_built_with_kernels_where_there_is_a_compiler():
    assert available()
    assert kernels.levels()[-1] == 1


@needs_kernels
def test_compiled_kernels_are_used_unless_numpy_is_asked_for():
    assert compiled()
    with using(Engine.NUMPY):
        assert not compiled()
        with using(Engine.COMPILED):
            assert compiled()
        assert not compiled()


def test_an_engine_in_use_is_put_back_after_an_error():
    with pytest.raises(ZeroDivisionError), using(Engine.NUMPY):
        _ = 1 / 0
    assert compiled() == available()


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Kernels that are looked for in another folder."""
    shutil.copytree(kernels.FOLDER, tmp_path / "compiled")
    monkeypatch.setattr(kernels, "FOLDER", tmp_path / "compiled")
    kernels.library.cache_clear()
    yield tmp_path / "compiled"
    kernels.library.cache_clear()


def test_without_a_library_numpy_does_it_all(elsewhere, rng):
    (elsewhere / "kernels.so").unlink(missing_ok=True)
    assert not available()
    assert kernels.levels() == ()
    assert not compiled()
    assert Ball(np.zeros(3), 9.0).encode(rng.standard_normal((5, 3))).shape == (5, 3)


@needs_kernels
def test_a_library_built_from_other_sources_is_not_used(elsewhere):
    assert available()
    kernels.library.cache_clear()
    with (elsewhere / "encoding.h").open("a") as source:
        source.write("/* changed */")
    assert not available()


def test_a_file_that_is_no_library_is_not_used(elsewhere):
    (elsewhere / "kernels.so").write_bytes(b"not a library")
    assert not available()


@needs_kernels
def test_kernels_refuse_what_would_be_read_beyond_its_end():
    rows, labels = np.zeros((4, 3)), np.zeros(4, dtype=np.int64)
    ball = Ball(np.zeros(3), 1.0).for_kernels
    wrong = [
        lambda: kernels.encode(rows[:, :2], ball),
        lambda: kernels.column_shares(rows, np.array([0, 5]), np.array([0]), np.zeros((1, 2)), 1),
        lambda: kernels.column_shares(rows, np.array([0, 4]), np.array([3]), np.zeros((1, 2)), 1),
        lambda: kernels.column_shares(rows, np.array([0, 4]), np.array([0, 1]), np.zeros((1, 2)), 1),
        lambda: kernels.column_shares(rows, np.array([0, 4]), np.array([0]), np.zeros((1, 0)), 1),
        lambda: kernels.nearest(rows, np.zeros((2, 4)), 0.0),
        lambda: kernels.nearest_sums(rows, ball, np.zeros((2, 2)), 0.0),
        lambda: kernels.residual_sums(rows, ball, np.zeros((2, 2)), 0.0, (1.0,) * 4),
        lambda: kernels.residual_sums(rows[:, :2], ball, np.zeros((2, 2)), 0.0, (1.0,) * 4),
        lambda: kernels.weighted_sums(rows, np.ones(4), labels + 2, 2),
        lambda: kernels.weighted_sums(rows, np.ones(4), labels - 1, 2),
        lambda: kernels.weighted_sums(rows, np.ones(3), labels, 2),
        lambda: kernels.weighted_sums(rows, np.ones(4), labels[:3], 2),
        lambda: kernels.weighted_sums(rows, np.ones(4), labels.astype(np.float64), 2),
        lambda: kernels.products_with(rows, np.zeros((1, 3)), labels + 1),
        lambda: kernels.products_with(rows, np.zeros((1, 2)), labels),
        lambda: kernels.finite_copy(rows, np.array([0, 5])),
        lambda: kernels.finite_copy(rows, np.array([0, 3])),
        lambda: kernels.finite_copy(rows, np.array([0, 5, 4])),
        lambda: kernels.finite_copy(rows, np.array([1, 4])),
    ]
    for call in wrong:
        with pytest.raises(ValueError, match="a compiled kernel needs"):
            call()
