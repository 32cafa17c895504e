"""Plans: complete, within the budget, and close to it."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant

from feddp_kmeans.algorithm.prepare import prepare, prepare_lloyds
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.privacy.accounting import composed_epsilon
from feddp_kmeans.privacy.ledger import Ledger, PrivacyReport
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Composition, calibrated_plan, epsilon_share_multiplier
from feddp_kmeans.privacy.unit import PrivacyUnit

SERVER = np.random.default_rng(0).standard_normal((40, 6))


def recomputed(rows, delta, sampling=1.0):
    """Epsilon from the ledger alone, as an outsider would compute it."""
    accountant = PLDAccountant()
    for row in rows:
        kind = {"gaussian": dp_accounting.GaussianDpEvent, "laplace": dp_accounting.LaplaceDpEvent}[row["mechanism"]]
        sensitivity = row.get("l2_sensitivity", row.get("l1_sensitivity"))
        event = kind(row["scale"] / sensitivity)
        if sampling < 1:
            event = dp_accounting.PoissonSampledDpEvent(sampling, event)
        accountant.compose(event, row["times"])
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("method", ["paper", "refined"])
@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("epsilon", [0.02, 1.0, *(pytest.param(epsilon, marks=pytest.mark.slow) for epsilon in (0.06, 0.5, 8.0))])
def test_the_ledger_recomputed_from_outside_meets_the_budget(unit, method, steps, epsilon):
    plan = prepare(Settings(3, epsilon, privacy_unit=unit, method=method, lloyd_steps=steps), SERVER, 500).plan
    spent = recomputed(plan.ledger_rows(), plan.delta)
    assert 0.98 * epsilon <= spent <= epsilon
    assert plan.epsilon_spent <= epsilon


@pytest.mark.parametrize("method", ["paper", "refined"])
def test_what_is_spent_includes_the_samplers_error(method):
    plan = prepare(Settings(3, 1.0, method=method), SERVER, 500).plan
    error = sum(release.sampler_epsilon for release in plan.releases)
    assert error > 0
    assert plan.epsilon_spent == composed_epsilon(plan.releases, plan.delta) + error


def test_step_one_is_noised_by_delta_squared():
    plan = prepare(Settings(3, 1.0, method="paper", radius=11.0), SERVER, 5).plan
    row = plan["outer product"].to_dict()
    assert row["l2_sensitivity"] == 121.0
    assert row["scale"] == pytest.approx(121.0 * row["noise_multiplier"])


def test_the_papers_proportions_at_epsilon_one():
    plan = prepare(Settings(3, 1.0, method="paper"), SERVER, 5).plan
    multipliers = [r.noise_multiplier for r in plan.releases]
    assert multipliers == pytest.approx([18.68, 3.44, 8.30, 4.59], rel=2e-3)


def test_theorem_1_is_looser_than_tight_composition():
    naive = prepare(Settings(3, 1.0, method="paper", composition="paper-naive"), SERVER, 5).plan
    assert naive.composition is Composition.PAPER_NAIVE
    assert [r.noise_multiplier for r in naive.releases] == pytest.approx([27.14, 5, 12.06, 1 / 0.15], rel=1e-3)
    assert naive.epsilon_spent == pytest.approx(0.678, abs=2e-3)


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("steps", [0, 1, 6])
@pytest.mark.parametrize("make", [prepare, lambda *given: prepare_lloyds(*given, "a start", 1)], ids=["init", "lloyds"])
def test_the_shares_of_theorem_1_add_up_to_the_budget(unit, steps, make):
    asked = Settings(3, 0.5, privacy_unit=unit, method="paper", composition="paper-naive", lloyd_steps=steps or int(make is not prepare))
    releases = make(asked, SERVER, 5).plan.releases
    gaussians = sum(r.times for r in releases if r.mechanism is Mechanism.GAUSSIAN)
    constants = {Mechanism.GAUSSIAN: math.sqrt(2 * math.log(1.25 * gaussians / 1e-6)), Mechanism.LAPLACE: 1.0}
    assert sum(r.times * constants[r.mechanism] / r.noise_multiplier for r in releases) == pytest.approx(0.5, rel=1e-9)


def test_a_share_of_a_large_epsilon_is_never_under_noised():
    assert epsilon_share_multiplier(Mechanism.GAUSSIAN, 10.0, 1e-6) > math.sqrt(2 * math.log(1.25e6)) / 10


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_client_sampling_is_amplified_and_stays_within_the_budget(rate):
    settings = Settings(3, 1.0, privacy_unit="client", method="paper", sampling_rate=rate)
    plan = prepare(settings, SERVER, 500).plan
    assert 0.98 <= recomputed(plan.ledger_rows(), 1e-6, rate) <= 1.0
    whole = prepare(Settings(3, 1.0, privacy_unit="client", method="paper"), SERVER, 500).plan
    assert plan["sums"].noise_multiplier < 0.9 * whole["sums"].noise_multiplier


def test_sampling_clients_does_not_amplify_a_point():
    with pytest.raises(FedDPError, match=r"sampling_rate must be 1 where the privacy unit is a point, got 0\.5"):
        Settings(3, 1.0, sampling_rate=0.5)
    with pytest.raises(FedDPError, match="sampling_rate must be 1"):
        calibrated_plan(PrivacyUnit.POINT, 1.0, 1e-6, [], sampling_rate=0.5)


def test_infinite_epsilon_plans_no_noise():
    plan = prepare(Settings(3, math.inf, method="paper"), SERVER, 5).plan
    assert all(r.noise_multiplier == 0 for r in plan.releases)
    assert plan.epsilon_spent == math.inf


def test_a_plan_is_the_same_for_the_same_public_facts():
    first, second = (prepare(Settings(3, 1.0, privacy_unit="client"), SERVER, 50).plan for _ in range(2))
    assert first.to_dict() == second.to_dict()


def test_a_plan_needs_more_epsilon_than_the_sampler_costs():
    release = Release("r", Mechanism.GAUSSIAN, 1.0, 1.0, 1.0, values=10**6)
    with pytest.raises(FedDPError, match="epsilon must be above"):
        calibrated_plan(PrivacyUnit.POINT, 1e-9, 1e-6, [release])


def test_the_ledger_refuses_what_is_not_planned_and_counts_times():
    plan = calibrated_plan(PrivacyUnit.POINT, 1.0, 1e-6, [Release("r", Mechanism.GAUSSIAN, 1.0, 1.0, 1.0, values=1, times=2)])
    ledger = Ledger(plan)
    with pytest.raises(BudgetError, match="release 'other' is not in the plan"):
        ledger.book(Release("other", Mechanism.GAUSSIAN, 1.0, 1.0, 1.0, values=1))
    for _ in range(2):
        ledger.book(plan["r"])
    assert ledger.rows() == plan.ledger_rows()
    with pytest.raises(BudgetError, match="must be made at most 2 times, and was made 2 times already"):
        ledger.book(plan["r"])
    with pytest.raises(BudgetError, match="no release named 'x'"):
        plan["x"]


def test_the_report_says_what_holds():
    def report(epsilon, secure, unit=PrivacyUnit.CLIENT):
        return PrivacyReport(
            unit,
            epsilon,
            1e-6,
            epsilon / 2,
            secure,
            "aggregator",
            ({"release": "r", "mechanism": "gaussian", "l2_sensitivity": 1.0, "scale": 2.0, "noise_multiplier": 2.0, "times": 1},),
        )

    client = "all the data of any one client, which stays as a client without data,"
    for unit, what in ((PrivacyUnit.CLIENT, client), (PrivacyUnit.POINT, "any one data point")):
        assert report(0.25, True, unit).sentence() == (
            f"Adding or removing {what} changes the probability of any outcome by a factor of at most e^0.25, up to delta = 1e-06. "
            "The number of clients is public; where groups are given, it is the number of distinct groups."
        )
        assert f"epsilon = 0.25, delta = 1e-06 hides {what} only from those who do not know" in report(0.25, False, unit).sentence()
    assert report(1.0, False).sentence().startswith("SIMULATION, NOT PRIVATE")
    assert report(math.inf, True).sentence().startswith("NOT PRIVATE")
    assert "add-remove" in repr(report(1.0, True))
    assert report(1.0, True).to_dict()["unit"] == "client"
