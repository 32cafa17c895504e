"""How many rows a device sums up at once. Needs no torch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.silos.gpu.chunks import LARGEST_ADDED, chunk_rows
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import MAX_DIMENSION, RESOLUTION
from feddp_kmeans.statistics.residual_sums import MOMENT_STEPS, point_scales
from tests.statistics.cases import DIMENSION, POINT_CASES, names
from tests.strategies import one_client, points

CASES = [case for case in POINT_CASES if case[0].name in LARGEST_ADDED]


def test_every_name_is_in_the_registry():
    assert set(LARGEST_ADDED) <= set(REGISTRY)
    assert {case[0].name for case in CASES} == set(LARGEST_ADDED)


@pytest.mark.parametrize("name", sorted(LARGEST_ADDED))
@pytest.mark.parametrize("dimension", [1, 2, 3, 16, 100, 819, 20_000, MAX_DIMENSION])
def test_sums_of_a_chunk_stay_exact_and_fit_memory(name, dimension):
    rows = chunk_rows(name, dimension)
    assert rows >= 1
    assert rows * LARGEST_ADDED[name] <= 2.0**53
    assert rows * dimension <= 1 << 26


def test_squares_bound_the_chunk_where_coordinates_are_few():
    assert chunk_rows("outer-product", 1) == 2**53 // RESOLUTION**2
    assert chunk_rows("point-second-moment", 1) == 2**53 // (8 * MOMENT_STEPS)
    assert chunk_rows("cluster-sums", 1) == 1 << 26


@pytest.mark.parametrize(("statistic", "public"), [case[:2] for case in CASES], ids=names(CASES))
@given(rows=points(min_rows=1, max_rows=1, dimension=DIMENSION))
def test_one_row_adds_no_more_than_is_stated(statistic, public, rows):
    assert np.abs(statistic(one_client(rows), **public)).max() <= LARGEST_ADDED[statistic.name]


@given(st.integers(0, RESOLUTION**2), st.integers(1, 300), st.sampled_from([1e-9, 1.0, 1e6, 1e12]))
def test_scaled_rows_of_a_second_moment_are_no_longer_than_is_stated(square, dimension, bound):
    (scale,) = point_scales(np.array([float(square)]), dimension, bound)
    rounded = (scale * square**0.5 + dimension**0.5 / 2) ** 2  # a row of this length, rounded
    assert 2 * rounded <= LARGEST_ADDED["point-second-moment"]
