"""The words and tables of the page, section by section: right figures, and no claim where nothing is guaranteed."""

import pytest

from feddp_kmeans.report.page import is_private, quality, render_page
from tests.report.examples import HARD, made_result, section


def test_the_attack_bound_is_that_of_epsilon_and_delta():
    guaranteed = section(made_result(), "guaranteed")
    assert "≤ 73.2 %" in guaranteed
    assert "46.3 percentage points" in guaranteed
    assert "at most <b>54.8 %</b>" in guaranteed
    assert "1 in 1,000,000" in guaranteed
    assert "e<sup>1</sup> = 2.72" in guaranteed  # rounded up


def test_mixed_noise_has_the_general_bound_alone():
    guaranteed = section(made_result(mixed=True), "guaranteed")
    assert "≤ 73.2 %" in guaranteed
    assert "really added" not in guaranteed


@pytest.mark.parametrize("key", ["simulation", "no noise"])
def test_a_run_that_is_not_private_says_so_and_claims_nothing(key):
    result = HARD[key]
    assert not is_private(result)
    assert 'class="not-private"' in render_page(result)
    guaranteed = section(result, "guaranteed")
    assert "What was guaranteed: nothing" in guaranteed
    for claim in ("≤", "Whether or not", "is covered by the guarantee"):
        assert claim not in guaranteed


@pytest.mark.parametrize(
    "changes", [{"caveat": "outside the ledger"}, {"secure": False}, {"epsilon": "inf"}, {"guarantee": "NOT PRIVATE"}, {"epsilon": None}]
)
def test_any_one_reason_is_enough(changes):
    assert is_private(made_result())
    assert not is_private(made_result() | changes)
    assert 'class="not-private"' not in render_page(made_result())


def test_only_a_seeded_run_is_called_a_simulation():
    assert "<strong>Simulation: not private</strong>" in render_page(HARD["simulation"])
    outside = made_result(caveat="outside the ledger", guarantee="outside the ledger", secure=False)
    assert "<strong>Not private</strong>" in render_page(outside)
    assert "not secret" in section(outside, "asked")


def test_units_trust_and_sampling_are_explained():
    point, client = made_result(), made_result(privacy_unit="client")
    assert "People with several rows" in section(point, "guaranteed")
    assert "People with several rows" not in section(client, "guaranteed")
    assert "Every client as a whole" in section(client, "guaranteed")
    assert "Without data it is still a client" in section(client, "guaranteed")
    for result in (point, client):
        assert "the number of its distinct values) are not hidden" in section(result, "guaranteed")
    assert "the aggregator" in section(point, "guaranteed")
    assert "learned the noisy sums and nothing else" in section(point | {"trust": "secure-sum"}, "guaranteed")
    assert "says of itself: nobody &amp; nothing" in section(made_result(trust="nobody & nothing"), "guaranteed")
    sampled = made_result()
    sampled["plan"] |= {"sampling_rate": 0.5}
    assert "which clients were drawn" in section(sampled, "guaranteed")


def test_what_was_asked_is_listed():
    asked = section(made_result(k=7, d=12, written="2026-01-02 03:04 UTC"), "asked")
    for text in (">7<", ">12<", ">100<", "one data point", "0.000001", "2026-01-02 03:04 UTC", "feddp-kmeans 0.1.0"):
        assert text in asked
    assert "n_clients" not in section(HARD["old"], "asked")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (made_result(), "times / multiplier²"),
        (made_result(mixed=True), "the epsilon of each release alone"),
        (HARD["no noise"], "No share can be stated"),
        (HARD["no release"], "Nothing was released"),
    ],
)
def test_the_shares_say_what_they_are_shares_of(result, words):
    assert words in section(result, "budget")


def test_every_release_is_in_the_picture_and_in_the_table():
    budget = section(made_result(), "budget")
    for name, share in (("second moment", "11 %"), ("sums", "89 %")):
        assert f"{name}: {share}" in budget
        assert f'<th scope="row">{name}</th>' in budget
    assert "All together they cost epsilon 0.9995 of the 1 that was allowed" in budget


def test_sizes_have_errors_and_small_ones_a_warning():
    clusters = section(made_result(noisy_counts=[1000.0, 20.0, 500.0]), "clusters")
    assert clusters.count("± 60") == 3
    assert clusters.count("may be empty") == 1


def test_sizes_that_are_unknown_are_said_to_be():
    clusters = section(HARD["counts unknown"], "clusters")
    assert clusters.count(">not known<") == 2
    assert "the error was not recorded" in clusters
    assert "size not released" in clusters


def test_what_is_noise_is_marked():
    assert section(HARD["all noise"], "clusters").count('class="tag">too noisy to trust') == 12
    assert 'class="tag">too noisy' not in section(HARD["no noise"], "clusters")


def test_six_traits_of_819_columns_and_values_of_a_single_cluster():
    assert section(HARD["819 columns"], "clusters").count('<td class="draw"><svg') == 3 * (1 + 6)
    alone = section(HARD["one cluster"], "clusters")
    assert "one cluster only" in alone
    assert "difference</th>" not in alone


def test_categories_are_shares_in_percent():
    clusters = section(HARD["categories"], "clusters")
    assert "work = office" in clusters
    assert "71.0 %" in clusters


def test_clients_are_counted_where_the_method_counts_clients():
    assert "clients that have a point in the cluster" in section(HARD["client"], "clusters")


def test_the_command_where_it_is_known_else_the_call():
    assert "feddp fit clients/ --server public.csv -k 3" in section(made_result(), "again")
    call = section(made_result(command=None, seed=4), "again")
    assert "FedDPKMeans(n_clusters=3, epsilon=1.0, delta=1e-06, privacy_unit=&#34;point&#34;" in call
    assert "random_state=4" in call
    assert "float(&#34;inf&#34;)" in section(made_result(epsilon=float("inf"), command=None), "again")


def test_a_second_run_costs_a_second_budget_and_versions_are_listed():
    assert "spends the budget a second time" in section(made_result(), "again")
    assert "spends the budget" not in section(HARD["simulation"], "again")
    assert "feddp-kmeans 0.1.0, python 3.11.7, numpy 2.4.6" in section(made_result(), "again")
    assert "feddp-kmeans 0.1.0." in section(HARD["old"], "again")


def test_the_fit_of_the_centers_is_told_with_its_error_and_only_where_it_was_released():
    two = {"centers": [[0.0], [10.0]], "noisy_counts": [100.0, 100.0], "inertia": 5000.0, "inertia_stddev": 100.0, "count_stddev": 1.0}
    told = section(made_result(k=2, d=1, **two), "clusters")
    assert "How well the centers fit" in told
    assert quality(made_result(k=2, d=1, **two))["explained"] == pytest.approx(0.5)  # 200 x 5**2 between, 5000 within
    assert quality(made_result(k=2, d=1, **two))["per_point"] == 25.0
    assert quality(HARD["old"]) is None
    assert "How well the centers fit" not in section(HARD["old"], "clusters")
