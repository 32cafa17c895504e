"""Who took part, in one line and on the page."""

import pytest

from feddp_kmeans.report.taking_part import taking_part
from tests.report.examples import HOSTILE, made_result, section


def row(missing=None, times=1, factor=1.2, **more):
    return {"release": "sums", "times": times, "sites": 5, "missing": missing or {}, "noise_factor": factor, "sampled": False} | more


def result(*rows, names=("aachen", "berlin", "celle"), **more):
    facts = {"run": "abc", "threshold": 3, "colluders": 1, "confirmed": True, "trust": "secure-sum"}
    return made_result(**facts | more, participants=list(names), attendance=list(rows))


AWAY = {"celle": "timed out"}


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([row(), row(times=3)], "3 sites took part in all 4 releases."),
        ([row(), row(AWAY, 2), row(times=6)], "3 sites took part; celle was missing in 2 of 9 releases (timed out)."),
        (
            [row(AWAY), row({"celle": "failed", "berlin": "refused"})],
            "3 sites took part; celle was missing in 2 of 2 releases (timed out, failed); berlin was missing in 1 of 2 releases (refused).",
        ),
        ([row(missing=None, sampled=True)], "3 sites took part; each release is made of a secret sample of them."),
    ],
)
def test_one_line_says_who_took_part_and_who_was_missing(rows, line):
    assert taking_part(result(*rows)).line == line


def test_many_missing_sites_are_counted():
    told = taking_part(result(row({f"site{i}": "timed out" for i in range(9)}))).line
    assert "site2 was missing" in told
    assert "site3" not in told
    assert told.endswith("; 6 more sites missing in some.")


def test_the_page_says_it_with_the_noise_that_the_errors_use():
    told = section(result(row(factor=1.29), row(AWAY, factor=1.15)), "sites")
    assert "celle was missing in 1 of 2 releases (timed out)" in told
    assert "aachen, berlin, celle" in told
    assert "signed by the sites before a sum was opened" in told
    assert "really 1.15 to 1.29 times the planned one" in told
    assert "All errors on this page use this real noise. The guarantee and the ledger count only the planned noise" in told
    assert "The noise is as planned" in section(result(row(factor=1.0), trust="aggregator"), "sites")


def test_a_sampled_run_names_nobody_in_a_release():
    told = section(result(row(AWAY, sampled=True)), "sites")
    assert "a secret sample of them" in told
    assert "timed out" not in told


def test_names_are_escaped():
    told = section(result(row({HOSTILE: HOSTILE}), names=(HOSTILE,)), "sites")
    assert "<script>" not in told
    assert "&lt;script&gt;" in told


@pytest.mark.parametrize(
    "more",
    [{}, {"participants": None, "attendance": None}, {"participants": 3, "attendance": [{}]}, {"participants": [], "attendance": [3]}],
)
def test_a_run_on_one_machine_or_of_an_older_version_has_no_such_section(more):
    assert taking_part(made_result(**more)) is None
    assert section(made_result(**more), "sites") == ""


def test_a_row_that_lacks_numbers_is_read_as_far_as_it_goes():
    assert taking_part(result({"missing": 3}, {"missing": {"celle": None}, "times": "x"})).line.startswith("3 sites took part; celle was")
