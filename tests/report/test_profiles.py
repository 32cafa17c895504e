"""What sets a cluster apart: a case computed by hand, ranking, and noise."""

import pytest

from feddp_kmeans.report.profiles import cluster_traits, size_weights
from tests.report.examples import categories, made_result


def test_a_case_by_hand():
    result = made_result(
        k=2, d=2, centers=[[0.0, 5.0], [8.0, 4.0]], noisy_counts=[30.0, 10.0], center_stddev=[0.5, 3.0], columns=["a", "b"]
    )
    first, second = cluster_traits(result)
    assert [(t.column, t.overall, t.difference) for t in first] == [("a", 2.0, -2.0), ("b", 4.75, 0.25)]
    assert [t.trusted for t in first] == [True, False]
    assert [(t.column, t.trusted) for t in second] == [("a", True), ("b", False)]


def test_categories_and_numbers_are_ranked_by_difference_over_noise():
    first = cluster_traits(made_result(profiles=categories(), noisy_counts=[1.0, 1.0, 1.0]))[0]
    strengths = [abs(t.difference) / t.error for t in first]
    assert strengths == sorted(strengths, reverse=True)
    assert {(t.column, t.category) for t in first} >= {("age", None), ("work", "office"), ("owns a bicycle", "no")}
    assert not next(t for t in first if t.column == "owns a bicycle").trusted
    office = next(t for t in first if t.category == "office")
    assert office.overall == pytest.approx((0.71 + 0.1 + 0.3) / 3)


def test_units_that_differ_are_not_drawn_on_one_axis():
    scales = {t.column: t.scale for t in cluster_traits(made_result(profiles=categories()))[0]}
    assert scales["age"] != scales["income per year"]
    assert scales["work"] == scales["owns a bicycle"]


def test_without_noise_all_is_trusted_and_the_largest_difference_comes_first():
    traits = cluster_traits(made_result(stddev=0.0))[0]
    assert all(t.trusted for t in traits)
    assert abs(traits[0].difference) == max(abs(t.difference) for t in traits)


@pytest.mark.parametrize("counts", [[None, None], [-1.0, -2.0], [0.0, 0.0], ["inf", None], []])
def test_sizes_that_are_unknown_or_not_positive_weigh_alike(counts):
    assert size_weights(counts, 2) == [1.0, 1.0]
    assert size_weights([3.0, -1.0], 2) == [3.0, 0.0]


def test_columns_of_one_name_stay_apart_and_missing_names_are_numbered():
    traits = cluster_traits(made_result(k=1, d=3, columns=["a", "a"]))[0]
    assert {t.column for t in traits} == {"a", "a (1)", "column 2"}


def test_a_cluster_without_profile_entries_is_empty_and_no_error():
    profiles = [[], [{"column": "a", "kind": "number", "value": None, "error": None, "shares": None}], categories()[0]]
    assert [len(row) for row in cluster_traits(made_result(profiles=profiles))] == [0, 0, 7]
