"""What clients compute: right values, and sensitivities that hold and are reached."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.batches import finite_batch
from feddp_kmeans.statistics import (
    REGISTRY,
    arithmetic,
    column_counts,
    costs,
    norms,
    profile_sums,
    residual_sums,
    spreads,
    swaps,
    word_counts,
)
from feddp_kmeans.statistics import paper_sums as statistics
from feddp_kmeans.statistics.arithmetic import assign
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.paper_sums import COUNT_STEPS, MEAN_STEPS
from feddp_kmeans.statistics.query import Query, Statistic
from tests.statistics.cases import (
    ALL_CASES,
    BALL,
    CENTERS,
    CLIENT_CASES,
    COSTS,
    DIMENSION,
    GRID,
    IN_FULL,
    IN_SUBSPACE,
    NORMS_FULL,
    POINT_CASES,
    PROJECTION,
    PUBLIC,
    RADIUS,
    REFINED_FULL,
    SPREADS,
    SWAPS,
    TREE,
    K,
    assert_within_what_is_stated,
    exact_norm,
    names,
)
from tests.strategies import batches, one_client, without_client


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), POINT_CASES, ids=names(POINT_CASES))
@given(batch=batches(DIMENSION), index=st.integers(0, 10**6))
def test_one_point_changes_a_statistic_of_points_by_at_most_its_sensitivity(statistic, public, order, sensitivity, batch, index):
    n = len(batch.points)
    if n == 0:
        return
    fewer = one_client(np.delete(batch.points, index % n, axis=0))
    assert_within_what_is_stated(statistic(batch, **public) - statistic(fewer, **public), statistic, public)


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), CLIENT_CASES, ids=names(CLIENT_CASES))
@given(batch=batches(DIMENSION), index=st.integers(0, 10**6))
def test_one_client_changes_a_statistic_of_clients_by_at_most_its_sensitivity(statistic, public, order, sensitivity, batch, index):
    fewer = without_client(batch, index % batch.n_clients)
    assert_within_what_is_stated(statistic(batch, **public) - statistic(fewer, **public), statistic, public)


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), ALL_CASES, ids=names(ALL_CASES))
def test_a_statistic_states_the_sensitivity_that_its_proof_gives(statistic, public, order, sensitivity):
    stated = Query(statistic, public, DIMENSION).sensitivity
    assert (stated.l1 if order == 1 else stated.l2) == pytest.approx(sensitivity, rel=1e-15)


TINY = {"center": np.full(DIMENSION, 1e-141), "radius": 1e-140}
FAR = np.array([[2.0**24, 0, 0, 0], [-(2.0**23), 2.0**23, 0, 0], [0, 0, 0, 2.0**24]])
FAR_SETS = np.stack([FAR, -FAR, *[FAR / 2.0**step for step in range(14)]])
ENDS = np.array([1.001, 1e3, 2.0**55.99])
"""Sensitivities of a client's bounded vector, in integer steps: from 1 to 2**56."""
EXTREME_CASES = [
    (statistics.OUTER_PRODUCT, TINY),
    (statistics.OUTER_PRODUCT, {"center": np.full(DIMENSION, 1e300), "radius": 1e307}),
    (statistics.CLUSTER_SUMS, TINY | {"centers": FAR}),
    (spreads.POINT_SPREADS, PUBLIC | {"centers": FAR, "reach": 1.0}),
    (spreads.POINT_SPREADS, TINY | {"centers": FAR, "reach": 2.0**25}),
    (swaps.POINT_SWAPS, PUBLIC | {"centers": FAR, "others": -FAR, "ones": FAR / 2, "twos": 0 * FAR, "reach": 1.0}),
    (swaps.POINT_SWAPS, TINY | {"centers": 0 * FAR, "others": FAR, "ones": FAR, "twos": FAR, "reach": 2.0**25}),
    (norms.POINT_DISTANCES, {"center": np.zeros(DIMENSION), "edges": np.zeros(3)}),
    (norms.GRID_COUNTS, {"low": np.zeros(DIMENSION), "high": np.full(DIMENSION, 1e-320), "cells": np.full(DIMENSION, 5.0)}),
    *(
        (statistic, where | {"bound": bound})
        for statistic, where, bounds in (
            (statistics.CLIENT_OUTER_PRODUCT, PUBLIC, BALL.grid**2 * ENDS),
            (statistics.CLIENT_OUTER_PRODUCT, TINY, (1e-140 / RESOLUTION) ** 2 * ENDS),
            (statistics.CLIENT_CLUSTER_COUNTS, IN_SUBSPACE, ENDS / COUNT_STEPS),
            (statistics.CLIENT_PRESENCE, IN_SUBSPACE, ENDS / COUNT_STEPS),
            (statistics.CLIENT_CLUSTER_SUMS, IN_FULL, BALL.grid / MEAN_STEPS * ENDS),
            (statistics.CLIENT_CLUSTER_MEANS, PUBLIC | {"centers": FAR}, BALL.grid / MEAN_STEPS * ENDS),
            (residual_sums.POINT_SECOND_MOMENT, PUBLIC, (1.0, 2.0**100)),
            (residual_sums.CLIENT_SECOND_MOMENT, PUBLIC, (1.0, 2.0**100)),
            (residual_sums.POINT_RESIDUALS, IN_FULL | {"origins": FAR, "count_weight": 0.0}, (0.5, 2.0**60)),
            (residual_sums.POINT_RESIDUALS, IN_FULL | {"origins": CENTERS, "count_weight": 2.0**32}, (0.5, 2.0**60)),
            (residual_sums.CLIENT_RESIDUALS, IN_FULL | {"origins": CENTERS, "count_weight": 2.0**32}, (0.5, 2.0**60)),
            (residual_sums.CLIENT_RESIDUALS, IN_FULL | {"origins": FAR, "count_weight": 0.0}, (0.5, 2.0**60)),
            (residual_sums.POINT_RESIDUALS, IN_FULL | {"origins": FAR, "count_weight": 1.0, "square_weight": 1.0}, (0.5, 2.0**60)),
            (residual_sums.CLIENT_RESIDUALS, IN_FULL | {"origins": FAR, "count_weight": 1.0, "square_weight": 1.0}, (0.5, 2.0**60)),
            (spreads.CLIENT_SPREADS, PUBLIC | {"centers": FAR, "reach": 1.0}, (0.5, 2.0**60)),
            (spreads.CLIENT_SPREADS, IN_FULL | {"reach": 2.0**25}, (0.5, 2.0**60)),
            (swaps.CLIENT_SWAPS, PUBLIC | {"centers": FAR, "others": -FAR, "ones": FAR, "twos": 0 * FAR, "reach": 1.0}, (0.5, 2.0**60)),
            (costs.POINT_COSTS, PUBLIC | {"sets": FAR_SETS}, (1.0, 2.0**100)),
            (costs.CLIENT_COSTS, TINY | {"sets": FAR_SETS}, (1.0, 2.0**100)),
        )
        for bound in map(float, bounds)
    ),
]
"""Public arguments at the ends of their ranges."""


@pytest.mark.parametrize(("statistic", "public"), EXTREME_CASES, ids=[case[0].name for case in EXTREME_CASES])
@settings(max_examples=20)
@given(batch=batches(DIMENSION), index=st.integers(0, 10**6))
def test_the_sensitivity_holds_for_extreme_public_arguments(statistic, public, batch, index):
    if statistic.whole_clients:
        fewer = without_client(batch, index % batch.n_clients)
    else:
        fewer = one_client(np.delete(batch.points, [index % len(batch.points)] if len(batch.points) else [], axis=0))
    assert_within_what_is_stated(statistic(batch, **public) - statistic(fewer, **public), statistic, public)


@pytest.mark.parametrize(
    ("statistic", "public", "message"),
    [
        (statistics.OUTER_PRODUCT, PUBLIC | {"radius": 1e-150}, "radius must be from 1e-140 to 1.79769e\\+308, got 1e-150"),
        (statistics.OUTER_PRODUCT, PUBLIC | {"radius": np.nan}, "radius must be from 1e-140 to .*, got nan"),
        (statistics.OUTER_PRODUCT, PUBLIC | {"center": np.full(DIMENSION, np.nan)}, "center must be finite, got nan"),
        (statistics.CLIENT_CLUSTER_COUNTS, IN_FULL | {"bound": -1e9}, r"bound must be from 0 to 1.79769e\+308, got -1000000000"),
        (statistics.CLIENT_OUTER_PRODUCT, PUBLIC | {"bound": np.nan}, "bound must be from .* got nan"),
        (statistics.CLIENT_CLUSTER_SUMS, IN_FULL | {"bound": 0.0}, "bound must give 'client-cluster-sums' a sensitivity from 1 to"),
        (statistics.CLIENT_OUTER_PRODUCT, PUBLIC | {"bound": 1e100}, "a sensitivity from 1 to 7.20576e.16 integer steps, got Sensitivity"),
        (statistics.CLIENT_PRESENCE, IN_FULL | {"bound": 2.0**41}, "a sensitivity from 1 to"),
        (residual_sums.POINT_RESIDUALS, REFINED_FULL | {"bound": 1e-12, "count_weight": 0.0}, "bound must be from 0.5 to .*, got 1e-12"),
        (residual_sums.CLIENT_RESIDUALS, REFINED_FULL | {"count_weight": 1e308}, "count_weight must be from 0 to 4.29497e.09, got 1e.308"),
        (residual_sums.POINT_RESIDUALS, REFINED_FULL | {"count_weight": -3.0}, "count_weight must be from 0 to"),
        (residual_sums.CLIENT_SECOND_MOMENT, PUBLIC | {"bound": -1.0}, "bound must be from"),
        (residual_sums.POINT_RESIDUALS, REFINED_FULL | {"origins": CENTERS[:2]}, r"origins must have shape \(3, 4\), got \(2, 4\)"),
        (spreads.POINT_SPREADS, SPREADS | {"reach": 0.0}, "reach must be from 1 to 3.35544e.07, got 0.0"),
        (spreads.POINT_SPREADS, SPREADS | {"centers": CENTERS[:, :2]}, r"centers must have shape \(k, 4\)"),
        (spreads.CLIENT_SPREADS, SPREADS | {"bound": 0.0}, "bound must be from 0.5 to"),
        (swaps.POINT_SWAPS, SWAPS | {"others": CENTERS[:2]}, r"others must have shape \(3, 4\), got \(2, 4\)"),
        (swaps.POINT_SWAPS, SWAPS | {"twos": 2 * FAR}, "twos must have rows of norm at most 1.67772e.07, got 33554432.0"),
        (swaps.CLIENT_SWAPS, SWAPS | {"bound": 0.0}, "bound must be from 0.5 to"),
        (costs.POINT_COSTS, COSTS | {"sets": COSTS["sets"][:1]}, r"sets must have shape \(c, k, 4\), c from 2 to 16, k from .*\(1, 3, 4\)"),
        (costs.POINT_COSTS, COSTS | {"sets": np.zeros((17, 3, DIMENSION))}, r"c from 2 to 16, k from 1 to 1048576, got \(17, 3, 4\)"),
        (costs.POINT_COSTS, COSTS | {"sets": CENTERS}, r"sets must have shape \(c, k, 4\)"),
        (costs.CLIENT_COSTS, COSTS | {"sets": 2 * FAR_SETS}, "sets must have rows of norm at most 1.67772e.07, got 33554432.0"),
        (costs.CLIENT_COSTS, COSTS | {"bound": 0.5}, "bound must be from 1 to 1.26765e.30, got 0.5"),
        (statistics.CLUSTER_COUNTS, PUBLIC | {"centers": 2 * FAR}, "centers must have rows of norm at most 1.67772e.07, got 33554432.0"),
        (statistics.CLUSTER_COUNTS, IN_SUBSPACE | {"projection": 2 * PROJECTION}, "projection must have columns of norm at most 1"),
        (norms.POINT_DISTANCES, {"center": BALL.center, "edges": np.array([1.0, 0.5])}, "edges must be in ascending order"),
        (norms.POINT_MOMENT_NORMS, PUBLIC | {"edges": np.array([1.0, np.nan])}, "edges must be finite, got nan"),
        (norms.GRID_COUNTS, GRID | {"high": GRID["low"]}, "low must be below high by a finite width, got widths from 0 to 0"),
        (norms.GRID_COUNTS, GRID | {"low": np.full(DIMENSION, -1e308), "high": np.full(DIMENSION, 1e308)}, "by a finite width"),
        (norms.GRID_COUNTS, GRID | {"cells": np.array([2.0, 3, 0, 2])}, "cells must be from 1 to"),
        (norms.GRID_COUNTS, GRID | {"cells": np.array([2.0, 3.5, 1, 2])}, "cells must hold whole numbers, got 3.5"),
        (norms.GRID_COUNTS, GRID | {"cells": np.full(DIMENSION, 2.0**20)}, "cells must be at most 67108864 together"),
        (norms.TREE_COUNTS, TREE | {"depth": 13.0}, "cells must be at most 4503599627370496 together when they are halved 13 times"),
        (norms.TREE_COUNTS, TREE | {"depth": 0.5}, "depth must hold whole numbers, got 0.5"),
        (norms.TREE_COUNTS, TREE | {"high": TREE["low"]}, "low must be below high by a finite width"),
        (norms.POINT_COUNT, PUBLIC, "public arguments must be none, got 'center'"),
        (residual_sums.CLIENT_SIZES, {"bound": 1.0}, "public arguments must be none, got 'bound'"),
    ],
)
def test_public_arguments_that_no_proof_covers_are_refused_whatever_the_points(statistic, public, message):
    for rows in (np.zeros((0, DIMENSION)), np.ones((5, DIMENSION))):
        with pytest.raises(FedDPError, match=message):
            statistic(one_client(rows), **public)


def test_every_statistic_is_tried_at_its_own_unit():
    for unit, cases in ((PrivacyUnit.POINT, POINT_CASES), (PrivacyUnit.CLIENT, CLIENT_CASES)):
        made = {statistic.name for statistic in REGISTRY.values() if statistic.unit is unit}
        assert {case[0].name for case in cases} == made


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), ALL_CASES, ids=names(ALL_CASES))
def test_a_query_knows_how_many_values_come_out(statistic, public, order, sensitivity):
    for rows in (0, 7):
        assert Query(statistic, public, DIMENSION).size == len(statistic(one_client(np.zeros((rows, DIMENSION))), **public))


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), ALL_CASES, ids=names(ALL_CASES))
def test_the_sensitivity_is_reached(statistic, public, order, sensitivity):
    # A point on an axis at the edge of the ball; a client that repeats it many times, in as many clusters as there are.
    edge = BALL.center + np.array([[2 * RADIUS, 0, 0, 0], [-2 * RADIUS, 2 * RADIUS, 0, 0], [0, 0, 0, 2 * RADIUS]])
    rows = np.repeat(edge[:1], 30, axis=0) if statistic.whole_clients else edge[:1]
    if statistic in (statistics.CLIENT_PRESENCE, statistics.CLIENT_CLUSTER_MEANS):
        rows = np.repeat(edge, 10, axis=0)
    if statistic is residual_sums.POINT_SECOND_MOMENT:
        # Scales of points are rounded down to a few values: the bound is reached where a point just meets it.
        public = public | {"bound": 1.0001 * RESOLUTION**2 * (1 - (1 - residual_sums.TRACE_WEIGHT**2) / DIMENSION) ** 0.5}
    reached = exact_norm(statistic(one_client(rows), **public), order)
    assert reached == pytest.approx(sensitivity, rel=1e-3)


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), ALL_CASES, ids=names(ALL_CASES))
@settings(max_examples=25)
@given(batch=batches(DIMENSION))
def test_statistics_add_up_over_clients_exactly(statistic, public, order, sensitivity, batch):
    alone = [statistic(one_client(batch.points[a:b]), **public) for a, b in zip(batch.starts[:-1], batch.starts[1:], strict=True)]
    assert np.array_equal(statistic(batch, **public), np.sum(alone, axis=0))


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), ALL_CASES, ids=names(ALL_CASES))
def test_a_client_without_points_adds_nothing_and_data_stay_as_they_were(statistic, public, order, sensitivity, rng):
    assert not statistic(one_client(np.empty((0, DIMENSION))), **public).any()
    rows = rng.standard_normal((20, DIMENSION)) * 5
    before = rows.copy()
    statistic(one_client(rows), **public)
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), ALL_CASES, ids=names(ALL_CASES))
def test_a_row_without_any_cell_adds_nothing_where_gaps_are_filled_in(statistic, public, order, sensitivity, table, rng):
    rows = rng.standard_normal((12, DIMENSION))
    rows[[0, 5, 11]] = np.nan
    there = np.isfinite(rows).all(axis=1)
    filled = Query(statistic, {"fill": np.zeros(DIMENSION), "units": np.ones(DIMENSION)} | public, DIMENSION)
    with_gaps = filled(finite_batch(table(rows), np.array([1, 7, 4])))
    np.testing.assert_array_equal(with_gaps, filled(finite_batch(table(rows[there]), np.array([0, 6, 3]))))


OTHER_PROJECTION = np.linalg.qr(np.random.default_rng(4).standard_normal((DIMENSION, 2)))[0]
CHANGES = {
    "center": lambda center: center + 0.3,
    "radius": lambda radius: 1.5 * radius,
    "centers": lambda centers: 0.5 * centers[::-1],
    "sets": lambda sets: 0.5 * sets[::-1],
    "projection": lambda _: OTHER_PROJECTION,
    "residual_projection": lambda old: old if old.shape[1] == 0 else OTHER_PROJECTION,
}


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_batch_remembers_nothing_of_other_arguments(table, rng):
    rows, starts = table(rng.standard_normal((40, DIMENSION))), np.array([0, 7, 7, 20, 40])
    remembers = ClientBatch(rows, starts)
    for statistic, public, *_ in ALL_CASES:
        variants = [public | {name: change(public[name])} for name, change in CHANGES.items() if name in public]
        for arguments in (public, *variants, public):
            assert np.array_equal(statistic(remembers, **arguments), statistic(ClientBatch(rows, starts), **arguments)), statistic.name


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_many_short_residuals_far_from_the_balls_center_add_up_exactly(table, rng):
    # Factors near 2**30 times coordinates near 2**16: a few dozen points are more than float64 holds exactly.
    origins = np.array([[60_000.0, 0, 0, 0], [0, -60_000, 1, 0], [0, 0, 0, 60_000]])
    rows = BALL.decode(origins[rng.integers(3, size=3000)] + rng.integers(-3, 4, (3000, DIMENSION)))
    public = PUBLIC | {"centers": origins, "origins": origins, "bound": 1.0, "count_weight": 1.0}
    parts = [
        residual_sums.POINT_RESIDUALS(ClientBatch(table(part), np.array([0, len(part)])), **public) for part in np.array_split(rows, 120)
    ]
    whole = residual_sums.POINT_RESIDUALS(ClientBatch(table(rows), np.array([0, len(rows)])), **public)
    assert np.array_equal(whole, np.sum(parts, axis=0))


def test_outer_product_is_the_upper_triangle(rng):
    rows = rng.standard_normal((50, DIMENSION)) * 0.2
    values = statistics.OUTER_PRODUCT(one_client(rows), **PUBLIC) * BALL.grid**2
    centred = rows - BALL.center
    assert values == pytest.approx((centred.T @ centred)[np.triu_indices(DIMENSION)], abs=1e-3)


def test_sums_and_counts_by_hand():
    ball = Ball(np.zeros(1), 8.0)
    batch = one_client([[1.0], [2.0], [7.0], [-100.0]])  # the last is clipped to -8
    public = {"center": ball.center, "radius": 8.0, "centers": ball.encode(np.array([[0.0], [6.0]]))}
    assert statistics.CLUSTER_COUNTS(batch, **public).tolist() == [3, 1]
    assert (statistics.CLUSTER_SUMS(batch, **public) * ball.grid).tolist() == [-5.0, 7.0]


def test_clients_send_means_and_presences_by_hand():
    ball = Ball(np.zeros(1), 8.0)
    batch = ClientBatch(np.array([[1.0], [3.0], [7.0], [5.0]]), np.array([0, 3, 3, 4]))
    public = {"center": ball.center, "radius": 8.0, "centers": ball.encode(np.array([[0.0], [6.0]])), "bound": 100.0}
    means = statistics.CLIENT_CLUSTER_MEANS(batch, **public) * ball.grid / MEAN_STEPS
    presences = statistics.CLIENT_PRESENCE(batch, **public) / COUNT_STEPS
    assert means.tolist() == [2.0, 12.0]
    assert presences.tolist() == [1.0, 2.0]
    sums = statistics.CLIENT_CLUSTER_SUMS(batch, **public) * ball.grid / MEAN_STEPS
    assert sums.tolist() == [4.0, 12.0]


def test_presence_of_a_client_in_one_cluster_is_within_a_bound_below_one():
    public = IN_FULL | {"bound": 0.5}
    present = statistics.CLIENT_PRESENCE(one_client(np.zeros((3, DIMENSION))), **public)
    stated = statistics.CLIENT_PRESENCE.sensitivity(**public)
    assert exact_norm(present, 2) == pytest.approx(stated.l2, rel=1e-4)
    assert exact_norm(present, 2) <= stated.l2 == stated.l1


def test_a_client_within_its_bound_is_not_changed(rng):
    rows = rng.standard_normal((12, DIMENSION)) * 0.05
    loose = statistics.CLIENT_OUTER_PRODUCT(one_client(rows), **PUBLIC, bound=100.0)
    assert np.array_equal(loose, statistics.OUTER_PRODUCT(one_client(rows), **PUBLIC))


@pytest.mark.parametrize(("statistic", "public", "order", "sensitivity"), CLIENT_CASES, ids=names(CLIENT_CASES))
@pytest.mark.parametrize("together", [5000, 3])
def test_the_sensitivity_holds_for_clients_of_thousands_of_points(statistic, public, order, sensitivity, together, monkeypatch, rng):
    monkeypatch.setattr(arithmetic, "LARGEST_TOGETHER", together)
    sizes = [0, 4, 3000, 0, 4, 2, 0]
    rows = BALL.center + rng.standard_normal((sum(sizes), DIMENSION)) * RADIUS
    batch = ClientBatch(rows, np.cumsum([0, *sizes]))
    whole = statistic(batch, **public)
    for index in range(len(sizes)):
        assert_within_what_is_stated(whole - statistic(without_client(batch, index), **public), statistic, public)


@pytest.mark.parametrize("size", [1, 3, 50, 400])
def test_clipping_an_outer_product_scales_it(size, rng):
    rows = BALL.center + rng.standard_normal((size, DIMENSION)) * 0.5
    whole = statistics.OUTER_PRODUCT(one_client(rows), **PUBLIC).astype(float)
    clipped = statistics.CLIENT_OUTER_PRODUCT(one_client(rows), **PUBLIC, bound=0.01).astype(float)
    cosine = whole @ clipped / np.linalg.norm(whole) / np.linalg.norm(clipped)
    assert cosine > 0.9999


def test_ties_go_to_the_first_center_and_assignment_ignores_other_rows(rng):
    encoded = np.zeros((5, 2))
    centers = np.array([[1.0, 0], [-1, 0], [0, 1]])
    assert assign(encoded, centers).tolist() == [0] * 5
    many = np.rint(rng.standard_normal((3000, 8)) * 20000)
    some = np.rint(rng.standard_normal((700, 8)) * 20000)
    together = assign(many, some)
    assert np.array_equal(together[17:], assign(many[17:], some))
    brute = ((many[:200, None].astype(np.int64) - some[None].astype(np.int64)) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(together[:200], brute)


def test_a_clients_norm_ignores_other_clients_to_the_last_bit(rng, monkeypatch):
    monkeypatch.setattr(arithmetic, "LARGEST_TOGETHER", 64)
    sizes = np.array([3, 0, 1, 17, 30, 2, 100, 31, 65, 4])
    batch = ClientBatch(np.zeros((sizes.sum(), 0)), np.concatenate([[0], np.cumsum(sizes)]))
    encoded = np.rint(rng.standard_normal((sizes.sum(), 50)) * 9000)
    together = arithmetic.outer_product_norms(encoded, batch)
    for index, (a, b) in enumerate(zip(batch.starts[:-1], batch.starts[1:], strict=True)):
        alone = arithmetic.outer_product_norms(encoded[a:b], ClientBatch(encoded[a:b], np.array([0, b - a])))
        assert together[index] == alone[0]
        assert alone[0] == pytest.approx(np.linalg.norm(encoded[a:b].T @ encoded[a:b]))


def test_the_norm_of_a_large_client_ignores_others_of_its_size(rng):
    """Products of 130 x 130 numbers: sums that go through a buffer of 8192 would start anew at other places for each client."""
    n, dimension, clients = 130, 130, 8
    encoded = np.rint(rng.standard_normal((clients * n, dimension)) * 3000)
    norms = arithmetic.outer_product_norms(encoded, ClientBatch(encoded, np.arange(clients + 1) * n))
    alone = [arithmetic.outer_product_norms(rows, ClientBatch(rows, np.array([0, n])))[0] for rows in np.split(encoded, clients)]
    assert norms.tolist() == alone


@pytest.mark.parametrize("size", [1, 7, 300])
def test_refined_second_moment_is_traceless_part_and_trace(size, rng):
    rows = BALL.center + rng.standard_normal((size, DIMENSION)) * 0.4
    bound = 10.0 * size * RESOLUTION**2
    values = residual_sums.CLIENT_SECOND_MOMENT(one_client(rows), **PUBLIC, bound=bound) / residual_sums.BOUNDED_STEPS * bound
    encoded = BALL.encode(rows)
    moment = encoded.T @ encoded
    trace = np.trace(moment)
    upper = np.triu_indices(DIMENSION, 1)
    expected = np.concatenate(
        [
            2**0.5 * moment[upper],
            np.diag(moment) - trace / DIMENSION,
            [residual_sums.TRACE_WEIGHT * trace / DIMENSION**0.5],
        ]
    )
    # Rounding the scaled points moves each by at most half a step in 2**16 / sqrt(10 n).
    assert values == pytest.approx(expected, abs=2e-3 * np.abs(expected).max())
    isometric = np.sum(values[:-1] ** 2)
    traceless = moment - np.eye(DIMENSION) * trace / DIMENSION
    assert isometric == pytest.approx(np.sum(traceless**2), rel=1e-2)


@pytest.mark.parametrize("case", ALL_CASES, ids=names(ALL_CASES))
@pytest.mark.parametrize("reach", [1.0, 0.2, 1e-3])
def test_sparse_points_give_the_bits_of_dense_ones(case, reach, rng):
    statistic, public, *_ = case
    rows = rng.standard_normal((60, DIMENSION)) * (rng.random((60, DIMENSION)) < 0.4)
    rows[7], rows[9] = 0, 1e200
    if "radius" in public:
        public = public | {"radius": RADIUS / reach}
    starts = np.array([0, 20, 20, 60])
    expected = statistic(ClientBatch(rows, starts), **public)
    assert np.array_equal(statistic(ClientBatch(sparse.csr_matrix(rows), starts), **public), expected)


def test_refined_residuals_by_hand():
    ball = Ball(np.zeros(1), 8.0)
    batch = ClientBatch(np.array([[1.0], [3.0], [7.0], [5.0]]), np.array([0, 3, 3, 4]))
    centers = ball.encode(np.array([[0.0], [6.0]]))
    bound = residual_sums.whole_bound(4e5)
    public = {"center": ball.center, "radius": 8.0, "centers": centers, "origins": centers, "count_weight": 100.0, "bound": bound}
    values = residual_sums.CLIENT_RESIDUALS(batch, **public).reshape(2, 2) / residual_sums.BOUNDED_STEPS * bound
    assert values[:, 0] * ball.grid == pytest.approx([4.0, 1 - 1.0], abs=2e-3)
    assert values[:, 1] / 100 == pytest.approx([2, 2], abs=1e-2)
    single = residual_sums.POINT_RESIDUALS(batch, **public).reshape(2, 2) / residual_sums.BOUNDED_STEPS * bound
    assert single == pytest.approx(values, abs=10)
    assert 4e5 <= bound <= 4.01e5


def test_spreads_by_hand():
    ball = Ball(np.zeros(1), 8.0)
    batch = ClientBatch(np.array([[1.0], [3.0], [7.0], [-5.0]]), np.array([0, 3, 3, 4]))
    public = {"center": ball.center, "radius": 8.0, "centers": ball.encode(np.array([[0.0], [6.0]])), "reach": 4 / ball.grid}
    # Squared distances 1, 9, 1 and 25, which the reach cuts at 16; 3 is as far from both centers, and the first has it.
    m = spreads.UNIT_STEPS
    first, second = m // 16 + 9 * m // 16 + m, m // 16
    assert spreads.POINT_SPREADS(batch, **public).tolist() == [18 * m, 6 * m, 6 * first, 6 * second, 7 * (first + second)]
    vectors = np.array([[12, 6, 60 / 16, 6 / 16, 77 / 16], [6, 0, 6, 0, 7]])
    lengths = np.linalg.norm(vectors, axis=1)
    for bound in (10.0, 1.2, 0.5):
        expected = (vectors / np.maximum(lengths, 11 * bound)[:, None]).sum(axis=0)
        found = spreads.CLIENT_SPREADS(batch, **public, bound=bound) / residual_sums.BOUNDED_STEPS
        assert found == pytest.approx(expected, rel=1e-6)


def test_swaps_by_hand():
    ball = Ball(np.zeros(1), 16.0)
    rows = np.array([[1.0], [3.0], [9.0], [-6.0]])
    places = {"centers": [[0.0], [8.0]], "others": [[8.0], [0.0]], "ones": [[-5.0], [7.0]], "twos": [[3.0], [9.0]]}
    public = {"center": ball.center, "radius": 16.0, "reach": 6 / ball.grid}
    public |= {name: ball.encode(np.array(place)) for name, place in places.items()}
    # 1, 3 and -6 belong to 0, and 9 to 8. Other center: 49 - 1, 25 - 9, 196 - 36 and 81 - 1. Two centers: 1 - 4, 9 - 0, 36 - 1 and 1 - 0.
    vectors = np.clip(np.array([[48, 0, -3, 0], [16, 0, 9, 0], [0, 80, 0, 1], [160, 0, 35, 0]]) / 36, -1, 1)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1.0)
    found = swaps.POINT_SWAPS(one_client(rows), **public) / residual_sums.BOUNDED_STEPS
    assert found == pytest.approx(vectors.sum(axis=0), rel=1e-6)
    clients = np.array([vectors[:3].sum(axis=0), vectors[3]])
    for bound in (10.0, 1.5, 0.5):
        expected = (clients / np.maximum(np.linalg.norm(clients, axis=1), bound)[:, None]).sum(axis=0)
        found = swaps.CLIENT_SWAPS(ClientBatch(rows, np.array([0, 3, 4])), **public, bound=bound) / residual_sums.BOUNDED_STEPS
        assert found == pytest.approx(expected, rel=1e-6)


def test_sizes_in_spreads_are_never_scaled_whatever_the_reach(rng):
    batch = one_client(BALL.center + rng.standard_normal((200, DIMENSION)))
    expected = np.bincount(assign(BALL.encode(batch.points), CENTERS), minlength=K)
    for reach in (1.0, 1e3, 1e6):
        found = spreads.POINT_SPREADS(batch, **IN_FULL, reach=reach)
        assert np.array_equal(found[:K], spreads.SIZE_STEPS * expected)
        assert 6 * found[-1] == 7 * found[K : 2 * K].sum()


def test_sums_and_counts_of_a_clipped_unit_keep_their_quotient(rng):
    rows = BALL.center + rng.standard_normal((200, DIMENSION)) * 0.1 + 0.5
    loose, tight = (
        residual_sums.CLIENT_RESIDUALS(one_client(rows), **(REFINED_FULL | {"bound": bound})).reshape(K, -1).astype(float)
        for bound in (1e9, 100.0)
    )
    heavy = loose[:, -1] > 0
    assert tight[heavy, :-1] / tight[heavy, -1:] == pytest.approx(loose[heavy, :-1] / loose[heavy, -1:], rel=1e-3, abs=1e-3)


def test_client_sizes_are_told_in_powers_of_two():
    sizes = [0, 1, 2, 3, 4, 1000]
    batch = ClientBatch(np.zeros((sum(sizes), 1)), np.concatenate([[0], np.cumsum(sizes)]))
    counts = residual_sums.CLIENT_SIZES(batch)
    assert counts[[0, 1, 2, 9]].tolist() == [1, 2, 1, 1]
    assert counts.sum() == 5


def test_the_registry_holds_what_runs_ask_for_by_name_and_nothing_else():
    made = {
        one.name: one
        for module in (column_counts, costs, norms, statistics, profile_sums, residual_sums, spreads, swaps, word_counts)
        for one in vars(module).values()
        if isinstance(one, Statistic)
    }
    assert made == REGISTRY
    assert len(REGISTRY) == 34


def test_distances_of_a_client_share_one_count_and_huge_ones_have_a_class():
    batch = ClientBatch(np.array([[0.1], [0.7], [0.7], [1e300], [-1e300]]), np.array([0, 4, 4, 5]))
    public = {"center": np.zeros(1), "edges": np.array([0.5, 1.0])}
    assert (norms.CLIENT_DISTANCES(batch, **public) / norms.SHARE_STEPS).tolist() == [0.25, 0.5, 1.25]
    assert (norms.POINT_DISTANCES(batch, **public) / norms.SHARE_STEPS).tolist() == [1, 2, 2]


def test_cells_of_a_grid_by_hand():
    batch = one_client([[0.1, 0.1], [0.9, 0.1], [0.9, 2.9], [5.0, -7.0], [1e300, -1e300]])
    counts = norms.GRID_COUNTS(batch, low=np.zeros(2), high=np.array([1.0, 3.0]), cells=np.array([2.0, 3.0]))
    assert counts.reshape(2, 3).tolist() == [[1, 0, 0], [3, 0, 1]]


def test_leaves_of_a_tree_by_hand():
    """Two cells of width 1, each halved twice: numbers 0 to 15 in the first, 16 to 31 in the second."""
    batch = one_client([[0.1, 0.1], [0.1, 0.3], [0.3, 0.1], [0.6, 0.1], [1.9, 0.9], [9.0, 9.0], [-1e300, 0.0]])
    public = {"low": np.zeros(2), "high": np.array([2.0, 1.0]), "cells": np.array([2.0, 1.0]), "depth": 2.0}
    assert norms.TREE_COUNTS(batch, **public, edges=np.arange(1.0, 32)).tolist() == [2, 1, 1, *[0] * 5, 1, *[0] * 22, 2]
    assert norms.TREE_COUNTS(batch, **public, edges=np.array([4.0, 16.0])).tolist() == [4, 1, 2]


def test_a_tree_without_halvings_is_a_grid(rng):
    batch = one_client(rng.uniform(-2, 2, (200, DIMENSION)))
    edges = np.arange(1.0, np.prod(GRID["cells"]))
    assert norms.TREE_COUNTS(batch, **GRID, depth=0.0, edges=edges).tolist() == norms.GRID_COUNTS(batch, **GRID).tolist()


def test_lengths_fall_into_the_classes_that_their_vectors_have(rng):
    batch = one_client(BALL.center + rng.standard_normal((50, DIMENSION)) * 0.5)
    loose = {"bound": 1e6, "projection": None, "residual_projection": None}
    values = [residual_sums.POINT_RESIDUALS(one_client(row[None]), **(REFINED_FULL | loose)) for row in batch.points]
    found = np.array([np.linalg.norm(v.astype(float)) for v in values]) / residual_sums.BOUNDED_STEPS * 1e6
    expected = np.bincount(np.searchsorted(NORMS_FULL["edges"], found), minlength=4)
    assert norms.POINT_RESIDUAL_NORMS(batch, **NORMS_FULL).tolist() == expected.tolist()
