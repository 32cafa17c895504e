"""What the theorems state, by hand."""

import math
from functools import partial

import numpy as np
import pytest

from feddp_studies.theory.assumptions import MixtureFacts
from feddp_studies.theory.stated_bounds import (
    corollary_samples,
    corollary_steps,
    least_samples,
    practice_error,
    practice_samples,
    recovery_steps,
    theory_error,
    theory_samples,
)

FACTS = MixtureFacts(10_000, 0.1, 2.0)
LOG = math.log(10_000)


def test_the_practical_theorem_by_hand():
    assert practice_samples(3, 9, 0.5, FACTS) == pytest.approx(3 * LOG**3 * 3 * 2 / (0.25 * 0.01))
    sizes = np.array([1000, 9000])
    noise = 4 * 7.0 * LOG / (0.5 * 10_000 * 0.1)
    expected = [math.sqrt(10_000 * 4 / size) / 16 + noise for size in sizes]
    np.testing.assert_allclose(practice_error(4, 7.0, 0.5, sizes, FACTS), expected)
    assert recovery_steps(10_000) == 10


def test_the_theorem_of_the_appendix_by_hand():
    assert theory_samples(3, 5, 2, 0.5, 1e-6, FACTS) == pytest.approx(30 * LOG**2 * math.sqrt(math.log(1e6)) / (0.05**2))
    assert theory_samples(3, 5, 2, 0.5, 1e-6, FACTS) == pytest.approx(4 * theory_samples(3, 5, 2, 1.0, 1e-6, FACTS))
    noise = 30 * LOG**2 * 2 * math.sqrt(math.log(2e6)) / (10_000 * 0.05**2)
    assert theory_error(3, 5, 2, 0.5, 1e-6, FACTS) == pytest.approx(noise)
    assert theory_error(3, 5, 2, 1e6, 1e-6, FACTS) == 0.25


def test_the_corollary_asks_for_the_larger_of_two_sample_sizes():
    assert corollary_samples(3, 9, 0.5, FACTS) == pytest.approx(LOG**6 * 3 * 81 / (0.0625 * 0.01))
    assert corollary_samples(3, 9, 1e3, FACTS) == practice_samples(3, 9, 1e3, FACTS)
    assert corollary_steps(3, FACTS) == math.ceil(math.log2(10 * 10_000 * 0.1 / 6))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1e6])
def test_the_least_n_is_the_first_that_is_enough(epsilon):
    needed = partial(practice_samples, 4, 10, epsilon)
    n = least_samples(needed, FACTS)
    assert n >= needed(MixtureFacts(n, 0.1, 2.0))
    assert n == math.ceil(math.exp(6)) or n - 1 < needed(MixtureFacts(n - 1, 0.1, 2.0))
