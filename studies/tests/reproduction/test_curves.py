"""Fronts and tables from rows."""

import pytest

from feddp_studies.reproduction.curves import at, best_points, pareto_points, points_of, share_table, step_table
from studies.tests.reproduction.rows import row

RULE, OTHER = (0.2, 0.2, 0.45, 0.15), (0.4, 0.2, 0.3, 0.1)
ROWS = [
    row("paper", 0.5, 14.0, seed=0, shares=RULE),
    row("paper", 0.5, 12.0, seed=1, shares=RULE),
    row("paper", 0.5, 11.0, seed=0, shares=OTHER, steps=1),
    row("paper", 0.5, 11.0, seed=1, shares=OTHER, steps=1),
    row("paper", 1.0, 11.5, shares=RULE),
    row("paper", 2.0, 10.5, shares=RULE),
    row("refined", 1.0, 10.1),
]


def test_the_best_setting_at_each_budget_is_chosen_by_its_mean():
    half, one, two = best_points(ROWS, "paper")
    assert (half.epsilon, half.mean, half.shares, half.lloyd_steps) == (0.5, 11.0, OTHER, 1)
    assert half.excess == pytest.approx(10.0)
    assert (one.mean, two.mean) == (11.5, 10.5)


def test_the_front_leaves_out_what_a_smaller_budget_beats():
    assert [p.epsilon for p in pareto_points(ROWS, "paper")] == [0.5, 2.0]


def test_the_tables_are_read_off_the_front():
    assert share_table(ROWS) == pytest.approx((0.3, 0.2, 0.38, 0.12), abs=0.006)
    assert step_table(ROWS) == {0: 0.5, 1: 0.5}
    assert share_table([row("refined", 1.0, 2.0)]) is None
    assert step_table([], "paper") == {}


def test_a_budget_that_was_not_run_has_no_point():
    assert at(ROWS, "paper", 3.0) is None
    assert at(ROWS, "refined", 1.0).mean == 10.1


def test_other_bounds_are_settings_of_their_own_and_samples_of_clients_are_left_out():
    rows = [row("paper", 1.0, 11.0), row("paper", 1.0, 10.5, bounds=2.0), row("paper", 1.0, 9.0, sampling_rate=0.5)]
    assert [(p.bounds, p.mean) for p in points_of(rows, "paper")] == [(1.0, 11.0), (2.0, 10.5)]
    assert best_points(rows, "paper")[0].bounds == 2.0


def test_a_method_without_noise_has_one_cost_at_every_budget():
    assert at([row("k-fed", float("inf"), 11.0)], "k-fed", 0.3).mean == 11.0


def test_a_comparison_goes_by_the_seeds_that_both_have():
    ours = points_of([row("refined", 1.0, cost, seed=seed) for seed, cost in enumerate((10.0, 20.0, 30.0))], "refined")[0]
    near = points_of([row("paper", 1.0, cost, seed=seed) for seed, cost in enumerate((10.5, 20.6, 30.4, 1.0))], "paper")[0]
    assert (ours.compared(near), near.compared(ours), ours.compared(ours)) == (-1, 1, 0)
    assert ours.share_above(near) == pytest.approx(2 / 3)
    assert ours.worst == pytest.approx(200.0)
