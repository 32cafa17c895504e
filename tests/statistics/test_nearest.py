"""Labels and sums of whole numbers: exact on both engines, whatever float32 makes of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.arithmetic import products_with, weighted_sums
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.nearest import nearest
from tests.statistics.engines import both


def exact(points, targets):
    """The first of the nearest targets, in Python's integers."""
    rows = [[int(x) for x in row] for row in points]
    others = [[int(x) for x in row] for row in targets]
    return [min(range(len(others)), key=lambda r: (sum((x - y) ** 2 for x, y in zip(row, others[r], strict=True)), r)) for row in rows]


@st.composite
def problems(draw):
    """Points and targets: far, near, equal, and so close that float32 cannot tell."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(0, 9)), draw(st.sampled_from([1, 2, 5, 6, 11, 47, 48, 50]))
    d = draw(st.sampled_from([1, 2, 3, 5, 6, 10, 16, 17, 40]))
    targets = np.rint(rng.standard_normal((k, d)) * draw(st.sampled_from([0.0, 1.0, 100.0, 2.0**14, 2.0**20])))
    if draw(st.booleans()):
        targets = targets[:1] + rng.integers(0, 2, (k, d))
    points = np.rint(rng.standard_normal((n, d)) * draw(st.sampled_from([1.0, 2.0**14]))) + draw(st.sampled_from([0, 1])) * targets[:1]
    return np.clip(points, -(2.0**17), 2.0**17), targets


@given(problems())
def test_the_nearest_target_is_found_exactly_and_ties_go_to_the_first(problem):
    points, targets = problem
    expected = exact(points, targets)
    for labels in both(lambda: nearest(points, targets)):
        assert labels.dtype == np.int64
        assert labels.tolist() == expected


@pytest.mark.parametrize(("dimension", "k"), [(10, 1020), (3, 64), (100, 10), (819, 3)])
def test_many_points_get_the_labels_of_float64(dimension, k, rng):
    points = np.rint(rng.standard_normal((1500, dimension)) * 2.0**14 / dimension**0.5)
    targets = np.rint(rng.standard_normal((k, dimension)) * 2.0**14 / dimension**0.5)
    expected = (2 * points @ targets.T - np.square(targets).sum(axis=1)).argmax(axis=1)
    assert all(np.array_equal(labels, expected) for labels in both(lambda: nearest(points, targets)))


def test_float32_alone_would_be_wrong_here(rng):
    target = np.full(60, 2.0**20)
    targets = np.stack([target, target + np.eye(60)[7] - np.eye(60)[8]])
    points = rng.integers(-(2**13), 2**13, (50, 60)).astype(np.float64)
    coarse = points.astype(np.float32) @ targets.T.astype(np.float32) - (np.square(targets).sum(axis=1) / 2).astype(np.float32)
    expected = exact(points, targets)
    assert coarse.argmax(axis=1).tolist() != expected
    assert all(labels.tolist() == expected for labels in both(lambda: nearest(points, targets)))


@pytest.mark.parametrize("dimension", [16, 100])
def test_points_that_float32_is_almost_sure_of_are_decided_exactly(dimension, rng):
    # Targets a step or a few apart: the nearest of them is ahead by a few units, and float32 scores are off by hundreds.
    target = np.rint(rng.standard_normal(dimension) * 2.0**16 / dimension**0.5)
    targets = target + np.arange(12)[:, None] * np.eye(dimension)[3]
    points = np.rint(rng.standard_normal((20_000, dimension)) * 2.0**15 / dimension**0.5)
    points[:, 3] = target[3] + rng.integers(0, 12, len(points))
    expected = (points @ (2 * targets.T) - np.square(targets).sum(axis=1)).argmax(axis=1)
    assert np.array_equal(expected, points[:, 3] - target[3])
    assert all(np.array_equal(labels, expected) for labels in both(lambda: nearest(points, targets)))


@given(problems(), st.integers(0, 2**32 - 1))
def test_weighted_sums_and_products_are_the_same_on_both_engines(problem, seed):
    points, targets = problem
    rng = np.random.default_rng(seed)
    labels, weights = rng.integers(0, len(targets), len(points)), rng.integers(0, 1 << 30, len(points)).astype(np.float64)
    for compute in (lambda: weighted_sums(points, weights, labels, len(targets)), lambda: products_with(points, targets, labels)):
        expected, *found = both(compute)
        assert all(np.array_equal(one, expected) for one in found)


def of_one(points):
    """A batch of one client, which remembers nothing yet."""
    return ClientBatch(points, np.array([0, len(points)]))


@pytest.mark.parametrize("rows", [0, 1, 9, 5000])
@pytest.mark.parametrize(("dimension", "k"), [(1, 1), (7, 3), (9, 17), (100, 10), (100, 70)])
def test_sums_in_one_sweep_are_those_of_numpy(rows, dimension, k, rng):
    points = rng.standard_normal((rows, dimension)).astype(np.float32)
    public = {"center": np.full(dimension, 0.1), "radius": 0.9 * dimension**0.5}
    centers = rng.standard_normal((k, dimension)) * RESOLUTION / (1 + dimension**0.5)
    for given_points in (points, points.astype(np.float64), 5 * points):  # the last beyond the ball
        plain, *swept = both(lambda rows=given_points: REGISTRY["cluster-sums"](of_one(rows), centers=centers, **public))
        assert all(np.array_equal(plain, fast) for fast in swept)
    assert plain.any() == (rows > 0)
