"""The engine: numpy until numba is worth its start, and the same bits from both."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.statistics.engine import Engine, compiled, engine_for, using
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from tests.statistics.engines import both
from tests.strategies import points

TYPES = [np.float64, np.float32, np.int64]


def as_type(rows, dtype):
    limit = {np.float32: 1e38, np.int64: 1e17}.get(dtype, np.inf)
    return np.clip(rows, -limit, limit).astype(dtype)


@given(points(), st.sampled_from(TYPES), st.sampled_from([1e-140, 1e-3, 1.0, 11.0, 1e200]), st.sampled_from([0.0, -3.7, 1e307]))
def test_both_engines_encode_to_the_same_bits(rows, dtype, radius, shift):
    ball = Ball(np.full(rows.shape[1], shift), radius)
    table = as_type(rows, dtype)
    plain, fast = both(lambda: ball.encode(table))
    assert plain.dtype == fast.dtype == np.float64
    assert np.array_equal(plain, fast)


@pytest.mark.parametrize("dimension", [1, 2, 7, 8, 100, 819])
@pytest.mark.parametrize("radius", [0.5, 0.99, 1.0, 1.01, 3.0])
def test_both_engines_agree_on_rows_at_the_edge_of_the_ball(dimension, radius, rng):
    rows = rng.standard_normal((60, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    plain, fast = both(lambda: Ball(np.zeros(dimension), radius).encode(rows))
    assert np.array_equal(plain, fast)
    assert max(sum(int(x) ** 2 for x in row) for row in fast) <= RESOLUTION**2


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


def test_few_numbers_are_left_to_numpy_and_many_are_not():
    pytest.importorskip("numba")
    assert engine_for(1000) is Engine.NUMPY
    assert engine_for(1 << 30) is Engine.NUMBA
    assert engine_for(1000) is Engine.NUMPY  # what was large before does not matter
    assert not compiled()


def test_without_numba_numpy_does_it_all(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert engine_for(1 << 30) is Engine.NUMPY


def test_an_engine_in_use_stays_in_use():
    with using(Engine.NUMBA):
        assert compiled()
        assert engine_for(1) is Engine.NUMBA
        with using(Engine.NUMPY):
            assert engine_for(1 << 30) is Engine.NUMPY
        assert compiled()
    assert not compiled()


def test_an_engine_in_use_is_put_back_after_an_error():
    with pytest.raises(ZeroDivisionError), using(Engine.NUMBA):
        _ = 1 / 0
    assert not compiled()


def test_a_small_run_does_not_import_numba():
    code = (
        "import sys, numpy as np; from feddp_kmeans.statistics.fixed_point import Ball; "
        "Ball(np.zeros(3), 1.0).encode(np.ones((9, 3))); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
