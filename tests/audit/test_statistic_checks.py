"""Statistics are what they state, as a slow reference computes them; and no made-up question is answered by a constant."""

import numpy as np
import pytest

from feddp_kmeans.audit.places import ARRAYS, exact_sums
from feddp_kmeans.audit.statistic_checks import SHAPES, made_up_clients, question
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from tests.audit.reference import CONTRIBUTIONS, reference_sum, rounding


def test_every_statistic_has_a_reference():
    assert set(CONTRIBUTIONS) == set(REGISTRY)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_statistic_is_what_its_reference_is(name, shape):
    query, clients = question(name, shape), made_up_clients(shape)
    found, expected = exact_sums(ARRAYS, clients, [query])[0], reference_sum(query, clients)
    n_units = sum(map(len, clients)) if query.statistic.unit is PrivacyUnit.POINT else len(clients)
    assert np.linalg.norm(found - expected) <= rounding(query) * query.sensitivity.l2 * n_units
    assert np.abs(expected - reference_sum(query, clients[1:])).max() > 0.1 * query.sensitivity.l2 / np.sqrt(query.size)
