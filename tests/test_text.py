"""Numbers and words on the page."""

import math

import pytest

from feddp_kmeans._text import (
    at_most_percent,
    chance,
    finite,
    number,
    one_in,
    percent,
    rounded,
    share,
    short,
    size,
    uncertain,
    whole,
)


@pytest.mark.parametrize("value", ["inf", None, math.nan, math.inf, True, "x"])
def test_what_is_no_number_is_none(value):
    assert finite(value) is None


def test_numbers_are_short_and_never_scientific_where_people_expect_digits():
    assert [number(x) for x in (1.0, 46573.2, 0.123456, 1e12, "inf", math.inf, None)] == [
        "1",
        "46,573",
        "0.1235",
        "1e+12",
        "∞",
        "∞",
        "not known",
    ]
    assert number(-2.0) == "\u22122"
    assert whole(1234.6) == "1,235"
    assert chance(1e-6) == "0.000001"
    assert one_in(1e-6) == "1 in 1,000,000"
    assert one_in(3e-6) == "1 in 333,333"


def test_a_bound_is_rounded_up_and_a_share_is_never_a_false_zero():
    assert at_most_percent(0.73101) == "73.2 %"
    assert at_most_percent(0.5) == "50.0 %"
    assert at_most_percent(1.0) == "100.0 %"
    assert percent(0.001) == "under 1 %"
    assert percent(0) == "0 %"
    assert percent(0.25) == "25 %"


def test_digits_end_where_the_noise_begins():
    assert rounded(0.078743, 0.0055) == "0.079"
    assert rounded(46573.2, 2500.0) == "47,000"
    assert rounded(-0.001, 5.0) == "0"
    assert rounded(1e15, 1e-9) == "1e+15"
    assert rounded(2.0, None) == "2"


@pytest.mark.parametrize(
    ("value", "stddev", "text"),
    [(170.9, 5.2, "171 ± 10"), (9117.3, 29.1, "9,120 ± 60"), (25.0, 4.9, "25 ± 10"), (-0.4, 0.1, "\u22120.40 ± 0.20"), (3.0, 0.0, "3")],
)
def test_a_value_and_its_error_end_with_the_same_digit(value, stddev, text):
    assert uncertain(value, stddev) == text


@pytest.mark.parametrize(
    ("value", "stddev", "text"),
    [
        (0.9994, 0.0011, "at least 99.7 %"),
        (0.001, 0.01, "at most 3 %"),
        (0.62, 0.015, "62 % ± 3 %"),
        (0.5, 0.4, "hidden by noise"),
        (0.5, None, "50 %"),
    ],
)
def test_a_share_is_never_above_all_or_below_none(value, stddev, text):
    assert share(value, stddev) == text


@pytest.mark.parametrize(
    ("count", "stddev", "text"),
    [
        (-36.0, 30.0, "about 0 (at most 60)"),
        (9120.0, 29.1, "9,120 ± 60"),
        (12.0, 0.1, "12 ± 1"),
        (-3.0, 0.0, "0"),
        (None, 1.0, "not known"),
    ],
)
def test_a_size_is_never_negative(count, stddev, text):
    assert size(count, stddev) == text


def test_long_names_are_cut():
    assert short("a name") == "a name"
    assert len(short("w" * 500)) == 60
