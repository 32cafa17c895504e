"""What scores prove: bounds hold for known mechanisms, come near where they should, and refute claims that are too good."""

import numpy as np
import pytest

from feddp_kmeans.audit.attack import PrivacyClaim, claim_of, likelihood_score, sampled_score, second_epsilon, verdict_on
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.accounting import gaussian_epsilon
from feddp_kmeans.privacy.mechanism import Mechanism, Release

DELTA = 1e-6


def release(multiplier, mechanism=Mechanism.GAUSSIAN, times=1):
    return Release("r", mechanism, 1.0, 1.0, multiplier, 4, times)


def shifted(rng, shift, runs=4000):
    return rng.standard_normal(runs) + shift, rng.standard_normal(runs)


def test_the_bound_holds_and_is_near_for_randomised_response(rng):
    def respond(bit):
        keep = rng.random(20_000) < np.e / (1 + np.e)
        return np.where(keep, bit, 1 - bit).astype(float)

    found = verdict_on(PrivacyClaim(1.0, 0.0, ((1.0, 0.0),)), respond(1), respond(0))
    assert 0.8 < found.epsilon_lower_bound < 1.0
    assert not found.refuted


@pytest.mark.parametrize("seed", range(20))
def test_a_gaussian_claim_that_is_true_is_not_refuted_and_one_that_is_a_third_short_is(seed):
    scores = shifted(np.random.default_rng(seed), 1.5)
    honest = verdict_on(claim_of([(release(1 / 1.5), 1)], DELTA), *scores)
    assert not honest.refuted
    assert 0.5 * honest.claim.epsilon < honest.epsilon_if_gaussian < honest.claim.epsilon
    assert verdict_on(claim_of([(release(1 / 1.0), 1)], DELTA), *scores).refuted


def test_scores_of_either_sign_serve(rng):
    with_unit, without = shifted(rng, 2.0)
    one, other = (verdict_on(claim_of([(release(1.0), 1)], DELTA), s * with_unit, s * without) for s in (1, -1))
    assert one.refuted
    assert other.refuted


def test_a_verdict_needs_runs():
    with pytest.raises(FedDPError, match="at least 20 runs"):
        verdict_on(claim_of([(release(1.0), 1)], DELTA), np.zeros(10), np.zeros(10))


def test_the_second_accountant_agrees_with_the_first_and_counts_times():
    made = [(release(2.0), 3), (release(5.0), 1)]
    assert second_epsilon(made, DELTA) == pytest.approx(gaussian_epsilon((3 / 4 + 1 / 25) ** 0.5, DELTA), rel=1e-3)
    assert second_epsilon([(release(0.0), 1)], DELTA) == float("inf")


def test_a_claim_without_noise_cannot_be_audited():
    with pytest.raises(FedDPError, match="must be made with noise"):
        claim_of([(release(0.0), 1)], DELTA)


def test_the_curve_of_a_claim_is_that_of_its_noise():
    claim = claim_of([(release(1.0), 1)], DELTA)
    from scipy import stats

    fpr = np.array([0.01, 0.2, 0.5, 0.9])
    exact = stats.norm.sf(stats.norm.isf(fpr) - 1.0)
    assert np.all(claim.largest_tpr(fpr) >= exact - 1e-9)
    assert np.allclose(claim.largest_tpr(fpr), exact, atol=0.01)
    assert claim.boundary()[0] == [0.0, DELTA]


def test_the_likelihood_score_is_the_log_of_the_densities_ratio():
    values, one, other = np.array([1.0, 0.5]), np.array([1.0, 0.0]), np.array([0.0, 0.0])
    assert likelihood_score(release(2.0), values, one, other) == pytest.approx(1 / 8)
    assert likelihood_score(release(2.0, Mechanism.LAPLACE), values, one, other) == pytest.approx(1 / 2)


def test_a_client_that_is_seldom_drawn_is_seldom_told():
    assert sampled_score(1.0, 2.0) == 2.0
    assert sampled_score(0.01, 3.0) == pytest.approx(np.log(0.99 + 0.01 * np.exp(3.0)))
