"""Counts of listed words within clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.memory import TableSilo
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.statistics.word_counts import CLIENT_WORDS, POINT_WORDS

PUBLIC = {
    "center": np.zeros(3),
    "radius": 10.0,
    "centers": np.array([[-RESOLUTION / 2, 0, 0], [RESOLUTION / 2, 0, 0]]),
    "slots": np.array([0.0, 1.0, 1.0]),
    "n_words": 3.0,
    "most": 2.0,
}
ROWS = np.array([[-5.0, 0, 2], [-5.0, 2, 2], [5.0, 1, -1], [6.0, 7, 0]])


def counted(statistic, rows, starts, **more):
    return TableSilo(rows, np.array(starts)).exact_sum(Query(statistic, PUBLIC | more, 3)).reshape(2, 3).tolist()


def test_each_word_of_a_point_counts_once_in_its_cluster():
    assert counted(POINT_WORDS, ROWS, [0, 4]) == [[1, 0, 2], [1, 1, 0]]
    assert counted(POINT_WORDS, ROWS[1:], [0, 3], most=1.0) == [[0, 0, 1], [1, 1, 0]]


def test_each_word_of_a_client_counts_once_in_a_cluster_and_not_more_than_so_many():
    assert counted(CLIENT_WORDS, ROWS, [0, 4], most=9.0) == [[1, 0, 1], [1, 1, 0]]
    for most in (1, 2, 3):
        found = counted(CLIENT_WORDS, ROWS, [0, 4], most=float(most))
        assert np.sum(found) == most
        assert np.all(np.array(found) <= [[1, 0, 1], [1, 1, 0]])


def test_which_words_count_is_drawn_by_the_words_and_not_by_their_order():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(200, 5.0), *rng.integers(0, 40, (2, 200))]).astype(float)
    starts, more = np.arange(0, 201, 10), {"n_words": 40.0, "most": 4.0}
    query = Query(CLIENT_WORDS, PUBLIC | more, 3)
    kept = TableSilo(rows, starts).exact_sum(query)
    swapped = rows.reshape(20, 10, 3)[:, ::-1, [0, 2, 1]].reshape(200, 3)
    assert (TableSilo(swapped, starts).exact_sum(query) == kept).all()
    assert kept.sum() == 20 * 4
    assert (kept > 0).sum() > 25  # no few words that win in every client


cells = hnp.arrays(np.float64, (6, 3), elements=st.one_of(st.floats(-20, 20), st.sampled_from([np.nan, np.inf, 0.0, 1.0, 2.0])))


@given(rows=cells, index=st.integers(0, 2), most=st.integers(1, 5), client=st.booleans())
def test_one_unit_moves_the_counts_by_at_most_the_stated_norm_whatever_its_cells_are(rows, index, most, client):
    query = Query(CLIENT_WORDS if client else POINT_WORDS, PUBLIC | {"most": float(most)}, 3)
    fewer = np.delete(rows, slice(2 * index, 2 * index + 2) if client else index, axis=0)
    starts = [np.arange(0, len(table) + 1, 2) if client else np.array([0, len(table)]) for table in (rows, fewer)]
    sums = [TableSilo(table, start).exact_sum(query) for table, start in zip((rows, fewer), starts, strict=True)]
    moved = (sums[0] - sums[1]).astype(float)
    assert np.linalg.norm(moved) <= query.sensitivity.l2
    assert np.abs(moved).sum() <= query.sensitivity.l1


def test_fifty_clients_who_know_a_word_show_no_more_of_a_target_than_it_may_add():
    """Whatever others hold, the target's rows move the counts by ones of its own, at most ``most`` of them."""
    target = np.array([[5.0, 2, 1]])
    for helpers in (np.zeros((0, 3)), np.tile([[5.0, 2, -1]], (50, 1))):
        both = [np.concatenate([helpers, rows]) for rows in (target[:0], target)]
        sums = [TableSilo(rows, np.arange(len(rows) + 1)).exact_sum(Query(CLIENT_WORDS, PUBLIC, 3)) for rows in both[::-1] if len(rows)]
        moved = sums[0] - (sums[1] if len(sums) > 1 else 0)
        assert moved.tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slots": np.zeros(3)}, "slots must be 1 for at least one coordinate"),
        ({"n_words": 2.5}, "n_words must hold whole numbers"),
        ({"most": 0.0}, "most must be from 1 to"),
    ],
)
def test_other_arguments_are_refused(changes, message):
    with pytest.raises(FedDPError, match=message):
        Query(POINT_WORDS, PUBLIC | changes, 3)
