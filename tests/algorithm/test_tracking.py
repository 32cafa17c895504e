"""Looks in full space: how the pool is shared among them, and the move that all centers have in common."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.looks import Sums
from feddp_kmeans.algorithm.tracking import _common_move, _first_part


@pytest.mark.parametrize(("left", "steps", "growth"), [(3000, 9, 1.6), (9, 9, 1.6), (32, 9, 1.25), (5, 1, 1.6)])
def test_looks_take_ever_more_of_the_pool_and_all_of_it(left, steps, growth):
    taken = []
    for step in range(steps, 0, -1):
        taken.append(_first_part(left - sum(taken), step, growth))
    assert sum(taken) == left
    assert min(taken) >= 1
    assert taken == sorted(taken)
    if left == 3000:
        assert taken[-1] / taken[-2] == pytest.approx(growth, rel=0.01)


def look(residuals, noise=1.0):
    counts = np.full(len(residuals), 100.0)
    return Sums(np.asarray(residuals, dtype=np.float64), counts, noise, noise, 1.0)


def test_all_centers_move_together_as_far_as_the_mean_was_known_to_be_off():
    sums = look(np.full((4, 3), 200.0), noise=1e-6)
    move, variance = _common_move(sums, 400.0, 4.0)
    assert move == pytest.approx([2.0, 2.0, 2.0])
    assert variance == pytest.approx(0.0, abs=1e-9)
    move, variance = _common_move(look(np.full((4, 3), 200.0), noise=1e9), 400.0, 4.0)
    assert move == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)
    assert variance == pytest.approx(4.0)


def test_where_nothing_is_known_of_the_mean_each_center_moves_by_itself():
    move, variance = _common_move(look(np.full((4, 3), 200.0)), 400.0, 0.0)
    assert not move.any()
    assert variance == 0
