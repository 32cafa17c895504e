"""What a guarantee means: against closed forms, against the best attack on real mechanisms, and on ledgers of every kind."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from feddp_kmeans.privacy.accounting import gaussian_delta, gaussian_mu
from feddp_kmeans.privacy.meaning import ShareKind, attack_accuracy, attack_advantage, budget_shares, ledger_accuracy
from feddp_kmeans.privacy.mechanism import Mechanism, Release

EPSILONS = st.floats(0, 50)
DELTAS = st.floats(0, 0.5)


def row(mechanism, multiplier, times=1):
    return Release("r", mechanism, 2.0, 2.0, multiplier, values=3, times=times).to_dict()


def gaussian(multiplier, times=1):
    return row(Mechanism.GAUSSIAN, multiplier, times)


def laplace(multiplier, times=1):
    return row(Mechanism.LAPLACE, multiplier, times)


@given(EPSILONS, DELTAS)
def test_the_formulas_are_those_that_are_stated(epsilon, delta):
    power = math.exp(epsilon)
    assert attack_advantage(epsilon, delta) == pytest.approx((power - 1 + 2 * delta) / (power + 1))
    assert attack_accuracy(epsilon, delta) == pytest.approx((power + delta) / (1 + power))


@given(EPSILONS, st.floats(0, 0.2))
def test_randomized_response_reaches_the_bound(epsilon, delta):
    # Tell the truth outright with chance delta, else answer right with chance e^eps / (1 + e^eps).
    right = delta + (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    assert right == pytest.approx(attack_accuracy(epsilon, delta))


@given(EPSILONS, DELTAS, st.floats(0, 1), st.floats(0, 1))
def test_no_attack_that_the_guarantee_allows_does_better(epsilon, delta, hits, alarms):
    power = math.exp(epsilon)
    if hits <= power * alarms + delta and 1 - alarms <= power * (1 - hits) + delta:
        assert hits - alarms <= attack_advantage(epsilon, delta) + 1e-9


def test_no_budget_means_no_advantage_and_a_large_one_all_of_it():
    assert attack_accuracy(0.0, 0.0) == 0.5
    for epsilon in (1e4, math.inf):
        assert attack_accuracy(epsilon, 1e-6) == 1.0
    assert attack_advantage(0.0, 1.0) == 1.0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_noise_of_a_gaussian_ledger_gives_a_smaller_chance(epsilon):
    mu = gaussian_mu(epsilon, 1e-6)
    found = ledger_accuracy([gaussian(math.sqrt(2) / mu), gaussian(2 / mu, times=2)])
    assert found == pytest.approx(stats.norm.cdf(mu / 2), abs=1e-9)
    assert found >= (1 + gaussian_delta(mu, 0.0)) / 2
    assert found < attack_accuracy(epsilon, 1e-6)


@pytest.mark.parametrize("rows", [[], [gaussian(0.0)], [gaussian(1.0), laplace(1.0)]])
def test_no_finer_chance_where_the_ledger_is_not_all_gaussian(rows):
    assert ledger_accuracy(rows) is None


def test_shares_of_gaussian_releases_are_parts_of_mu_squared():
    found = budget_shares([gaussian(1.0), gaussian(2.0, times=12)], 1e-6)
    assert found.kind is ShareKind.SQUARED_MU
    assert found.shares == pytest.approx((0.25, 0.75))


def test_shares_of_mixed_releases_are_epsilons_of_each_alone():
    found = budget_shares([gaussian(5.0), laplace(1.0), laplace(1.0)], 1e-6)
    assert found.kind is ShareKind.SINGLE_EPSILON
    assert sum(found.shares) == pytest.approx(1)
    assert found.shares[1] == found.shares[2]


@pytest.mark.parametrize("rows", [[], [gaussian(0.0), gaussian(1.0)]])
def test_no_shares_where_nothing_was_released_or_nothing_was_hidden(rows):
    found = budget_shares(rows, 1e-6)
    assert found.kind is ShareKind.NONE
    assert found.shares == (0.0,) * len(rows)
