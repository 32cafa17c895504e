"""The words and tables of the page, section by section: right figures, and no claim where nothing is guaranteed."""

import pytest

from feddp_kmeans.report.page import is_private, quality, render_page
from feddp_kmeans.report.profiles import SHOWN
from feddp_kmeans.report.value_table import MOST_ROWS
from tests.report.examples import HARD, made_result, section


def test_one_attack_figure_answers_the_question():
    for name in ("summary", "guaranteed", "questions"):
        assert "54.8 %" in section(made_result(), name)  # of the noise itself, all Gaussian
        assert "73.2 %" not in section(made_result(), name)
        assert "73.2 %" in section(made_result(mixed=True), name)  # of epsilon and delta
    guaranteed = section(made_result(), "guaranteed")
    assert "1 in 1,000,000" in guaranteed
    assert "e<sup>1</sup> = 2.72" in guaranteed  # rounded up


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
    assert clusters.count('<span class="once error-text">± 60</span>') == 3
    assert clusters.count("may be empty") == 1


def test_no_number_of_people_is_negative():
    made = HARD["negative counts"]
    assert section(made, "clusters").count("about 0 (at most 60)") == 6  # at a glance, and above each card
    assert "Sizes of clusters 0, 1, 2 came out at or below zero" in section(made, "remarks")
    assert "came out at or below zero" not in section(made_result(), "remarks")


def test_sizes_that_are_unknown_are_said_to_be():
    clusters = section(HARD["counts unknown"], "clusters")
    assert clusters.count(">not known") == 4
    assert "The error was not recorded" in clusters
    assert "An unknown number of data points" in section(HARD["counts unknown"], "summary")


def test_what_is_noise_is_marked():
    assert section(HARD["all noise"], "clusters").count('class="tag">too noisy to trust') == 12
    assert section(HARD["all noise"], "values").count('class="tag">no difference beyond the noise') == 4
    for name in ("clusters", "values"):
        assert 'class="tag">' not in section(HARD["no noise"], name)


def test_few_traits_of_819_columns_and_values_of_a_single_cluster():
    assert section(HARD["819 columns"], "clusters").count('<td class="draw"><svg') == 3 * (1 + SHOWN)
    assert section(HARD["819 columns"], "values").count('<td class="picture"><svg') == MOST_ROWS
    assert "Of 819 rows, the 120 in which clusters differ most" in section(HARD["819 columns"], "values")
    alone = section(HARD["one cluster"], "clusters")
    assert "one cluster only" in alone
    assert "difference</th>" not in alone
    assert "<svg" not in section(HARD["one cluster"], "values")


def test_many_clusters_are_in_several_tables():
    values = section(HARD["50 clusters"], "values")
    assert values.count("<table") == 9
    assert "Clusters 48 to 49" in values


def test_categories_are_shares_in_percent():
    assert "work = office" in section(HARD["categories"], "clusters")
    values = section(HARD["categories"], "values")
    assert 'scope="rowgroup" colspan="6">work</th>' in values
    assert '<span class="once">71 %</span> <span class="once error-text">± 6 %</span>' in values


def test_the_summary_comes_first_and_says_what_who_how_good_and_how_private():
    page = render_page(HARD["categories"])
    names = ("summary", "remarks", "clusters", "values", "columns", "guaranteed", "questions", "budget", "asked", "again")
    order = [page.index(f'<h2 id="{name}"') for name in names]
    assert order == sorted(order)
    summary = section(made_result(noisy_counts=[1000.0, 2000.0, 3000.0]), "summary")
    for text in (
        "About 6,000 data points with 4 columns, held by 100 clients",
        "of all squared distances",
        "epsilon 1, delta",
        "feddp budget",
    ):
        assert text.lower() in summary.lower()


def test_what_was_spent_before_is_said_and_listed():
    runs = [{"when": f"2026-01-0{day}", "privacy_unit": "point", "epsilon": 1.0, "delta": 1e-6, "private": True} for day in (1, 2)]
    spent = {"runs": 2, "privacy_unit": "point", "epsilon": 1.45, "delta": 1e-6, "why_unbounded": "", "listed": runs}
    made = made_result(spent=spent)
    assert "2 runs on these data are on record, this one included. Together they cost epsilon <b>1.45</b>" in section(made, "summary")
    assert "2026-01-01" in section(made, "budget")
    unbounded = made_result(spent=spent | {"epsilon": None, "why_unbounded": "1 of 2 runs had no noise or a known seed"})
    assert "guarantee nothing to one point: 1 of 2 runs had no noise" in section(unbounded, "summary")


def test_a_useless_result_says_so_at_the_top():
    made = made_result(useless="all is noise", remarks=["all is noise", "another"])
    page = render_page(made)
    assert page.index('class="not-useful"') < page.index("<h1>Noise hides the clusters</h1>")
    assert section(made, "values") == ""
    assert "Not usable: all is noise." in section(made, "summary")
    remarks = section(made, "remarks")
    assert remarks.count('class="warning useless"') == 1
    assert remarks.count('class="warning"') == 1
    assert "No warnings" in section(made_result(), "remarks")


def test_what_was_planned_and_not_made_is_no_warning_also_in_older_results():
    old = made_result(remarks=["planned and paid for, but not made, since nothing would have come of it: looks x 3"], not_made={"looks": 3})
    assert "No warnings" in section(old, "remarks")
    assert "looks x 3" in section(old, "budget")


def test_columns_are_listed_with_what_is_public_how_they_are_used_and_why_not():
    schema = {
        "columns": [
            {"name": "age", "kind": "number", "low": 0.0, "high": 120.0, "weight": 2.0, "missing": "middle"},
            {"name": "income", "kind": "number", "low": 1.0, "high": 1e6, "scale": "log"},
            {"name": "work", "kind": "category", "categories": ["office", "field"], "missing": "own"},
            {"name": "since", "kind": "date", "low": "2015-01-01", "high": "2025-01-01", "parts": ["trend", "season"]},
        ],
        "ignored": [{"name": "name", "reason": "a name in each row"}],
    }
    columns = section(made_result(schema=schema, left_out=[{"name": "site", "reason": "names the client"}]), "columns")
    for text in ("from 0 to 120", "weight 2", "log scale", "2 categories: office, field", "missing values are a category of their own"):
        assert text in columns
    for text in ("from 2015-01-01 to 2025-01-01", "trend, season", "a name in each row", "names the client"):
        assert text in columns
    plain = section(made_result(scale=[12400.0, 1.0, 1.0, 1.0]), "columns")
    assert "one unit of distance" in plain
    assert ">12,400<" in plain
    assert "The units are public" in plain
    hidden = made_result(scale=[12400.0, None, 1.0, 1.0], fill=[3.5, 0.0, 1.0, 1.0])
    hidden["ledger"][0]["release"] = "columns"
    assert "not used: it is constant, or noise hides how far it spreads" in section(hidden, "columns")
    assert "missing values count as 3.5" in section(hidden, "columns")
    assert "a private estimate of each column" in section(hidden, "columns")


def test_every_question_of_the_guidelines_is_answered():
    questions = section(made_result(), "questions")
    assert questions.count("<dt>") == questions.count("<dd>") == 16
    for word in (
        "unit of privacy",
        "mechanism",
        "trust model",
        "floating-point",
        "side channels",
        "several runs",
        "after the noise",
        "bounded",
    ):
        assert word in questions


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
    assert "5,000 ± 200" in section(made_result(k=2, d=1, **two), "quality").replace('</span> <span class="once error-text">', " ")
    assert quality(made_result(k=2, d=1, **two))["explained"] == pytest.approx(0.5)  # 200 x 5**2 between, 5000 within
    assert quality(made_result(k=2, d=1, **two))["per_point"] == 25.0
    assert quality(HARD["old"]) is None
    assert section(HARD["old"], "quality") == ""
    scaled = quality(made_result(k=2, d=1, **two | {"inertia": 50.0}, scale=[10.0]))
    assert scaled["explained"] == pytest.approx(0.5)
