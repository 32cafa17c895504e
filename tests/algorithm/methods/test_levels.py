"""Which cells hold points: alone, with neighbours, or joined to larger ones."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.methods.levels import beyond_doubt, pieces, standing_out
from feddp_kmeans.algorithm.methods.tree import Leaves
from feddp_kmeans.algorithm.tuning import GRID

NOISE = 10.0


def test_lone_noisy_cells_are_empty_and_dense_neighbourhoods_are_not():
    counts = np.zeros((20, 20))
    counts[4:7, 4:7] = 50.0
    counts[15, 15] = 40.0
    found = standing_out(counts, np.full((20, 20), NOISE**2))
    assert found[4:7, 4:7].all()
    assert not found[9:, 9:].any()
    counts[15, 15] = 100.0
    assert standing_out(counts, np.full((20, 20), NOISE**2))[15, 15]


def test_points_too_few_for_any_small_cell_are_found_in_a_larger_one():
    leaves = Leaves.grid(np.zeros(2), np.ones(2), 64.0).halved(np.full(64, 2))
    corners = leaves.corners()
    counts = np.where(((corners >= 8) & (corners < 16)).all(axis=1), 12.0, 0.0)  # four cells of the grid, 16 parts each
    counts[((corners >= 24) & (corners < 26)).all(axis=1)] = 150.0
    found = pieces(leaves, counts, NOISE)
    assert found.counts.sum() == pytest.approx(counts.sum())
    assert found.variances.sum() == pytest.approx(NOISE**2 * len(counts))
    wide = found.holds & (found.squares > found.squares.min() * 2)
    assert found.counts[wide].sum() > 0.8 * 64 * 12
    assert np.abs(found.points[wide] - 12 / 32).max() < 0.3
    sharp = found.counts[found.holds & ~wide]
    assert sorted(sharp)[-4:] == [150.0] * 4


def test_middles_of_cells_of_all_sizes():
    leaves = Leaves.grid(np.array([-1.0]), np.array([3.0]), 2.0).halved(np.array([1, 0]))
    found = pieces(leaves, np.array([100.0, 200.0, 300.0]), 1e-9)
    assert found.points.ravel().tolist() == [-0.5, 0.5, 2.0]
    assert found.counts.tolist() == [100.0, 200.0, 300.0]
    assert found.squares.tolist() == [1.0, 1.0, 4.0]
    assert found.holds.all()


@pytest.mark.parametrize("weights", [np.ones(1), np.ones(9), np.array([1.0, 0.5, 0.25])])
def test_noise_is_hardly_ever_beyond_doubt(weights):
    """The mean number of false alarms in 200 tables is at most exp(-doubt) each, 27 in all; 50 would be five deviations more."""
    noise = np.random.default_rng(0).laplace(0, 2**-0.5, (200, 100, len(weights))) @ (weights / np.linalg.norm(weights))
    limit = beyond_doubt(weights, 100)
    assert (noise.max(axis=1) > limit).sum() < 200 * np.exp(-GRID.doubt) + 23
    assert limit < 7
