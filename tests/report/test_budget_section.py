"""The ledger on the page: shares with the words that fit them, and every release in the table."""

import pytest

from feddp_kmeans.report.budget_section import budget_section
from tests.report.examples import HARD, made_result


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
    assert words in budget_section(result)


def test_every_release_is_in_the_picture_and_in_the_table():
    section = budget_section(made_result())
    for name, share in (("second moment", "11 %"), ("sums", "89 %")):
        assert f"{name}: {share}" in section
        assert f'<th scope="row">{name}</th>' in section
    assert "All together they cost epsilon 0.9995 of the 1 that was allowed" in section
