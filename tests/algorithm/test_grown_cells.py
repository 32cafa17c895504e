"""Cells: they are split along directions of the points, moved as far as noise does not explain it, joined, and mended by their spread."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.grown_cells import Cells, credible, first_cells, for_choosing, grown, joined, largest, moved, repaired, split
from feddp_kmeans.algorithm.looks import Sums
from feddp_kmeans.algorithm.tuning import CHOOSING

VARIANCES = np.array([9.0, 4.0, 1.0])


def cells_at(places, counts=None, spreads=None):
    places = np.array(places, dtype=float)
    m = len(places)
    counts = np.full(m, 100.0) if counts is None else np.array(counts, dtype=float)
    spreads = np.ones(m) if spreads is None else np.array(spreads, dtype=float)
    return Cells(places, np.zeros_like(places), counts, np.ones(m), spreads, np.zeros(m, dtype=bool))


def look(residuals, counts, noise=0.0, squares=None, square_noise=0.0):
    counts = np.array(counts, dtype=float)
    return Sums(np.array(residuals) * counts[:, None], counts, noise, noise, 1.0, squares=squares, square_noise=square_noise)


SHARP = look(np.zeros((1, 3)), [1], squares=np.ones(1))
"""A look without noise."""


@pytest.mark.parametrize(("most", "count"), [(0.3, 1), (1, 1), (5.9, 4), (1e9, 8)])
def test_first_cells_are_patterns_of_signs_and_no_more_than_allowed(rng, most, count):
    cells = first_cells(rng, VARIANCES, 800.0, most)
    assert len(cells) == count
    assert cells.counts.tolist() == [800 / count] * count
    assert np.abs(cells.places.sum(axis=0)).max() < 1e-9
    assert cells.fresh.all() == (count > 1)
    assert len(np.unique(cells.places.round(6), axis=0)) == count


def test_first_cells_cut_points_into_equal_halves(rng):
    points = rng.standard_normal((40_000, 3)) * np.sqrt(VARIANCES)
    places = first_cells(rng, VARIANCES, 1.0, 4.0).places
    nearest = np.square(points[:, None] - places[None]).sum(axis=2).argmin(axis=1)
    # Four standard deviations of a share: a false alarm once in 4,000 runs. The directions are not those of the variances, so two cuts may
    # be correlated: quarters can be off by a few per cent, halves cannot.
    halves = [np.mean(np.isin(nearest, pair)) for pair in ((0, 1), (0, 2))]
    assert halves == pytest.approx([0.5, 0.5], abs=0.01)


def test_a_split_keeps_the_middle_and_the_points_and_forgets_what_was_known(rng):
    cells = cells_at([[0.0, 0, 0], [5, 5, 5]], counts=[300, 100])
    halves = split(rng, cells, np.array([0]), VARIANCES)
    assert len(halves) == 3
    assert halves.places[0].tolist() == [5, 5, 5]
    assert halves.places[1:].mean(axis=0) == pytest.approx([0, 0, 0])
    assert halves.counts.tolist() == [100, 150, 150]
    assert halves.fresh.tolist() == [False, True, True]
    assert split(rng, cells, np.zeros(0, dtype=np.int64), VARIANCES) is cells


def test_cells_are_gathered_into_as_many_as_are_tried_for_the_choice_of_k(rng):
    cells = cells_at([[0.0, 0, 0], [9, 0, 0], [0, 1, 0]], counts=[300, 50, 100])
    gathered = for_choosing(rng, cells, 0, 2, SHARP, VARIANCES)
    order = np.argsort(gathered.counts)
    assert gathered.counts[order].tolist() == [50, 400]
    assert gathered.places[order] == pytest.approx(np.array([[9, 0, 0], [0, 0.25, 0]]))
    assert for_choosing(rng, cells, 0, 3, SHARP, VARIANCES) is cells
    assert for_choosing(rng, cells, CHOOSING.gathered + 1, 3, SHARP, VARIANCES) is cells


def test_gathered_cells_that_hold_two_clusters_are_mended(rng):
    cells = cells_at(10 * np.eye(3), spreads=[1, 100, 1])
    mended = for_choosing(rng, cells, 1, 4, SHARP, VARIANCES)
    assert mended.fresh.tolist() == [False, False, True, True]
    assert mended.places[2:].mean(axis=0) == pytest.approx([0, 10, 0])


def test_cells_are_cut_across_the_line_to_the_one_that_they_are_least_apart_from(rng):
    """The third is farther from the first than the second is, but so wide that it is less apart: 20 / (1 + 8), not 10 / (1 + 1)."""
    cells = cells_at([[0.0, 0, 0], [0, 10, 0], [20, 0, 0]], spreads=[3, 3, 3 * 64])
    halves = for_choosing(rng, cells, CHOOSING.gathered, 3, SHARP, VARIANCES)
    assert len(halves) == 6
    assert halves.fresh.all()
    assert halves.counts.tolist() == [50] * 6
    assert halves.places[:3] + halves.places[3:] == pytest.approx(2 * cells.places)
    across = 0.8 * np.array([[1.0, 0, 0], [2 / 5**0.5, -1 / 5**0.5, 0], [-8, 0, 0]])
    assert halves.places[:3] - cells.places == pytest.approx(across)
    assert len(for_choosing(rng, cells.of(np.array([0])), CHOOSING.gathered, 3, SHARP, VARIANCES)) == 1


def test_without_noise_cells_move_to_the_means_and_know_the_spread():
    cells = cells_at([[0.0, 0, 0], [10, 0, 0]])
    found = moved(cells, look([[0.1, 0, 0], [0, 0.2, 0]], [50, 150], squares=np.array([100.0, 300.0])), VARIANCES, 2).cells
    assert found.places == pytest.approx(np.array([[0.1, 0, 0], [10, 0.2, 0]]))
    assert found.counts == pytest.approx([50, 150])
    assert found.spreads == pytest.approx([100 / 50 - 0.01, 300 / 150 - 0.04])
    assert not found.fresh.any()


def test_no_sum_moves_cells_beyond_what_a_query_may_ask_about():
    cells = cells_at([[0.0, 0, 0], [2.0**22, 0, 0], [3, 4, 0]])
    found = moved(cells, look([[1e12, 1e12, 0], [1e9, 0, 0], [1.0, 0, 0]], [1.0] * 3), VARIANCES, 3).cells
    assert np.linalg.norm(found.places, axis=1) == pytest.approx([2.0**22, 2.0**22, 32**0.5])


def test_noise_moves_cells_less_than_it_would_by_itself(rng):
    places = rng.standard_normal((60, 3))
    noise = rng.standard_normal((60, 3)) * 50 / 100
    found = moved(cells_at(places), look(noise, [100.0] * 60, noise=50.0), VARIANCES, 3).cells
    assert np.square(found.places - places).sum() < 0.2 * np.square(noise).sum()


def test_the_costliest_cells_with_enough_points_are_split_first():
    cells = cells_at(np.zeros((4, 3)), counts=[500, 20, 300, 400], spreads=[1, 90, 9, 2])
    assert largest(cells, 100.0, 9).tolist() == [2, 3, 0]
    assert largest(cells, 100.0, 1).tolist() == [2]
    assert largest(cells, 100.0, -1).tolist() == []


@pytest.mark.parametrize(
    ("most", "turns", "count"), [(3, 4, 4), (8, 4, 8), (50, 4, 8), (64, 4, 8), (65, 4, 16), (1_000, 2, 64), (1_000, 1, 128)]
)
def test_cells_are_split_more_often_if_else_there_were_too_few_after_all_turns(rng, most, turns, count):
    """Four cells of 320 points, of which those with more than 10 are split."""
    found = grown(rng, cells_at(np.zeros((4, 3)), counts=np.full(4, 320.0)), 10.0, most, turns, VARIANCES)
    assert len(found) == count
    assert found.counts.sum() == pytest.approx(4 * 320)


def test_what_may_be_noise_only_is_dropped_but_never_everything():
    cells = cells_at(np.arange(9.0).reshape(3, 3), counts=[-5, 10, 400])
    assert credible(cells, look(np.zeros((3, 3)), cells.counts, noise=100.0)).counts.tolist() == [400]
    assert credible(cells, look(np.zeros((3, 3)), cells.counts, noise=1e9)).counts.tolist() == [400]
    assert len(credible(cells, look(np.zeros((3, 3)), cells.counts, noise=1.0))) == 2


def test_cells_are_kept_if_their_residuals_are_not_noise():
    """Points that are scaled down hardly count: 18 is the squared length from which three residuals stand out."""
    cells = cells_at(np.arange(9.0).reshape(3, 3), counts=[1, 1, 400])
    sums = look([[17.5**0.5, 0, 0], [0, 18.0**0.5, 0], [0, 0, 0]], [1, 1, 400], noise=1.0)
    assert credible(cells, sums).places.tolist() == [[3, 4, 5], [6, 7, 8]]


def test_joined_cells_are_weighted_means_with_less_error_and_more_spread():
    cells = cells_at([[0.0, 0, 0], [4, 0, 0], [9, 9, 9]], counts=[100, 300, 50])
    cells = Cells(**(vars(cells) | {"known": np.ones((3, 3))}))
    found = joined(cells, np.array([0, 0, 1]), 2)
    assert found.places[0] == pytest.approx([3, 0, 0])
    assert found.counts == pytest.approx([400, 50])
    assert found.known[0] == pytest.approx([(1 + 9) / 16] * 3)
    assert found.spreads[0] == pytest.approx(1 + (9 + 3 * 1) / 4)


def test_a_cell_that_holds_two_clusters_is_split_and_two_that_share_one_become_one(rng):
    places = [[0.0, 0, 0], [100, 0, 0], [0, 100, 0], [0, 100.5, 0], [0, 0, 100]]
    cells = cells_at(places, counts=[200, 400, 100, 100, 200], spreads=[1, 900, 1, 1, 1])
    sums = look(np.zeros((5, 3)), cells.counts, squares=cells.counts * cells.spreads, square_noise=1.0)
    found = repaired(rng, cells, 5, sums, cells.counts, VARIANCES)
    assert len(found) == 5
    assert found.counts.sum() == pytest.approx(1000)
    assert sorted(found.places[~found.fresh].round(6).tolist()) == [[0, 0, 0], [0, 0, 100], [0, 100.25, 0]]
    assert found.places[found.fresh].mean(axis=0) == pytest.approx([100, 0, 0])


@pytest.mark.parametrize(("spread", "square_noise"), [(1.5, 1.0), (900.0, 1e6)])
def test_usual_spreads_and_spreads_within_noise_change_nothing(rng, spread, square_noise):
    cells = cells_at([[0.0, 0, 0], [100, 0, 0], [0, 100, 0]], spreads=[1, spread, 1])
    sums = look(np.zeros((3, 3)), cells.counts, squares=cells.counts * cells.spreads, square_noise=square_noise)
    assert repaired(rng, cells, 3, sums, cells.counts, VARIANCES) is cells


def test_cells_in_the_subspace_become_cells_in_full_space():
    wide = cells_at([[1.0, 2.0]]).widened(4)
    assert wide.places.tolist() == [[1, 2, 0, 0]]
    assert wide.known.tolist() == [[0, 0, 0, 0]]
