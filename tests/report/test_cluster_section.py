"""Sizes and profiles on the page."""

from feddp_kmeans.report.cluster_section import clusters_section
from tests.report.examples import HARD, made_result


def test_sizes_have_errors_and_small_ones_a_warning():
    section = clusters_section(made_result(noisy_counts=[1000.0, 20.0, 500.0]))
    assert section.count("± 60") == 3
    assert section.count("may be empty") == 1


def test_sizes_that_are_unknown_are_said_to_be():
    section = clusters_section(HARD["counts unknown"])
    assert section.count(">not known<") == 2
    assert "the error was not recorded" in section
    assert "size not released" in section


def test_what_is_noise_is_marked():
    assert clusters_section(HARD["all noise"]).count('class="tag">too noisy to trust') == 12
    assert 'class="tag">too noisy' not in clusters_section(HARD["no noise"])


def test_six_traits_of_819_columns_and_values_of_a_single_cluster():
    assert clusters_section(HARD["819 columns"]).count('<td class="draw"><svg') == 3 * (1 + 6)
    alone = clusters_section(HARD["one cluster"])
    assert "one cluster only" in alone
    assert "difference</th>" not in alone


def test_categories_are_shares_in_percent():
    section = clusters_section(HARD["categories"])
    assert "work = office" in section
    assert "71.0 %" in section


def test_clients_are_counted_where_the_method_counts_clients():
    assert "clients that have a point in the cluster" in clusters_section(HARD["client"])
