"""Statistics of sparse points: the bits of dense ones, and no more sensitive, wherever the ball is and however many rows there are."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.memory import ArraySilo, TableSilo
from feddp_kmeans.statistics import REGISTRY, paper_sums, residual_sums, sparse_points
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.query import Query
from tests.sparse_rows import AWAY, clients_of, rows_about, shifted
from tests.statistics.cases import ALL_CASES, CLIENT_CASES, DIMENSION, POINT_CASES, RADIUS, assert_within_what_is_stated, names
from tests.strategies import without_client

IN_SPACE = ("center", "anchors", "low", "high")
"""Public arguments that are places in the data's own space."""


@pytest.fixture(autouse=True, scope="module")
def _sparse_however_many_are_clipped():
    with patch.object(sparse_points, "_DENSE_SHARE", np.inf):
        yield


def moved_public(public, center):
    """The same public arguments around another center."""
    return public | {name: public[name] + center for name in IN_SPACE if name in public}


@st.composite
def cases_about(draw, public):
    """Public arguments up to 1e15 radii away, rows of every kind about that ball, and a generator."""
    center = shifted(DIMENSION, RADIUS, draw(st.sampled_from(AWAY)), draw(st.sampled_from(["none", "one", "some", "all"])))
    given_ = moved_public(public, center)
    dense, stored = draw(rows_about(Ball(given_.get("center", center), RADIUS)))
    return given_, dense, stored, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def test_every_statistic_has_a_case():
    assert {case[0].name for case in ALL_CASES} >= set(REGISTRY)


@pytest.mark.parametrize(("statistic", "public"), [case[:2] for case in ALL_CASES], ids=names(ALL_CASES))
@given(data=st.data())
@settings(max_examples=15)
def test_sparse_rows_give_the_bits_of_dense_ones_wherever_the_ball_is(statistic, public, data):
    there, dense, stored, rng = data.draw(cases_about(public))
    batch = clients_of(dense, rng, 4)
    expected = statistic(batch, **there)
    assert np.array_equal(statistic(ClientBatch(stored, batch.starts), **there), expected)
    pieces = [stored[a:b] for a, b in zip(batch.starts[:-1], batch.starts[1:], strict=True)]
    assert np.array_equal(ArraySilo(pieces).exact_sum(Query(statistic, there, stored.shape[1])), expected)
    assert np.array_equal(TableSilo(stored, batch.starts).exact_sum(Query(statistic, there, stored.shape[1])), expected)


@pytest.mark.parametrize(("statistic", "public"), [case[:2] for case in POINT_CASES], ids=names(POINT_CASES))
@given(data=st.data())
@settings(max_examples=15)
def test_one_sparse_row_changes_a_statistic_by_at_most_its_sensitivity(statistic, public, data):
    there, _, stored, rng = data.draw(cases_about(public))
    keep = np.delete(np.arange(stored.shape[0]), rng.integers(stored.shape[0]))
    whole, fewer = (ClientBatch(rows, np.array([0, rows.shape[0]])) for rows in (stored, stored[keep]))
    assert_within_what_is_stated(statistic(whole, **there) - statistic(fewer, **there), statistic, there)


@pytest.mark.parametrize(("statistic", "public"), [case[:2] for case in CLIENT_CASES], ids=names(CLIENT_CASES))
@given(data=st.data())
@settings(max_examples=15)
def test_one_sparse_client_changes_a_statistic_by_at_most_its_sensitivity(statistic, public, data):
    there, _, stored, rng = data.draw(cases_about(public))
    batch = clients_of(stored, rng, 4)
    fewer = without_client(batch, rng.integers(4))
    assert_within_what_is_stated(statistic(batch, **there) - statistic(fewer, **there), statistic, there)


@pytest.mark.parametrize("away", [1e5, 1e7, 1e9, 1e12, 1e15])
def test_a_row_of_many_radii_weighs_no_more_than_one_of_one(away, rng):
    """Attack: timestamps, a ball of their spread, and a row that once passed for a short one and moved sums by up to 126 radii."""
    public = {"center": shifted(3, RADIUS, away, "one"), "radius": RADIUS}
    for reach in np.geomspace(1.5, 1e4, 60):
        rows = public["center"] + reach * RADIUS * (np.arange(3) == 2) * rng.choice([-1, 1])
        one = ClientBatch(sparse.csr_matrix(rows[None]), np.array([0, 1]))
        moment = public | {"bound": 0.3 * RESOLUTION**2}
        for statistic, given_ in (
            (paper_sums.OUTER_PRODUCT, public),
            (paper_sums.CLUSTER_SUMS, public | {"centers": np.zeros((1, 3))}),
            (residual_sums.POINT_SECOND_MOMENT, moment),
            (residual_sums.CLIENT_SECOND_MOMENT, moment),
        ):
            assert_within_what_is_stated(statistic(one, **given_), statistic, given_)


def copies(statistic, rows, public, count):
    """What this many copies of one row give, from the one: points by themselves, else each a client."""
    one = ClientBatch(np.asarray(rows, dtype=float), np.array([0, 1]))
    return count * statistic(one, **public)


@pytest.mark.parametrize("count", [pytest.param(20_000), pytest.param(3_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("bound", [1.0, 0.3 * RESOLUTION**2])
def test_many_empty_rows_add_up_exactly(bound, count):
    """Rows without a stored number count for nothing in memory, yet their sums must stay below 2**53."""
    center = np.array([0.7, -0.4, 0.55])
    public = {"center": center, "radius": 1.0}
    rows = sparse.csr_matrix((count, 3))
    federations = [ArraySilo([rows]), ArraySilo([rows[: count // 2], rows[count // 2 :]])]
    federations.append(TableSilo(rows, np.array([0, count])))
    for clients in federations:
        for statistic, given_ in (
            (paper_sums.OUTER_PRODUCT, public),
            (residual_sums.POINT_SECOND_MOMENT, public | {"bound": bound}),
            (paper_sums.CLUSTER_SUMS, public | {"centers": np.zeros((1, 3))}),
        ):
            assert np.array_equal(
                clients.exact_sum(Query(statistic, given_, clients.dimension)), copies(statistic, np.zeros((1, 3)), given_, count)
            )


@pytest.mark.slow
def test_a_million_rows_of_one_coordinate_add_up_exactly():
    """One coordinate: the most rows that a batch may hold, and the longest products."""
    count = 1 << 20
    public = {"center": np.array([1.0]), "radius": 1.0}
    rows = sparse.csr_matrix((count, 1))
    for clients in (ArraySilo([rows]), TableSilo(rows, np.array([0, count]))):
        assert clients.exact_sum(Query(paper_sums.OUTER_PRODUCT, public, clients.dimension)).tolist() == [count * RESOLUTION**2]


def test_runs_on_sparse_and_dense_points_give_the_same_centers_far_from_the_origin(rng):
    from feddp_kmeans.algorithm.clustering import run
    from feddp_kmeans.algorithm.prepare import prepare
    from feddp_kmeans.algorithm.settings import Settings

    start = 1.7e9  # seconds since 1970, over an hour
    clients = [np.column_stack([start + 3600 * rng.random(n), rng.random(n) < 0.5]).astype(float) for n in (300, 0, 200)]
    clients[0][:5] = [[start + 9e4, 0.0], [0.0, 1.0], [start, 0.0], [-start, 0.0], [1e300, 0.0]]
    server = np.column_stack([start + 3600 * rng.random(200), rng.random(200) < 0.5])
    for unit in PrivacyUnit:
        prepared = prepare(Settings(2, 1.0, privacy_unit=unit.value), server, 3)
        found = [run(InMemoryFederation(form), prepared, seed=0).centers for form in (clients, [sparse.csr_matrix(c) for c in clients])]
        assert np.array_equal(*found)
