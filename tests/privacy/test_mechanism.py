"""A release: noise and cost from the same two numbers."""

import numpy as np
import pytest
from scipy import stats

from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.privacy.mechanism import Mechanism, Release, Sensitivity
from feddp_kmeans.privacy.noise import SeededStream


def release(mechanism=Mechanism.GAUSSIAN, multiplier=3.0, sensitivity=121.0, steps=2.0**32, **more):
    return Release("r", mechanism, sensitivity, steps, multiplier, values=40_000, **more)


@pytest.mark.parametrize("seed", range(100))
def test_gaussian_noise_is_sensitivity_times_multiplier(seed):
    made = release()
    values = made.noisy(np.zeros(2000, dtype=np.int64), SeededStream(seed))
    assert made.scale == 363.0
    # 2000 draws: the sample's standard deviation is within 10 % of the truth but for one case in 1e9.
    assert np.std(values) == pytest.approx(363.0, rel=0.1)


@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("multiplier", [1e-6, 0.01, 0.09, 50.0])
def test_little_noise_is_noise_all_the_same(mechanism, multiplier):
    made = release(mechanism, multiplier)
    values = made.noisy(np.zeros(20_000, dtype=np.int64), SeededStream(3))
    # 20,000 draws: within 10 % of the truth but for one case in 1e15.
    assert np.std(values) == pytest.approx(made.stddev, rel=0.1)


@pytest.mark.parametrize("steps", [1.0, 2.0**16, 2.0**32])
def test_the_largest_total_has_room_for_its_noise(steps):
    made = release(Mechanism.GAUSSIAN, 4.0, 1.0, steps)
    for total in (int(made.largest_total) - 1, 1 - int(made.largest_total)):
        values = made.noisy(np.full(1000, total), SeededStream(2))
        assert np.abs(values - total * made.grid).max() < 10 * made.stddev + 1e-9 * abs(total) * made.grid


def test_laplace_noise_is_sensitivity_times_multiplier():
    made = release(Mechanism.LAPLACE, 4.0, 1.0, 1.0)
    values = made.noisy(np.zeros(40_000, dtype=np.int64), SeededStream(1))
    assert made.scale == 4.0
    assert stats.kstest(values, stats.laplace(scale=4.0).cdf).pvalue > 1e-6
    for wrong in (0.7, 1.3):
        assert stats.kstest(values, stats.laplace(scale=4.0 * wrong).cdf).pvalue < 1e-6


@pytest.mark.parametrize("shares", [1, 2, 7])
def test_shares_add_up_to_the_noise(shares):
    made = release()
    parts = [made.with_noise(np.zeros(20_000, dtype=np.int64), SeededStream(i), shares) for i in range(shares)]
    # 20,000 draws: within 4 % of the truth but for one case in 1e15.
    assert np.std(made.from_steps(sum(parts))) == pytest.approx(363.0, rel=0.04)
    assert np.std(made.from_steps(parts[0])) == pytest.approx(363.0 / shares**0.5, rel=0.04)


@pytest.mark.parametrize("times", [2, 9, 1000])
def test_one_release_for_many_has_the_noise_of_their_mean(times):
    """The chance that 40,000 sound draws fail is 1e-6; noise of 0.97 or 1.03 times the scale fails."""
    made = release(times=1000).as_one(times)
    assert (made.times, made.name) == (1, "r")
    values = made.noisy(np.zeros(40_000, dtype=np.int64), SeededStream(times))
    square = np.square(values * times**0.5 / 363.0).sum()
    low, high = stats.chi2(40_000).ppf([5e-7, 1 - 5e-7])
    assert low < square < high
    assert not low < square * 0.97**2 < high
    assert not low < square * 1.03**2 < high
    assert release().as_one() == release()


def test_the_grid_of_released_numbers_does_not_show_the_sum():
    # The precision attack on floating-point noise: f = 0 and f' = 1 differ in which multiples of 2**-53 can occur.
    made = release(Mechanism.GAUSSIAN, 4.0, 1.0, 1.0)
    for total in (0, 1):
        values = made.noisy(np.full(20_000, total, dtype=np.int64), SeededStream(total))
        assert np.array_equal(values * 2.0**25, np.rint(values * 2.0**25))


def test_no_noise_gives_the_sum_itself():
    made = release(multiplier=0.0)
    assert made.noisy(np.array([2**32, -(2**31)]), SeededStream(0)).tolist() == [121.0, -60.5]


def test_no_more_numbers_are_released_than_the_sampler_was_counted_for():
    release(multiplier=0.0).check_size(40_000)
    for multiplier in (0.0, 3.0):
        with pytest.raises(BudgetError, match="release 'r' must hold at most 40000 values, got 40001"):
            release(multiplier=multiplier).noisy(np.zeros(40_001, dtype=np.int64), SeededStream(0))


def test_a_ledger_row_names_the_norm_of_its_sensitivity():
    assert release().to_dict() == {
        "release": "r",
        "mechanism": "gaussian",
        "l2_sensitivity": 121.0,
        "scale": 363.0,
        "noise_multiplier": 3.0,
        "values": 40_000,
        "times": 1,
    }
    assert "l1_sensitivity" in release(Mechanism.LAPLACE).to_dict()


def test_a_release_without_a_bound_is_refused():
    with pytest.raises(FedDPError, match="sensitivity of release 'r' must be positive and finite, got 0"):
        release(sensitivity=0.0)
    with pytest.raises(FedDPError, match="noise_multiplier of 'r' must be at least 0, got -1"):
        release(multiplier=-1.0)


def test_two_releases_of_one_run_are_independent():
    made = release()
    first = made.noisy(np.zeros(5000, dtype=np.int64), SeededStream(0, "sums"))
    second = made.noisy(np.zeros(5000, dtype=np.int64), SeededStream(0, "counts"))
    assert abs(np.corrcoef(first, second)[0, 1]) < 6 / np.sqrt(5000)


def test_each_noise_is_scaled_by_its_own_norm():
    bound = Sensitivity(l1=4.0, l2=2.0)
    assert bound.under(Mechanism.LAPLACE) == 4.0
    assert bound.under(Mechanism.GAUSSIAN) == 2.0
    assert Sensitivity(l1=None, l2=2.0).under(Mechanism.LAPLACE) is None
