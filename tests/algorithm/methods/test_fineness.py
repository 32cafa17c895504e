"""How fine cells are: halved where clusters may be small, and nowhere else."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.methods.fineness import FirstLook, allowed_cells, first_cells, halved_sides, usual_cells
from feddp_kmeans.algorithm.methods.tree import Leaves
from feddp_kmeans.algorithm.tuning import GRID

LOW, HIGH = np.zeros(2), np.ones(2)


def test_more_points_or_less_noise_make_more_cells():
    assert allowed_cells(5000.0, 10.0, 2) == 100
    assert allowed_cells(5000.0, 1.0, 1) == pytest.approx(1000 ** (2 / 3))
    assert allowed_cells(-3.0, 1.0, 2) == 1
    assert usual_cells(LOW, HIGH, 104.0, 15).shape == (16, 16)  # 40 % of 260 cells
    assert len(usual_cells(LOW, HIGH, 1e9, 15).starts) <= GRID.usual_cells
    assert len(usual_cells(LOW, HIGH, 1.0, 1000).starts) == pytest.approx(6000, rel=0.05)
    assert len(usual_cells(LOW, HIGH, 1.0, 10**6).starts) <= 1 << 15


def test_the_first_look_has_even_sides_within_its_release():
    for ratio in (0.0, 3.0, 100.0, 1e9):
        cells = first_cells(LOW, np.array([1.0, 7.0]), ratio)
        assert (cells % 2 == 0).all()
        assert 4 <= np.prod(cells) <= GRID.first_cells


def test_cells_that_certainly_hold_points_are_halved_with_their_neighbours_and_even_ones_are_not():
    usual = Leaves.grid(LOW, HIGH, 64.0)
    even = FirstLook(np.full((8, 8), 100.0), 10.0, 6400.0)
    assert even.finer(usual, 50.0).starts.tolist() == usual.starts.tolist()
    counts = np.zeros((8, 8))
    counts[2, 2] = 6400.0
    found = FirstLook(counts, 10.0, 6400.0).finer(usual, 64.0)
    assert len(found.starts) == 64 - 9 + 9 * 256
    assert (found.corners()[found.halvings == 4] >= 16).all()
    assert (found.corners()[found.halvings == 4] < 64).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_of_squares_shows_what_no_single_count_does(seed):
    """200 of 1,600 cells hold 60 points each, three scales of noise; ten scales show a single cell. Fixed seeds."""
    rng = np.random.default_rng(seed)
    counts = np.zeros(1600)
    counts[rng.choice(1600, 200, replace=False)] = 60.0
    noisy = (counts + rng.laplace(0, 20.0, 1600)).reshape(40, 40)
    usual = Leaves.grid(LOW, HIGH, 1600.0)
    assert len(FirstLook(noisy, 20.0, 12_000.0).finer(usual, 1600.0).starts) > 4 * 1600
    flat = np.full((40, 40), 7.5) + rng.laplace(0, 20.0, (40, 40))
    assert len(FirstLook(flat, 20.0, 12_000.0).finer(usual, 1600.0).starts) < 1.2 * 1600


def test_there_are_never_more_cells_than_the_release_holds_and_the_fullest_stay_fine():
    counts = np.random.default_rng(0).laplace(0, 30.0, (64, 64)) + np.random.default_rng(1).choice([0.0, 150.0], (64, 64), p=[0.95, 0.05])
    counts[:8, :8] = 9000.0
    usual = Leaves.grid(LOW, HIGH, 4096.0)
    found = FirstLook(counts, 30.0, counts.sum()).finer(usual, 5e4)
    assert len(found.starts) <= GRID.most_cells
    roots = found.corners() >> found.halvings[:, None]
    full = (roots < 8).all(axis=1)
    assert found.halvings[full].min() >= 3
    assert found.halvings[(roots > 12).any(axis=1)].max() < 3


def test_neighbours_are_added_up():
    assert halved_sides(np.arange(8.0).reshape(2, 4)).tolist() == [[10.0, 18.0]]
