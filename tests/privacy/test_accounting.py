"""Epsilon from noise: against closed forms and against dp-accounting."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.accounting import (
    calibrate_scale,
    check_budget,
    composed_epsilon,
    filter_epsilon,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    pure_mu,
    shares_of_total,
)
from feddp_kmeans.privacy.mechanism import Mechanism, Release


def made(mechanism, multiplier, times=1):
    return Release("r", mechanism, 1.0, 1.0, multiplier, values=1, times=times)


def outside(releases, delta, sampling=1.0):
    accountant = PLDAccountant()
    for r in releases:
        kind = dp_accounting.GaussianDpEvent if r.mechanism is Mechanism.GAUSSIAN else dp_accounting.LaplaceDpEvent
        event = kind(r.noise_multiplier)
        if sampling < 1:
            event = dp_accounting.PoissonSampledDpEvent(sampling, event)
        accountant.compose(event, r.times)
    return accountant.get_epsilon(delta)


def test_the_known_value_of_one_gaussian():
    assert gaussian_mu(1.0, 1e-6) == pytest.approx(0.236704, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_mu_and_epsilon_are_inverse(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0, 100.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_the_closed_form_is_dp_accounting_s_and_its_noise_is_on_the_private_side(epsilon, delta):
    mu, theirs = gaussian_mu(epsilon, delta), 1 / dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert theirs * (1 - 1.1e-9) < mu < theirs * (1 - 0.9e-9)
    assert gaussian_epsilon(mu, delta) == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-10)


@pytest.mark.parametrize("multiplier", [0.5, 2.0, 20.0])
def test_gaussians_compose_exactly(multiplier):
    releases = [made(Mechanism.GAUSSIAN, multiplier), made(Mechanism.GAUSSIAN, 2 * multiplier, 3)]
    assert composed_epsilon(releases, 1e-6) == pytest.approx(outside(releases, 1e-6), rel=2e-4)


@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0, 100.0])
def test_mixed_compositions_are_tight_and_never_below_dp_accounting(scale):
    releases = [made(Mechanism.GAUSSIAN, 8.3 * scale), made(Mechanism.LAPLACE, 4.6 * scale, 2)]
    ours, theirs = composed_epsilon(releases, 1e-6), outside(releases, 1e-6)
    assert theirs * (1 - 1e-4) <= ours <= theirs * 1.005


@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_sampled_releases_each_with_a_fresh_cohort(rate):
    releases = [made(Mechanism.GAUSSIAN, 2.0), made(Mechanism.LAPLACE, 2.0)]
    ours = composed_epsilon(releases, 1e-6, rate)
    assert ours == pytest.approx(outside(releases, 1e-6, rate), rel=5e-3)
    assert ours < composed_epsilon(releases, 1e-6)


def test_no_noise_costs_everything():
    assert composed_epsilon([made(Mechanism.GAUSSIAN, 0.0)], 1e-6) == np.inf


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), "1"])
def test_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(FedDPError, match="epsilon must be positive, got"):
        check_budget(epsilon, 1e-6)


@pytest.mark.parametrize("epsilon", [1001.0, 1e300])
def test_more_epsilon_than_can_be_added_up_is_refused(epsilon):
    with pytest.raises(FedDPError, match="epsilon must be at most 1000, or infinite for no noise"):
        check_budget(epsilon, 1e-6)
    check_budget(float("inf"), 1e-6)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, 1.5, float("nan")])
def test_delta_out_of_range_is_refused(delta):
    with pytest.raises(FedDPError, match="delta must be between 0 and 1, got"):
        check_budget(1.0, delta)


@pytest.mark.parametrize("power", [1.0, 2.5])
def test_a_calibrated_scale_is_the_smallest_that_is_private(power):
    asked = []

    def epsilon_at(factor, coarseness):
        asked.append(coarseness)
        return 3 * factor**-power * (1 + 1e-4 * coarseness)

    found = calibrate_scale(epsilon_at, 0.5)
    assert 0.5 * (1 - 1e-4) < epsilon_at(found, 1) <= 0.5
    assert sum(coarseness == 1 for coarseness in asked) < 8


def test_equal_mechanisms_are_one_made_several_times():
    one = made(Mechanism.LAPLACE, 3.0)
    assert composed_epsilon([one, one], 1e-6) == composed_epsilon([made(Mechanism.LAPLACE, 3.0, times=2)], 1e-6)
    assert composed_epsilon([one, one], 1e-6) > composed_epsilon([one], 1e-6)


@pytest.mark.parametrize("jump", [0.03, 0.05, 0.1, 0.17, 0.25, 0.26, 0.27])
def test_a_calibrated_scale_is_private_where_epsilon_jumps(jump):
    def epsilon_at(factor, coarseness):
        return jump * math.ceil(3 / factor / jump) * (1 + 1e-4 * coarseness)

    assert epsilon_at(calibrate_scale(epsilon_at, 0.5), 1) <= 0.5


@pytest.mark.slow  # Eight seconds of one core.
def test_losses_that_cannot_be_added_up_have_no_bound():
    assert composed_epsilon([made(Mechanism.LAPLACE, 1e-4), made(Mechanism.GAUSSIAN, 1.0)], 1e-6) == np.inf


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 3.0, 10.0])
def test_every_pure_mechanism_is_within_the_gaussian_of_its_mu(epsilon):
    mu = pure_mu(epsilon)
    laplace = privacy_loss_distribution.from_laplace_mechanism(1 / epsilon, value_discretization_interval=1e-4, pessimistic_estimate=False)
    worst = [(math.exp(epsilon) - math.exp(e)) / (1 + math.exp(epsilon)) for e in np.linspace(0, epsilon, 40)]  # randomised response
    for e, delta in zip(np.linspace(0, epsilon, 40), worst, strict=True):
        assert laplace.get_delta_for_epsilon(e) <= delta + 1e-9
        assert delta <= gaussian_delta(mu, e) + 1e-12
    # No smaller mu would do: at the kink of the trade-off curve, which is epsilon 0, the two meet.
    assert gaussian_delta(mu, 0.0) == pytest.approx(worst[0], rel=1e-9)
    assert gaussian_delta(0.999 * mu, 0.0) < worst[0]


@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 50.0, 100.0, 1000.0])
def test_the_mu_of_a_pure_mechanism_is_its_formula_wherever_that_can_be_computed(epsilon):
    from scipy import stats

    assert 0 < pure_mu(epsilon) < math.inf
    assert pure_mu(epsilon) == pytest.approx(2 * stats.norm.isf(1 / (1 + math.exp(min(epsilon, 700)))) if epsilon < 700 else 89.3, rel=1e-3)


@pytest.mark.parametrize("shares", [[1.0], [0.8, 0.2], [3.0, *[1.0] * 11]])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
def test_shares_of_a_total_add_up_to_it_and_never_to_more(epsilon, shares):
    parts = shares_of_total(epsilon, 1e-6, shares)
    together = gaussian_epsilon(math.sqrt(sum(gaussian_mu(part, 1e-6) ** 2 for part in parts)), 1e-6)
    assert epsilon * (1 - 1e-6) < together <= epsilon
    assert parts == sorted(parts, reverse=True)
    assert shares_of_total(math.inf, 1e-6, shares) == [math.inf] * len(shares)


def test_a_filter_adds_squares_and_knows_no_sampling():
    releases = [made(Mechanism.GAUSSIAN, 5.0, 3), made(Mechanism.LAPLACE, 4.0, 2)]
    mu = math.sqrt(3 / 25 + 2 * pure_mu(0.25) ** 2)
    assert filter_epsilon(releases, 1e-6) == pytest.approx(gaussian_epsilon(mu, 1e-6), rel=1e-12)
    assert filter_epsilon(releases, 1e-6) > composed_epsilon(releases, 1e-6)
    assert filter_epsilon([], 1e-6) == 0
