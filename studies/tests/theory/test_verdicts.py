"""Each verdict comes out where it should."""

import numpy as np
import pytest

from feddp_studies.theory.verdicts import Needed, Stated, growth, spread, verdict

PLACES = (10.0, 100.0, 1000.0)
WOBBLE = np.exp(np.random.default_rng(0).normal(scale=0.05, size=(3, 10)))


def sweep(constant, power, *, met=True):
    return [Needed(place, constant * (place / 1000) ** power * wobble, met) for place, wobble in zip(PLACES, WOBBLE, strict=True)]


def test_the_power_of_a_planted_growth_is_found_within_its_error():
    found = growth(PLACES, [some.constants for some in sweep(3.0, 0.5)])
    assert abs(found.power - 0.5) < 3 * found.error
    assert found.error < 0.02
    assert not growth([5.0], [np.ones(4)]).certain


@pytest.mark.parametrize(
    ("constant", "power", "stated", "begins"),
    [
        (0.5, 0.0, Stated.UP_TO_A_CONSTANT, "holds"),
        (0.5, -1.0, Stated.UP_TO_A_CONSTANT, "holds with constant 5"),
        (3.0, 0.0, Stated.UP_TO_A_CONSTANT, "holds with constant 3."),
        (3.0, 0.0, Stated.IN_NUMBERS, "does not hold at d = "),
        (0.5, 0.5, Stated.UP_TO_A_CONSTANT, "holds in this range, but the constant that it needs grows like d to the power 0."),
        (3.0, 0.5, Stated.UP_TO_A_CONSTANT, "does not hold with one constant: the constant that it needs grows like d to the power 0."),
        (3.0, 0.5, Stated.IN_NUMBERS, "does not hold at d = 1000: 3."),
    ],
)
def test_a_bound_holds_or_does_not(constant, power, stated, begins):
    assert verdict("d", sweep(constant, power), stated).startswith(begins)


def test_only_places_whose_conditions_are_met_are_judged():
    assert verdict("n", sweep(3.0, 0.5, met=False), out_of_reach="n would have to be 9") == (
        "cannot be told: the condition is out of reach, n would have to be 9"
    )
    assert verdict("n", [*sweep(0.5, 0.0), Needed(1.0, np.array([99.0]), condition=False)]) == "holds"


def test_a_constant_that_settles_is_not_growing():
    settled = [Needed(place, constant * wobble) for place, constant, wobble in zip(PLACES, (0.1, 3.0, 3.0), WOBBLE, strict=True)]
    assert verdict("T", settled).startswith("holds with constant 3.")


def test_the_spread_is_median_and_range():
    assert spread(np.array([1.0, 2.0, 4.0])) == "2 (1 to 4)"
