"""The words for a data-protection officer: right figures, and no claim where nothing is guaranteed."""

import pytest

from feddp_kmeans.report.guarantee import asked_section, banner, guarantee_section, is_private
from tests.report.examples import HARD, made_result


def test_the_attack_bound_is_that_of_epsilon_and_delta():
    section = guarantee_section(made_result())
    assert "≤ 73.2 %" in section
    assert "46.3 percentage points" in section
    assert "at most <b>54.8 %</b>" in section
    assert "1 in 1,000,000" in section
    assert "e<sup>1</sup> = 2.72" in section  # rounded up


def test_mixed_noise_has_the_general_bound_alone():
    section = guarantee_section(made_result(mixed=True))
    assert "≤ 73.2 %" in section
    assert "really added" not in section


@pytest.mark.parametrize("key", ["simulation", "no noise"])
def test_a_run_that_is_not_private_says_so_and_claims_nothing(key):
    result = HARD[key]
    assert not is_private(result)
    assert 'class="not-private"' in banner(result)
    section = guarantee_section(result)
    assert "What was guaranteed: nothing" in section
    for claim in ("≤", "Whether or not", "is covered by the guarantee"):
        assert claim not in section


@pytest.mark.parametrize(
    "changes", [{"caveat": "outside the ledger"}, {"secure": False}, {"epsilon": "inf"}, {"guarantee": "NOT PRIVATE"}, {"epsilon": None}]
)
def test_any_one_reason_is_enough(changes):
    assert is_private(made_result())
    assert not is_private(made_result() | changes)
    assert banner(made_result()) == ""


def test_only_a_seeded_run_is_called_a_simulation():
    assert "<strong>Simulation: not private</strong>" in banner(HARD["simulation"])
    outside = made_result(caveat="outside the ledger", guarantee="outside the ledger", secure=False)
    assert "<strong>Not private</strong>" in banner(outside)
    assert "not secret" in asked_section(outside)


def test_units_trust_and_sampling_are_explained():
    point, client = made_result(), made_result(privacy_unit="client")
    assert "People with several rows" in guarantee_section(point)
    assert "People with several rows" not in guarantee_section(client)
    assert "Every client as a whole" in guarantee_section(client)
    assert "Without data it is still a client" in guarantee_section(client)
    for section in map(guarantee_section, (point, client)):
        assert "the number of its distinct values) are not hidden" in section
    assert "the aggregator" in guarantee_section(point)
    assert "learned the noisy sums and nothing else" in guarantee_section(point | {"trust": "secure-sum"})
    assert "says of itself: nobody &amp; nothing" in guarantee_section(made_result(trust="nobody & nothing"))
    sampled = made_result()
    sampled["plan"] |= {"sampling_rate": 0.5}
    assert "which clients were drawn" in guarantee_section(sampled)


def test_what_was_asked_is_listed():
    section = asked_section(made_result(k=7, d=12, written="2026-01-02 03:04 UTC"))
    for text in (">7<", ">12<", ">100<", "one data point", "0.000001", "2026-01-02 03:04 UTC", "feddp-kmeans 0.1.0"):
        assert text in section
    assert "n_clients" not in asked_section(HARD["old"])
