"""Cells of many sizes: where they are."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.methods.tree import MOST_ROOTS, Leaves
from feddp_kmeans.statistics.norms import TREE_COUNTS
from feddp_kmeans.statistics.query import Query
from tests.strategies import one_client


def public(leaves):
    return {"low": leaves.low, "high": leaves.high, "cells": leaves.cells, "depth": float(leaves.depth), "edges": leaves.edges}


def test_cells_are_cubes_and_not_more_than_wanted():
    assert Leaves.grid(np.zeros(2), np.ones(2), 400.0).shape == (20, 20)
    wide = Leaves.grid(np.zeros(2), np.array([10.0, 1.0]), 4000.0).cells
    assert wide[0] == pytest.approx(10 * wide[1], rel=0.15)
    assert np.prod(Leaves.grid(np.zeros(2), np.array([1e9, 1.0]), 8192.0).cells) <= 8192
    assert Leaves.grid(np.zeros(3), np.ones(3), 1.0).shape == (1, 1, 1)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_statistic_counts_points_where_the_leaves_are(dimension, rng):
    leaves = Leaves.grid(np.full(dimension, -1.0), np.full(dimension, 1.5), 30.0)
    for _ in range(2):
        leaves = leaves.halved(rng.integers(0, 3, len(leaves.starts)))
    points = rng.normal(0, 0.3, (500, dimension)).clip(-1, 1)
    widths = (leaves.high - leaves.low) / leaves.cells * 2.0 ** -leaves.halvings[:, None]
    lows = leaves.low + leaves.corners() * widths
    inside = [((points >= low) & (points < low + width)).all(axis=1) for low, width in zip(lows, widths, strict=True)]
    assert TREE_COUNTS(one_client(points), **public(leaves)).tolist() == np.sum(inside, axis=1).tolist()


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_largest_trees_pass_the_gate(dimension):
    leaves = Leaves.grid(np.zeros(dimension), np.ones(dimension), float(MOST_ROOTS))
    assert Query(TREE_COUNTS, public(leaves), dimension).size == len(leaves.starts)
    one = Leaves.grid(np.zeros(dimension), np.ones(dimension), 1.0)
    assert TREE_COUNTS(one_client(np.full((3, dimension), 2.0)), **public(one)).tolist() == [3, 0]
