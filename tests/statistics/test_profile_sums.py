"""Histograms and sums of columns within clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.memory import TableSilo
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.norms import SHARE_STEPS
from feddp_kmeans.statistics.profile_sums import CLIENT_PROFILE, CLUSTERED, POINT_PROFILE, VALUE
from feddp_kmeans.statistics.query import Query

PUBLIC = {
    "center": np.zeros(3),
    "radius": 10.0,
    "centers": np.array([[-RESOLUTION / 2, 0, 0], [RESOLUTION / 2, 0, 0]]),
    "kinds": np.array([CLUSTERED, 2.0, VALUE]),
}
ROWS = np.array([[-5.0, 0, 0.5], [-4.0, 1, 1.0], [5.0, 1, -1.0], [6.0, 7, -9.0], [6.0, -3, np.nan]])


def profiled(statistic, rows, starts, **more):
    found = TableSilo(rows, np.array(starts)).exact_sum(Query(statistic, PUBLIC | more, 3))
    return (found / SHARE_STEPS).reshape(2, 3)


def test_each_point_counts_in_the_classes_and_values_of_its_cluster():
    np.testing.assert_array_equal(profiled(POINT_PROFILE, ROWS, [0, 5]), [[1, 1, 1.5], [0, 2, -2]])


def test_what_a_client_has_beyond_the_bound_counts_less():
    rows = ROWS[:4]
    np.testing.assert_array_equal(profiled(CLIENT_PROFILE, rows, [0, 2, 4], bound=1.0), [[0.5, 0.5, 0.75], [0, 1, -1]])
    np.testing.assert_array_equal(profiled(CLIENT_PROFILE, rows, [0, 2, 4], bound=2.0), [[1, 1, 1.5], [0, 2, -2]])


def test_without_coordinates_of_clusters_all_points_are_in_the_first():
    found = TableSilo(ROWS[:4], np.array([0, 4])).exact_sum(Query(POINT_PROFILE, PUBLIC | {"kinds": np.array([VALUE, 2.0, VALUE])}, 3))
    np.testing.assert_array_equal(found / SHARE_STEPS, [0, 1, 3, -0.5, 0, 0, 0, 0])


cells = hnp.arrays(np.float64, (6, 3), elements=st.one_of(st.floats(-20, 20), st.sampled_from([np.nan, np.inf, 1e308, 0.0, 1.0])))


@given(rows=cells, index=st.integers(0, 5), bound=st.integers(0, 3))
def test_one_unit_moves_a_profile_by_at_most_the_stated_norm_whatever_its_cells_are(rows, index, bound):
    query = Query(CLIENT_PROFILE, PUBLIC | {"bound": float(bound)}, 3) if bound else Query(POINT_PROFILE, PUBLIC, 3)
    unit = slice(2 * (index // 2), 2 * (index // 2) + 2) if bound else index
    fewer = np.delete(rows, unit, axis=0)
    sums = [TableSilo(table, np.arange(0, len(table) + 1, 2)).exact_sum(query) for table in (rows, fewer)] if bound else [
        TableSilo(table, np.array([0, len(table)])).exact_sum(query) for table in (rows, fewer)
    ]  # fmt: skip
    moved = (sums[0] - sums[1]).astype(float)
    assert np.linalg.norm(moved) <= query.sensitivity.l2
    assert np.abs(moved).sum() <= query.sensitivity.l1


@pytest.mark.parametrize("n", [1, 3, 1000])
def test_a_unit_reaches_the_sensitivity(n):
    rows = np.tile([[5.0, 1, 1.0]], (n, 1))
    for query in (Query(POINT_PROFILE, PUBLIC, 3), Query(CLIENT_PROFILE, PUBLIC | {"bound": 3.0}, 3)):
        one = rows if query.statistic is CLIENT_PROFILE else rows[:1]
        moved = np.linalg.norm(TableSilo(one, np.array([0, len(one)])).exact_sum(query).astype(float))
        reached = moved / query.sensitivity.l2
        assert reached == pytest.approx(min(1.0, len(one) / (3 if query.statistic is CLIENT_PROFILE else 1)), rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kinds": np.zeros(3)}, "kinds must be other than 0 for at least one coordinate"),
        ({"kinds": np.array([0, 2.5, 1])}, "kinds must hold whole numbers"),
        ({"kinds": np.array([0.0, -2, 1])}, "kinds must be from -1 to"),
        ({"bound": 1.0}, "public arguments must be"),
    ],
)
def test_other_arguments_are_refused(changes, message):
    with pytest.raises(FedDPError, match=message):
        Query(POINT_PROFILE, PUBLIC | changes, 3)


@pytest.mark.parametrize("bound", [0.5, 1.5, 2.0**25])
def test_other_bounds_are_refused(bound):
    with pytest.raises(FedDPError, match="bound must"):
        Query(CLIENT_PROFILE, PUBLIC | {"bound": bound}, 3)
