"""Scales of numbers ascend, and come back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.tables.number_scales import linear_scale, log_scale, quantile_scale, usual_unit

ENDS = st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=6, unique=True).map(lambda values: [float(x) for x in sorted(values)])


@given(ENDS, st.floats(0, 1), st.floats(0, 0.3))
def test_every_scale_ascends_and_comes_back(knots, place, step):
    low, high = knots[0], knots[-1]
    for scale in (linear_scale(low, high), log_scale(low, high, usual_unit(low, high)), quantile_scale(knots)):
        value = scale.value(place)
        assert low <= value <= high
        assert scale.places(np.array([value])).item() == pytest.approx(place, abs=1e-5)
        assert scale.value(place + step) >= value
        assert 0 <= scale.error(place, step) < math.inf
        assert scale.places(np.array([low, high])).tolist() == [0, 1]


def test_the_usual_unit_is_near_zero_and_not_in_it():
    assert usual_unit(0, 1e6) == usual_unit(-1e6, 0) == usual_unit(-10, 1e6) == 1000
    assert usual_unit(1e-9, 1) == usual_unit(-1, -1e-9) == 1e-9
    assert usual_unit(20_000, 1e6) == 1000
