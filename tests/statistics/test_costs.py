"""Differences of costs between sets of centers: right for any number of points, and within their bound for all arguments of the gate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.costs import CLIENT_COSTS, POINT_COSTS
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.gate import FARTHEST
from feddp_kmeans.statistics.paper_sums import SLACK
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS
from tests.statistics.cases import exact_norm
from tests.strategies import one_client

UNIT_BALL = {"center": np.zeros(1), "radius": float(RESOLUTION)}
"""In which a coordinate is its own number of steps."""


def exactly(points, sets):
    """The differences of whole points, in Python's integers."""
    costs = [
        [min(sum((int(x) - round(y)) ** 2 for x, y in zip(point, center, strict=True)) for center in centers) for centers in sets.tolist()]
        for point in points
    ]
    return [sum(len(sets) * row[j] - sum(row) for row in costs) for j in range(len(sets))]


def test_costs_by_hand():
    # Points at 1, 2 and 30: the first set costs 1 + 4 + 100, the second 81 + 64 + 400, the third 0 + 1 + 841.
    sets = np.array([[[0.0], [40.0]], [[10.0], [10.0]], [[1.0], [-5.0]]])
    batch = ClientBatch(np.array([[1.0], [2.0], [30.0]]), np.array([0, 2, 2, 3]))
    rows = np.array([[1, 81, 0], [4, 64, 1], [100, 400, 841]])
    vectors = 3 * rows - rows.sum(axis=1, keepdims=True)
    loose = POINT_COSTS(batch, **UNIT_BALL, sets=sets, bound=1e6)
    assert loose / BOUNDED_STEPS * 1e6 == pytest.approx(vectors.sum(axis=0), rel=1e-5)
    # Bound 100: all three points are longer, and so are both clients that hold points.
    for statistic, each in ((POINT_COSTS, vectors), (CLIENT_COSTS, np.array([vectors[:2].sum(axis=0), vectors[2]]))):
        expected = (100 * each / np.linalg.norm(each, axis=1, keepdims=True)).sum(axis=0)
        assert statistic(batch, **UNIT_BALL, sets=sets, bound=100.0) / BOUNDED_STEPS * 100 == pytest.approx(expected, rel=1e-6)


def test_what_all_sets_have_in_common_moves_nothing(rng):
    rows = rng.uniform(-RESOLUTION, RESOLUTION, (50, 1))
    alike = np.repeat(rng.uniform(-RESOLUTION, RESOLUTION, (1, 4, 1)), 5, axis=0)
    for statistic in (POINT_COSTS, CLIENT_COSTS):
        assert not statistic(one_client(rows), **UNIT_BALL, sets=alike, bound=1.0).any()


@st.composite
def contests(draw):
    """Whole points of one client in their ball, sets of centers of nearly any size, and a bound."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, k, c = draw(st.sampled_from([1, 2, 5])), draw(st.sampled_from([1, 2, 7])), draw(st.sampled_from([2, 3, 9, 16]))
    reach = draw(st.sampled_from([1.0, 300.0, RESOLUTION, FARTHEST]))
    sets = rng.standard_normal((c, k, d)) * rng.choice([1e-3, 1.0], (c, 1, 1))
    sets *= reach * (1 - 1e-9) / np.maximum(np.linalg.norm(sets, axis=2, keepdims=True), 1.0)
    rows = np.rint(rng.uniform(-1, 1, (draw(st.sampled_from([1, 2, 30])), d)) * draw(st.sampled_from([3, 40_000])) / d**0.5)
    bound = draw(st.sampled_from([1.0, 1.5, 1e4, 1e10, 2.0**40, 2.0**53, 2.0**100]))
    return {"center": np.zeros(d), "radius": float(RESOLUTION), "sets": sets, "bound": bound}, rows


@given(contests())
@settings(max_examples=60)
def test_a_unit_adds_its_exact_differences_scaled_to_its_bound_and_never_more(contest):
    public, rows = contest
    for statistic, units in ((POINT_COSTS, [row[None] for row in rows]), (CLIENT_COSTS, [rows])):
        for unit in units:
            found, exact = statistic(one_client(unit), **public), exactly(unit, public["sets"])
            assert exact_norm(found, 2) <= BOUNDED_STEPS
            scale = BOUNDED_STEPS * SLACK / max(public["bound"], sum(x * x for x in exact) ** 0.5)
            assert found == pytest.approx([x * scale for x in exact], rel=0, abs=1.001)  # truncated
            if public["bound"] == 1.0 and any(exact):  # whole numbers: any that differ from zero are at the bound
                assert exact_norm(found, 2) >= BOUNDED_STEPS * (1 - 2**-23) - len(found)


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_clients_beyond_what_64_bits_hold_are_exact_in_any_order(table, rng):
    """Far centers: the sum over 3000 points is beyond 2**63, and wrapped around it would favour other sets."""
    sets = np.full((16, 1, 1), FARTHEST)
    sets[3] = 0.0
    rows = np.repeat(rng.integers(-RESOLUTION, RESOLUTION, (100, 1)), 30, axis=0).astype(np.float64)
    exact = [x * (30) for x in exactly(rows[::30], sets)]
    assert max(map(abs, exact)) > 2**63
    public = UNIT_BALL | {"sets": sets, "bound": 2.0**70}
    found = [CLIENT_COSTS(ClientBatch(table(some), np.array([0, 3000])), **public) for some in (rows, rng.permutation(rows))]
    assert np.array_equal(*found)
    assert found[0] / BOUNDED_STEPS == pytest.approx([x / 2**70 for x in exact], rel=1e-6, abs=2 / BOUNDED_STEPS)


def test_rows_on_the_way_to_a_bound_differ_only_by_their_scale():
    """The bound is in squared steps, not in the data's units: the same picture in another ball gives the same integers."""
    sets = np.array([[[100.0, 0]], [[0, 300.0]]])
    rows = np.array([[5.0, 7.0], [-20.0, 90.0]])
    found = []
    for radius, center in ((float(RESOLUTION), np.zeros(2)), (1.0, np.array([3.0, -4.0]))):
        ball = Ball(center, radius)
        found.append(POINT_COSTS(one_client(ball.decode(rows)), center=center, radius=radius, sets=sets, bound=5e4))
    assert np.array_equal(*found)
