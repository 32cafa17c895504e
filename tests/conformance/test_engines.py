"""Compiled kernels and numpy give the same bits, statistic by statistic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import Ball
from tests.statistics.cases import ALL_CASES, names
from tests.statistics.engines import both, needs_kernels
from tests.strategies import batches

pytestmark = needs_kernels


def fresh(batch):
    """The same batch, which remembers nothing that another engine has computed."""
    return ClientBatch(batch.points, batch.starts, batch.with_gaps)


@pytest.mark.parametrize("case", ALL_CASES, ids=names(ALL_CASES))
@settings(max_examples=15)
@given(batch=batches(4))
def test_every_statistic_has_the_same_bits(case, batch):
    statistic, public, *_ = case
    expected, *found = both(lambda: statistic(fresh(batch), **public))
    assert all(np.array_equal(one, expected) for one in found)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from([np.float32, np.float64, np.int64]))
def test_points_are_encoded_alike(seed, dimension, dtype):
    rng = np.random.default_rng(seed)
    ball = Ball(rng.standard_normal(dimension), 10.0 ** rng.integers(-3, 4))
    points = (rng.standard_normal((30, dimension)) * 10.0 ** rng.integers(-5, 6, (30, 1))).astype(dtype)
    points[::3] = points[::3][:, ::-1]
    for given_points in (points, np.asfortranarray(points), points[::2]):
        expected, *found = both(lambda given_points=given_points: ball.encode(given_points))
        assert all(np.array_equal(one, expected) for one in found)
        assert np.square(expected).sum(axis=1).max(initial=0) <= 2.0**32


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([1, 2, 3, 17, 130, 1020]))
def test_the_nearest_center_is_the_same_and_the_first_of_several(seed, dimension, k):
    from feddp_kmeans.statistics.arithmetic import assign

    rng = np.random.default_rng(seed)
    spread = rng.choice([2, 50, 2**16])
    points = rng.integers(-spread, spread + 1, (300, dimension)).astype(np.float64)
    centers = rng.integers(-spread, spread + 1, (k, dimension)).astype(np.float64)
    exact = np.array([[sum(int(a - b) ** 2 for a, b in zip(p, c, strict=True)) for c in centers] for p in points[:20]], dtype=object)
    expected, *found = both(lambda: assign(points, centers))
    assert np.array_equal(expected[:20], [int(np.argmin(row)) for row in exact])
    assert all(np.array_equal(labels, expected) for labels in found)
