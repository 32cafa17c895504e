"""Statistics of the appendix: right values, and sensitivities that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_studies.theory import anchored_sums as theory
from tests.statistics.cases import DIMENSION, IN_FULL, IN_SUBSPACE, PUBLIC, assert_within_what_is_stated, names
from tests.strategies import batches, one_client

ANCHORS = {"anchors": np.array([[0.0, 0, 0, 0], [3, 0, 0, 0], [-4, 2, 0, 1]])}
MOVES = ANCHORS | {"shifts": np.array([[0.0, 0, 0, 0], [-0.5, 0, 0, 0], [3, -2, 0, 0]])}
CASES = [
    (theory.ANCHOR_COUNTS, ANCHORS, 1, 1),
    (theory.MOVED_OUTER_PRODUCT, PUBLIC | MOVES, 2, RESOLUTION**2),
    (theory.MOVED_COUNTS, IN_SUBSPACE | MOVES, 1, 1),
    (theory.MOVED_SUMS, IN_FULL | MOVES, 2, RESOLUTION),
    (theory.CLEAR_SUMS, IN_SUBSPACE | MOVES | {"margin": 0.99}, 2, RESOLUTION),
    (theory.CLEAR_COUNTS, IN_SUBSPACE | MOVES | {"margin": 0.99}, 1, 1),
]
FAR = np.array([[2.0**24, 0, 0, 0], [-(2.0**23), 2.0**23, 0, 0], [0, 0, 0, 2.0**24]])
HUGE = PUBLIC | {"centers": FAR, "anchors": np.eye(3, DIMENSION) * 1e300, "shifts": np.eye(3, DIMENSION) * -1e300}
EXTREME = [*CASES, (theory.MOVED_SUMS, HUGE, 2, RESOLUTION)]


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), EXTREME, ids=names(EXTREME))
@settings(max_examples=40)
@given(batch=batches(DIMENSION), index=st.integers(0, 10**6))
def test_one_point_changes_a_statistic_by_at_most_its_sensitivity(statistic, public, order, sensitivity, batch, index):
    n = len(batch.points)
    fewer = one_client(np.delete(batch.points, [index % n] if n else [], axis=0))
    assert_within_what_is_stated(statistic(batch, **public) - statistic(fewer, **public), statistic, public)
    stated = statistic.sensitivity(**public)
    assert (stated.l1 if order == 1 else stated.l2) == pytest.approx(sensitivity, rel=1e-15)


def test_shifts_that_do_not_fit_the_anchors_are_refused():
    public = IN_FULL | MOVES | {"shifts": np.ones((2, DIMENSION))}
    with pytest.raises(FedDPError, match=r"shifts must have shape \(3, 4\), got \(2, 4\)"):
        theory.MOVED_COUNTS(one_client(np.ones((5, DIMENSION))), **public)


def test_no_site_answers_a_statistic_of_the_appendix():
    assert not {statistic.name for statistic, *_ in CASES} & set(REGISTRY)


def test_moved_points_that_are_clear_by_hand():
    ball = Ball(np.zeros(1), 16.0)
    # Anchors at 0 and 1000; the second one's points move to around 10. Centers at 0 and 10, margin 1/3.
    public = {
        "center": ball.center,
        "radius": 16.0,
        "anchors": np.array([[0.0], [1000.0]]),
        "shifts": np.array([[0.0], [-990.0]]),
        "centers": ball.encode(np.array([[0.0], [10.0]])),
        "projection": np.eye(1),
    }
    batch = one_client([[1.0], [2.5], [4.0], [1000.0], [1001.0], [997.0]])
    assert theory.ANCHOR_COUNTS(batch, anchors=public["anchors"]).tolist() == [3, 3]
    assert theory.CLEAR_COUNTS(batch, **public, margin=1 / 3).tolist() == [2, 2]
    assert (theory.CLEAR_SUMS(batch, **public, margin=1 / 3) * ball.grid).tolist() == [3.5, 21.0]
    assert theory.MOVED_COUNTS(batch, **public).tolist() == [3, 3]


def test_the_nearest_anchor_ignores_other_rows_and_huge_values_have_one(rng):
    points = np.concatenate([rng.standard_normal((500, 7)) * 1e6, np.full((1, 7), 1e300)])
    anchors = rng.standard_normal((90, 7)) * 1e6
    together = theory.nearest(points, anchors)
    assert [int(theory.nearest(row[None], anchors)[0]) for row in points] == together.tolist()
    brute = np.linalg.norm(points[:500, None] - anchors[None], axis=2).argmin(axis=1)
    assert np.array_equal(together[:500], brute)
