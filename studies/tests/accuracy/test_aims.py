"""How runs are judged: each judge on runs made by hand, on both sides of its aim."""

import numpy as np
import pytest

from feddp_studies.accuracy.aims import PE_BOARD, ROWS
from feddp_studies.accuracy.checked_fit import CheckedFit


def run(epsilon=1.0, **values):
    """Return a run that is right in everything except for the values given."""
    plain = {"dimension": 2, "n_points": 100, "k": 10, "found_k": 10, "cost": 1.0, "optimal": 1.0, "server_only": 1.5, "one_center": 9.0}
    plain |= {"one_noisy_center": 9.5, "floor": 0.01, "lost": 0.0, "size_errors": np.zeros(10), "total_error": 0.0}
    plain |= {"mean_errors": np.zeros((10, 2)), "inertia_error": 0.0, "seconds": 1.0}
    return CheckedFit(epsilon=epsilon, **plain | values)


@pytest.mark.parametrize(
    ("row", "name", "good", "bad"),
    [
        ("sizes", "gas", {"size_errors": np.array([2.0] * 9 + [2.1])}, {"size_errors": np.array([2.0] * 8 + [2.1] * 2)}),
        ("means", "gas", {"mean_errors": np.array([-2.0] * 9 + [9])}, {"mean_errors": np.array([-2.1] * 2 + [0] * 8)}),
        ("inertia", "gas", {"inertia_error": -1.9}, {"inertia_error": -2.1}),
        ("blobs64", "blobs-64-64", {"cost": 1.05}, {"cost": 1.06}),
        ("lost", "blobs-4-4", {}, {"lost": 1.0}),
        ("curve", "curve", {"cost": 1.5}, {"cost": 1.51}),
        ("tables", "table-federal-2018", {"cost": 1.0049}, {"cost": 1.0051}),
        ("tables", "table-federal-2018", {"cost": 1.001, "server_only": 1.0011}, {"cost": 1.002, "server_only": 1.001}),
        ("auto", "auto-mixture-15", {"k": 15, "found_k": 16}, {"k": 15, "found_k": 17}),
        ("auto", "auto-mixture-10", {}, {"found_k": 11}),
        ("floor", "mixture", {"cost": 1.0119}, {"cost": 1.0121}),
        ("floor", "mixture", {"cost": 1.01}, {"cost": 1.01, "lost": 1.0}),
        ("sensors", "sensors", {"cost": 1.029}, {"cost": 1.031}),
        ("central", "digits", {"cost": 4.25}, {"cost": 4.28}),
    ],
)
def test_a_run_on_each_side_of_the_aim(row, name, good, bad):
    assert ROWS[row].judge(name, [run(**good)]).reached is True
    assert ROWS[row].judge(name, [run(**bad)]).reached is False


def test_a_run_that_states_no_error_is_not_judged():
    verdict = ROWS["inertia"].judge("gas", [run(inertia_error=np.nan)])
    assert (verdict.reached, verdict.aim, verdict.cells) == (None, "90 %", {"cost within 2 sd": "-"})


def test_the_board_s_score_is_the_area_under_the_cost():
    runs = [run(epsilon, cost=0.08, optimal=0.02) for epsilon in (0.25, 0.5, 1, 2, 4)]
    verdict = ROWS["board"].judge("board-64-64", runs)
    assert verdict.cells["area"] == "0.30000"
    assert verdict.cells["optimal"] == "0.07500"
    assert (PE_BOARD["board-64-64"], verdict.reached) == ((0.0823, 0.3070), True)


def test_a_cost_that_rises_with_epsilon_is_seen():
    falling = [run(epsilon, cost=cost) for epsilon, cost in ((0.25, 3.0), (1, 2.0), (4, 1.0))]
    assert ROWS["curve"].overall("curve", falling).reached is True
    assert ROWS["curve"].overall("curve", [*falling, run(8, cost=1.1)]).cells["times optimal"] == "rises at 8"


def test_digits_must_be_below_one_noisy_center_and_below_the_best_rival_in_every_run():
    judge = ROWS["digits"].judge
    good, rival, center = (run(0.1, cost=cost, one_noisy_center=5.0) for cost in (4.9, 5.97, 5.01))
    assert judge("digits", [good, good]).reached is True
    assert judge("digits", [good, center]).reached is False
    assert judge("digits", [good, rival]).cells["above the best rival"] == "1 (> 5.96)"
