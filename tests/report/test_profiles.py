"""What sets a cluster apart: a case computed by hand, ranking, noise, and one line of words."""

import pytest

from feddp_kmeans.report.profiles import cluster_traits, size_weights, strongest
from feddp_kmeans.report.wording import NOTHING, in_one_line
from tests.report.examples import categories, made_result, section


def two(**more):
    given = {"centers": [[0.0, 5.0], [8.0, 4.0]], "noisy_counts": [30.0, 10.0], "center_stddev": [0.5, 3.0], "columns": ["a", "b"]}
    return made_result(k=2, d=2, **given | more)


def test_a_case_by_hand():
    first, second = map(strongest, cluster_traits(two()))
    assert [(t.column, t.overall, t.difference) for t in first] == [("a", 2.0, -2.0), ("b", 4.75, 0.25)]
    assert [t.trusted for t in first] == [True, False]
    assert [(t.column, t.trusted) for t in second] == [("a", True), ("b", False)]


def test_each_coordinate_has_its_own_error_where_it_is_known():
    first = strongest(cluster_traits(two(axis_stddev=[[0.5, 0.01], [3.0, 3.0]]))[0])
    assert [(t.column, t.error) for t in first] == [("a", 0.5), ("b", 0.01)]
    assert all(t.trusted for t in first)


def test_what_matters_is_the_distance_that_a_difference_makes():
    plain = strongest(cluster_traits(two(center_stddev=[0.0, 0.0]))[1])
    assert [t.column for t in plain] == ["a", "b"]
    scaled = strongest(cluster_traits(two(center_stddev=[0.0, 0.0], scale=[100.0, 0.1]))[1])
    assert [t.column for t in scaled] == ["b", "a"]
    assert [t.strength for t in scaled] == pytest.approx([7.5, 0.06])


def test_categories_and_numbers_are_ranked_and_noise_counts_for_nothing():
    first = strongest(cluster_traits(made_result(profiles=categories(), noisy_counts=[1.0, 1.0, 1.0]))[0])
    strengths = [t.strength for t in first]
    assert strengths == sorted(strengths, reverse=True)
    assert {(t.column, t.category) for t in first} >= {("age", None), ("work", "office"), ("owns a bicycle", "no")}
    bicycle = next(t for t in first if t.column == "owns a bicycle")
    assert not bicycle.trusted
    assert bicycle.strength == 0
    office = next(t for t in first if t.category == "office")
    assert office.overall == pytest.approx((0.71 + 0.1 + 0.3) / 3)


def test_units_that_differ_are_not_drawn_on_one_axis():
    scales = {t.column: t.scale for t in cluster_traits(made_result(profiles=categories()))[0].values()}
    assert scales["age"] != scales["income per year"]
    assert scales["work"] == scales["owns a bicycle"]


def test_without_noise_all_is_trusted_and_the_largest_difference_comes_first():
    traits = strongest(cluster_traits(made_result(stddev=0.0))[0])
    assert all(t.trusted for t in traits)
    assert abs(traits[0].difference) == max(abs(t.difference) for t in traits)


@pytest.mark.parametrize("counts", [[None, None], [-1.0, -2.0], [0.0, 0.0], ["inf", None], []])
def test_sizes_that_are_unknown_or_not_positive_weigh_alike(counts):
    assert size_weights(counts, 2) == [1.0, 1.0]
    assert size_weights([3.0, -1.0], 2) == [3.0, 0.0]


def test_columns_of_one_name_stay_apart_and_missing_names_are_numbered():
    traits = cluster_traits(made_result(k=1, d=3, columns=["a", "a"]))[0].values()
    assert {t.column for t in traits} == {"a", "a (1)", "column 2"}


def test_a_cluster_without_profile_entries_is_empty_and_no_error():
    profiles = [[], [{"column": "a", "kind": "number", "value": None, "error": None, "shares": None}], categories()[0]]
    assert [len(row) for row in cluster_traits(made_result(profiles=profiles))] == [0, 0, 7]


def test_dates_are_days_and_other_words_are_only_shown():
    def profile(date, season):
        return [
            {"column": "since", "kind": "date", "value": date, "error": 5.0, "shares": None, "unit": "days"},
            {"column": "since (season)", "kind": "date", "value": season, "error": None, "shares": None},
        ]

    made = two(profiles=[profile("2019-03-01", "all over the year"), profile("2021-03-01", "05-14")], noisy_counts=[1.0, 1.0])
    first = cluster_traits(made)[0]
    assert first["since", None].said == "2019-03-01 ± 10 days"
    assert first["since (season)", None].said == "all over the year"
    assert in_one_line(first) == "since earlier (2019-03-01 against 2020-02-29)"


def test_missing_values_have_a_row_and_set_nothing_apart():
    def profile(age, missing):
        more = {"shares": {"(missing)": missing}, "meaning": "middle of a log scale"}
        return [{"column": "age", "kind": "number", "value": age, "error": 0.1} | more]

    made = two(profiles=[profile(30.0, 0.1), profile(60.0, 0.9)], noisy_counts=[1.0, 1.0])
    first = cluster_traits(made)[0]
    assert first["age", "(missing)"].said == "10 %"
    assert [t.category for t in strongest(first)] == [None]
    assert in_one_line(first) == "younger (30 against 45)"
    values = section(made, "values")
    assert "middle of a log scale" in values
    assert "(missing)" in values


def test_one_line_names_the_strongest_differences_beyond_the_noise():
    people = made_result(profiles=categories(), noisy_counts=[1.0, 1.0, 1.0], columns=["age", "income per year", "work=office"])
    lines = [in_one_line(traits) for traits in cluster_traits(people)]
    assert "work mostly office (71 % against 37 %)" in lines[0]
    assert "bicycle" not in "".join(lines)
    assert in_one_line(cluster_traits(two(center_stddev=[50.0, 50.0]))[0]) == NOTHING
    assert in_one_line(cluster_traits(two())[0]) == "low a (0.0 against 2.0)"
