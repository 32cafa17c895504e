"""The length that vectors are scaled down to balances noise and bias, and what noise explains is not believed."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.typical_lengths import Typical, geometric_edges, least_error_length, typical_length


def test_the_best_bound_balances_noise_and_bias():
    lengths = np.linspace(1, 3, 101)
    assert least_error_length(lengths, 1e9, lambda bounds: 1 / bounds).length == 2.0
    assert least_error_length(lengths, 1.0, lambda bounds: 0 * bounds).length == 2.0
    found = least_error_length(lengths, 1e-9, lambda bounds: np.maximum(0.0, 3 - bounds))
    assert found.length > 3
    assert 0 < found.bias < 0.01


def test_where_nothing_stands_out_the_largest_edge_is_typical():
    edges = geometric_edges(8.0, 5)
    assert typical_length(np.zeros(6), 1.0, edges) == Typical(8.0, 1.0)


def test_typical_lengths_ignore_noise_and_reach_the_tail_where_that_is_cheap():
    edges = geometric_edges(8.0, 5)
    assert edges == pytest.approx([2, 8**0.5, 4, 32**0.5, 8])
    quiet = np.array([0.0, 100, 800, 0, 100, 0])
    assert typical_length(quiet, 1.0, edges).length == pytest.approx(4 / 2**0.25)
    found = typical_length(quiet, 1.0, edges, per_length=1e-6)
    middles = np.append(edges, 8 * 2**0.5) / 2**0.25
    square = pytest.approx(quiet @ np.square(np.minimum(middles, 8)) / 1000)
    assert found == Typical(8.0, 1.0, pytest.approx(0, abs=1e-2), square)
    assert typical_length(quiet, 1.0, edges, per_length=1e6).length == pytest.approx(4 / 2**0.25)
    assert typical_length(quiet, 1.0, edges, per_length=1e6).bias > 0.01
    assert typical_length(quiet, 1e6, edges).length == 8.0
    # The largest run stands out by 3 * 200 * sqrt(1) = 600: believed of 1,000 points, a false alarm of 500.
    assert typical_length(quiet, 200.0, edges, otherwise=7.0, most=1_000).length == pytest.approx(4 / 2**0.25, rel=0.2)
    assert typical_length(quiet, 200.0, edges, otherwise=7.0, most=500) == Typical(7.0, 1.0)
    assert typical_length(quiet, 1e6, edges, least_classes=1).length == pytest.approx(4 / 2**0.25)


@pytest.mark.parametrize("seed", range(200))
def test_no_bound_is_longer_than_what_stands_out(seed):
    """Half an octave beyond the last class that holds points is the most; longer ones would be noise (chance per seed below 1e-4)."""
    edges = geometric_edges(2.0**20, 40)
    there = np.zeros(41)
    there[15:20] = 4000.0
    noisy = there + 60 * np.random.default_rng(seed).standard_normal(41)
    assert typical_length(noisy, 60.0, edges, per_length=1e-9).length <= edges[20]


def test_finer_classes_bring_the_bound_nearer_to_the_longest_vectors():
    lengths = 11 + 0.5 * np.random.default_rng(0).standard_normal(20_000)
    found = []
    for finer in (1, 4):
        edges = geometric_edges(80.0, 12, finer)
        assert len(edges) == 12 * finer
        assert edges[-1] == 80.0
        assert edges[-1 - 2 * finer] == pytest.approx(40.0)
        histogram = np.bincount(np.searchsorted(edges, lengths), minlength=len(edges) + 1).astype(np.float64)
        found.append(typical_length(histogram, 1.0, edges, per_length=1e-4).length)
    assert np.quantile(lengths, 0.9) < found[1] < 0.95 * found[0]
