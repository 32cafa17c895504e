"""Every statistic with public arguments, and what its proof says one unit can move: for all tests that go through statistics."""

import numpy as np

from feddp_kmeans.statistics import column_counts, costs, norms, profile_sums, residual_sums, spreads, swaps, word_counts
from feddp_kmeans.statistics import paper_sums as statistics
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.paper_sums import COUNT_STEPS, MEAN_STEPS
from feddp_kmeans.statistics.query import Query

DIMENSION, K, RADIUS = 4, 3, 2.0
BALL = Ball(np.full(DIMENSION, 0.25), RADIUS)
CENTERS = Ball(np.zeros(DIMENSION), RADIUS).encode(np.array([[1.0, 0, 0, 0], [-1, 1, 0, 0], [0, 0, 0, 0.5]]))
PROJECTION = np.linalg.qr(np.random.default_rng(3).standard_normal((DIMENSION, 2)))[0]
PUBLIC = {"center": BALL.center, "radius": RADIUS}
IN_FULL = PUBLIC | {"centers": CENTERS}
IN_SUBSPACE = PUBLIC | {"centers": CENTERS[:, :2], "projection": PROJECTION}

POINT_CASES = [
    (statistics.OUTER_PRODUCT, PUBLIC, 2, RESOLUTION**2),
    (statistics.CLUSTER_COUNTS, IN_FULL, 1, 1),
    (statistics.CLUSTER_COUNTS, IN_SUBSPACE, 1, 1),
    (statistics.CLUSTER_SUMS, IN_FULL, 2, RESOLUTION),
    (statistics.CLUSTER_SUMS, IN_SUBSPACE, 2, RESOLUTION),
]
REFINED_MOMENT = PUBLIC | {"bound": 0.3 * RESOLUTION**2}
REFINED_FULL = IN_FULL | {"origins": CENTERS, "bound": 0.2 * RESOLUTION, "count_weight": 3000.0}
REFINED_SUBSPACE = IN_SUBSPACE | {
    "origins": CENTERS[:, :2] + 0.4,
    "residual_projection": PROJECTION,
    "bound": 0.2 * RESOLUTION,
    "count_weight": 3000.0,
}
REFINED_SQUARES = REFINED_FULL | {"square_weight": 1e-4}
REFINED_LIFTED = IN_SUBSPACE | {"origins": CENTERS, "bound": 0.2 * RESOLUTION, "count_weight": 3000.0}
POINT_CASES += [
    (residual_sums.POINT_SECOND_MOMENT, REFINED_MOMENT, 2, residual_sums.BOUNDED_STEPS),
    (residual_sums.POINT_RESIDUALS, REFINED_FULL, 2, residual_sums.BOUNDED_STEPS),
    (residual_sums.POINT_RESIDUALS, REFINED_SQUARES, 2, residual_sums.BOUNDED_STEPS),
    (residual_sums.POINT_RESIDUALS, REFINED_SUBSPACE, 2, residual_sums.BOUNDED_STEPS),
    (residual_sums.POINT_RESIDUALS, REFINED_LIFTED, 2, residual_sums.BOUNDED_STEPS),
]
SPREADS = IN_FULL | {"reach": 0.5 * RESOLUTION}
POINT_CASES += [
    (spreads.POINT_SPREADS, SPREADS, 1, 19 * (residual_sums.BOUNDED_STEPS // 11)),
    (spreads.POINT_SPREADS, SPREADS, 2, residual_sums.BOUNDED_STEPS),
]
COSTS = PUBLIC | {"sets": np.stack([CENTERS, CENTERS[::-1] / 2, -CENTERS, CENTERS + 0.4]), "bound": 0.2 * RESOLUTION**2}
POINT_CASES += [(costs.POINT_COSTS, COSTS, 2, residual_sums.BOUNDED_STEPS)]
SWAPS = SPREADS | {"others": CENTERS[::-1].copy(), "ones": 2 * CENTERS, "twos": 0.5 * CENTERS + 0.4}
POINT_CASES += [(swaps.POINT_SWAPS, SWAPS, 2, residual_sums.BOUNDED_STEPS)]
BOUND = 1.5
CLIENT_CASES = [
    (statistics.CLIENT_OUTER_PRODUCT, PUBLIC | {"bound": BOUND}, 2, BOUND / BALL.grid**2),
    (statistics.CLIENT_CLUSTER_COUNTS, IN_SUBSPACE | {"bound": BOUND}, 1, BOUND * COUNT_STEPS),
    (statistics.CLIENT_CLUSTER_COUNTS, IN_SUBSPACE | {"bound": BOUND}, 2, BOUND * COUNT_STEPS),
    (statistics.CLIENT_PRESENCE, IN_SUBSPACE | {"bound": BOUND}, 1, BOUND * COUNT_STEPS),
    (statistics.CLIENT_PRESENCE, IN_SUBSPACE | {"bound": 2.0}, 2, 2**0.5 * COUNT_STEPS),
    (statistics.CLIENT_CLUSTER_SUMS, IN_FULL | {"bound": BOUND}, 2, BOUND / BALL.grid * MEAN_STEPS),
    (statistics.CLIENT_CLUSTER_MEANS, IN_SUBSPACE | {"bound": BOUND}, 2, BOUND / BALL.grid * MEAN_STEPS),
]
CLIENT_CASES += [
    (residual_sums.CLIENT_SIZES, {}, 2, 1),
    (residual_sums.CLIENT_SECOND_MOMENT, REFINED_MOMENT, 2, residual_sums.BOUNDED_STEPS),
    (residual_sums.CLIENT_RESIDUALS, REFINED_FULL, 2, residual_sums.BOUNDED_STEPS),
    (residual_sums.CLIENT_RESIDUALS, REFINED_SQUARES, 2, residual_sums.BOUNDED_STEPS),
    (residual_sums.CLIENT_RESIDUALS, REFINED_SUBSPACE, 2, residual_sums.BOUNDED_STEPS),
    (residual_sums.CLIENT_RESIDUALS, REFINED_LIFTED, 2, residual_sums.BOUNDED_STEPS),
]
CLIENT_CASES += [(spreads.CLIENT_SPREADS, SPREADS | {"bound": BOUND}, 2, residual_sums.BOUNDED_STEPS)]
CLIENT_CASES += [(costs.CLIENT_COSTS, COSTS, 2, residual_sums.BOUNDED_STEPS)]
CLIENT_CASES += [(swaps.CLIENT_SWAPS, SWAPS | {"bound": BOUND}, 2, residual_sums.BOUNDED_STEPS)]
EDGES = {"edges": np.array([0.5, 1.0, 1.9])}
ENCODED_EDGES = {"edges": RESOLUTION * np.array([0.1, 0.5, 2.0])}
NORMS_FULL = IN_FULL | ENCODED_EDGES | {"origins": CENTERS, "count_weight": 3000.0}
NORMS_SUBSPACE = IN_SUBSPACE | ENCODED_EDGES | {"origins": CENTERS[:, :2], "residual_projection": PROJECTION, "count_weight": 3000.0}
COUNTS_ALONE = IN_SUBSPACE | {
    "origins": np.zeros((K, 0)),
    "residual_projection": np.zeros((DIMENSION, 0)),
    "bound": 1.0,
    "count_weight": 1.0,
}
MOMENT_EDGES = PUBLIC | {"edges": RESOLUTION**2 * np.array([0.01, 0.2, 0.5])}
GRID = {"low": np.full(DIMENSION, -1.0), "high": np.array([1.0, 2, 1, 1]), "cells": np.array([2.0, 3, 1, 2])}
TREE = GRID | {"depth": 2.0, "edges": 256.0 * np.array([1.0, 1.5, 1.75, 2.0, 7.0])}
POINT_CASES += [
    (norms.POINT_DISTANCES, {"center": BALL.center} | EDGES, 2, norms.SHARE_STEPS),
    (norms.POINT_RESIDUAL_NORMS, NORMS_FULL, 2, 1),
    (norms.POINT_RESIDUAL_NORMS, NORMS_SUBSPACE, 2, 1),
    (norms.POINT_MOMENT_NORMS, MOMENT_EDGES, 2, 1),
    (norms.GRID_COUNTS, GRID, 1, 1),
    (norms.TREE_COUNTS, TREE, 1, 1),
    (norms.POINT_COUNT, {}, 1, 1),
    (residual_sums.POINT_RESIDUALS, COUNTS_ALONE, 2, residual_sums.BOUNDED_STEPS),
]
CLIENT_CASES += [
    (norms.CLIENT_DISTANCES, {"center": BALL.center} | EDGES, 2, norms.SHARE_STEPS),
    (norms.CLIENT_RESIDUAL_NORMS, NORMS_FULL, 2, 1),
    (norms.CLIENT_RESIDUAL_NORMS, NORMS_SUBSPACE, 2, 1),
    (norms.CLIENT_MOMENT_NORMS, MOMENT_EDGES, 2, 1),
    (residual_sums.CLIENT_RESIDUALS, COUNTS_ALONE, 2, residual_sums.BOUNDED_STEPS),
]
COLUMNS = {"chosen": np.ones(DIMENSION), "column_edges": np.sort(np.random.default_rng(8).uniform(-1.5, 1.5, (DIMENSION, 5)), axis=1)}
ROWS = {"units": np.array([0.5, 3.0, 1e-3, 1.0]), "fill": np.array([0.1, -2.0, 0.0, 0.3])}
POINT_CASES += [
    (column_counts.POINT_COLUMNS, COLUMNS, 2, 2 * norms.SHARE_STEPS),
    (residual_sums.POINT_SECOND_MOMENT, REFINED_MOMENT | ROWS, 2, residual_sums.BOUNDED_STEPS),
    (norms.POINT_DISTANCES, {"center": BALL.center} | EDGES | ROWS, 2, norms.SHARE_STEPS),
]
CLIENT_CASES += [
    (column_counts.CLIENT_COLUMNS, COLUMNS, 2, 2 * norms.SHARE_STEPS),
    (residual_sums.CLIENT_RESIDUALS, REFINED_FULL | ROWS, 2, residual_sums.BOUNDED_STEPS),
]
PROFILE = IN_FULL | {"kinds": np.array([profile_sums.VALUE, profile_sums.CLUSTERED, profile_sums.CLUSTERED, 3.0])}
PROFILE = {name: PROFILE[name] for name in ("center", "radius", "centers", "kinds")}
POINT_CASES += [(profile_sums.POINT_PROFILE, PROFILE, 2, 2**0.5 * norms.SHARE_STEPS)]
CLIENT_CASES += [(profile_sums.CLIENT_PROFILE, PROFILE | {"bound": 2.0}, 2, 2 * 2**0.5 * norms.SHARE_STEPS)]
WORDS = {name: IN_FULL[name] for name in ("center", "radius", "centers")}
WORDS |= {"slots": np.array([1.0, 0, 0, 1.0]), "n_words": 10.0, "most": 1.0}
POINT_CASES += [(word_counts.POINT_WORDS, WORDS, 2, 1)]
CLIENT_CASES += [(word_counts.CLIENT_WORDS, WORDS, 2, 1)]
ALL_CASES = POINT_CASES + CLIENT_CASES


def names(cases):
    return [f"{case[0].name}{'-subspace' if 'projection' in case[1] else ''}" for case in cases]


def exact_norm(difference, order):
    integers = [abs(int(x)) for x in difference]
    return sum(integers) if order == 1 else sum(x * x for x in integers) ** 0.5


def assert_within_what_is_stated(difference, statistic, public):
    stated = Query(statistic, public, public.get("center", np.zeros(DIMENSION)).shape[0]).sensitivity
    assert exact_norm(difference, 2) <= stated.l2
    if stated.l1 is not None:
        assert exact_norm(difference, 1) <= stated.l1
