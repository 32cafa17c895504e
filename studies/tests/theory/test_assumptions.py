"""The theorems' assumptions as functions."""

import math

import numpy as np
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.mixture import gaussian_mixture
from feddp_studies.theory.assumptions import (
    MixtureFacts,
    ServerSizeForm,
    check_radius,
    check_separation,
    check_server_size,
    data_radius,
    proxy_facts,
    separation_constant,
)


def test_the_separation_constant_by_hand():
    # Two means 3 apart, weights 1/4 and 3/4: the lighter one asks for sqrt(2 / 0.25) * 2 * log(100) a unit of c.
    found = separation_constant(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([0.25, 0.75]), 2.0, 100)
    assert found == pytest.approx(3 / (math.sqrt(8) * 2 * math.log(100)))
    assert check_separation(np.array([[0.0], [3.0]]), np.array([0.25, 0.75]), 2.0, 100, constant=found).holds


def test_one_component_is_separated():
    assert separation_constant(np.zeros((1, 2)), np.ones(1), 1.0, 10) == math.inf


def test_the_papers_mixture_has_the_radius_of_the_papers_table_and_meets_both_assumptions():
    data = gaussian_mixture(0)
    radius = data_radius(data.server_points)
    assert radius == pytest.approx(10.57, abs=0.5)  # The table's draw is not ours.
    facts = MixtureFacts(100_000, 0.1, math.sqrt(0.5))
    assert check_radius(radius, 10, 100, 1.0, facts).holds
    assert all(check_server_size(len(data.server_points), radius, 10, 1.0, facts, form).holds for form in ServerSizeForm)
    # It is far from separated: the condition is what the proof needs, not what the algorithm needs.
    assert not check_separation(data.means, np.full(10, 0.1), facts.max_stddev, facts.n_points).holds


def test_census_numbers_of_the_paper():
    # Seven ones per row; optimal cost about 3.5 per point; epsilon 0.5.
    facts = proxy_facts(100_000, 3.5)
    assert facts.max_stddev == pytest.approx(1.87, abs=0.01)
    assert check_radius(math.sqrt(7), 10, 819, 0.5, facts).holds
    assert check_server_size(1020, math.sqrt(7), 10, 0.5, facts, ServerSizeForm.BODY).holds


def test_a_verdict_is_one_line():
    facts = MixtureFacts(1000, 0.5, 1.0)
    assert str(check_server_size(10**9, 1.0, 2, 1.0, facts, ServerSizeForm.BODY)) == (
        "assumption (2), size of the server data (body): DOES NOT HOLD (1e+09 against 2000)"
    )


def test_the_two_forms_of_assumption_2_differ_by_log_n_and_can_disagree():
    facts = MixtureFacts(1000, 0.5, 1.0)
    body, appendix = (check_server_size(5000, 1.0, 2, 1.0, facts, form) for form in ServerSizeForm)
    assert (body.holds, appendix.holds) == (False, True)
    assert appendix.limit == pytest.approx(body.limit * math.log(1000))


@pytest.mark.parametrize(
    ("stated", "n", "variance", "radius", "form"),
    [(29_000, 100_000, 0.25, 10.57, ServerSizeForm.APPENDIX), (620_000, 127_491, 3.5, 2.65, ServerSizeForm.BODY)],
    ids=["mixture", "census"],
)
def test_the_papers_two_numbers_for_assumption_2_come_from_different_forms(stated, n, variance, radius, form):
    # "the right-hand-side is about ...", at epsilon 1 and k = 10. The other form is off by log n, which is more than 11.
    limits = {f: check_server_size(1, radius, 10, 1.0, MixtureFacts(n, 0.1, math.sqrt(variance)), f).limit for f in ServerSizeForm}
    assert [f for f in ServerSizeForm if stated / 1.2 < limits[f] < stated * 1.2] == [form]


@pytest.mark.parametrize(
    ("given", "named"), [((1, 0.1, 1.0), "n_points"), ((10, 0.0, 1.0), "min_weight"), ((10, 0.1, math.inf), "max_stddev")]
)
def test_impossible_facts_are_refused(given, named):
    with pytest.raises(FedDPError, match=f"{named} must be"):
        MixtureFacts(*given)
