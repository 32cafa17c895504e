"""What an earlier run leaves for the next one."""

from dataclasses import replace

import numpy as np
import pytest

from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from tests.algorithm.months import month, year


@pytest.fixture(scope="module")
def found():
    return year([month(0)])[0]


def test_weights_are_shares_and_hidden_spreads_are_taken_for_that_of_all(found):
    last = found.last_run()
    assert last.weights.sum() == pytest.approx(1.0)
    assert last.within == pytest.approx(np.full(3, 4 * 0.08**2), rel=0.5)
    hidden = replace(last, closing=replace(found.closing, spread=np.full(3, np.nan)))
    assert hidden.within == pytest.approx(np.full(3, 4 * 0.08**2), rel=0.5)
    nothing = replace(hidden, closing=replace(hidden.closing, inertia_stddev=1e9))
    assert nothing.within == pytest.approx(np.full(3, (found.closing.reach / 2) ** 2))


def test_negative_sizes_have_a_small_weight(found):
    last = replace(found.last_run(), counts=np.array([1000.0, -50.0, 500.0]))
    assert (last.weights > 0).all()


def test_a_run_that_leaves_nothing_is_refused(found):
    with pytest.raises(InputError, match="must say something about the clusters, got a useless one: all is noise"):
        replace(found, useless="all is noise").last_run()
    with pytest.raises(InputError, match="must be of method 'refined'"):
        replace(found, closing=None).last_run()
    with pytest.raises(InputError, match="must state an error for each of its 3 x 4 coordinates"):
        replace(found.last_run(), place_stddev=np.zeros((2, 4)))


def test_a_run_without_noise_can_be_gone_on_from():
    table = month(0)
    federation = InMemoryFederation([table])
    exact = clustering.cluster(federation, Settings(3, float("inf"), box=(0, 1)), None, seed=0)
    again = clustering.cluster(federation, Settings(3, float("inf"), box=(0, 1)), None, seed=1, last=exact.last_run())
    assert np.abs(again.centers - exact.centers).max() < 1e-3
