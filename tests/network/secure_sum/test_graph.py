"""The graph: regular, the same for all, safe without luck, and rarely the cause of a lost round."""

import itertools
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from feddp_kmeans.network.secure_sum.graph import COMPLETE_UP_TO, RISK, Graph, degree, graph_of, local_threshold, loss_chance


def party_names(n):
    return tuple(f"p{i:04d}" for i in range(n))


@pytest.mark.parametrize("n", [1, 2, 3, COMPLETE_UP_TO])
def test_small_graphs_are_complete_and_need_the_threshold(n):
    graph = graph_of(party_names(n), b"s", n, 0)
    for name in party_names(n):
        assert graph.holders(name) == party_names(n)
        assert set(graph.neighbours(name)) == set(party_names(n)) - {name}
    assert graph.shares_needed == n


@pytest.mark.parametrize(("n", "threshold", "colluders"), [(40, 30, 0), (100, 80, 3), (300, 270, 10)])
def test_sparse_graphs_are_regular_symmetric_and_without_loops(n, threshold, colluders):
    graph = graph_of(party_names(n), os.urandom(32), threshold, colluders)
    assert graph.is_sparse
    for name in party_names(n):
        neighbours = graph.neighbours(name)
        assert len(set(neighbours)) == len(neighbours) == graph.degree
        assert name not in neighbours
        assert all(name in graph.neighbours(other) for other in neighbours)
        assert sorted((*neighbours, name)) == sorted(graph.holders(name))


def test_the_ring_is_another_in_every_session():
    one, two = (graph_of(party_names(40), session, 30, 0) for session in (b"1", b"2"))
    assert one.ring != two.ring
    assert graph_of(party_names(40), b"1", 30, 0).ring == one.ring


@given(st.integers(1, 200), st.integers(0, 50))
def test_holders_and_colluders_never_have_enough_shares_for_both_secrets(neighbours, colluders):
    holders = neighbours + 1
    assert 2 * local_threshold(neighbours, colluders) > holders + colluders
    assert 2 * (local_threshold(neighbours, colluders) - 1) <= holders + colluders


@pytest.mark.parametrize(("n", "threshold", "colluders"), [(31, 26, 1), (50, 40, 0), (100, 80, 5), (200, 180, 2)])
def test_the_degree_is_the_smallest_within_the_risk(n, threshold, colluders):
    k = degree(n, threshold, colluders)
    assert k < n - 1
    assert loss_chance(n, threshold, colluders, k) <= RISK
    assert loss_chance(n, threshold, colluders, k - 2) > RISK


def test_a_threshold_near_the_half_leaves_the_graph_complete():
    assert degree(40, 21, 0) == 39


def test_the_chance_is_a_union_bound_of_hypergeometric_tails():
    n, threshold, colluders, k = 100, 80, 5, 40
    unheld = hypergeom.sf(k - local_threshold(k, colluders), n - 1, n - threshold, k)
    split = hypergeom.cdf(colluders // 2, n, threshold, k // 2)
    assert loss_chance(n, threshold, colluders, k) == pytest.approx(n * (unheld + split), rel=1e-9)


def test_the_stated_chance_bounds_the_rounds_that_are_lost():
    n, threshold, colluders, k, tries = 40, 34, 1, 12, 2000
    stated = loss_chance(n, threshold, colluders, k)
    graph = Graph(party_names(n), k, local_threshold(k, colluders), colluders)
    rng = np.random.default_rng(0)
    lost = 0
    for _ in range(tries):
        present = set(rng.permutation(party_names(n))[:threshold])
        held = all(sum(holder in present for holder in graph.holders(name)) >= graph.shares_needed for name in graph.ring)
        lost += not (held and graph.stays_joined(present))
    assert 0 < lost / tries <= stated < 1


def is_joined(graph, left):
    """Whether those that are left can all reach each other."""
    if not left:
        return True
    reached, front = set(), [next(iter(left))]
    while front:
        name = front.pop()
        if name not in reached:
            reached.add(name)
            front += [other for other in graph.neighbours(name) if other in left]
    return reached == left


@given(st.integers(7, 11), st.sampled_from([2, 4]), st.integers(0, 2), st.data())
def test_survivors_stay_joined_exactly_where_no_choice_of_colluders_splits_them(n, k, colluders, data):
    graph = Graph(party_names(n), k, local_threshold(k, colluders), colluders)
    survivors = set(data.draw(st.lists(st.sampled_from(graph.ring), min_size=1, unique=True)))
    splits = (set(gone) for size in range(colluders + 1) for gone in itertools.combinations(survivors, size))
    assert graph.stays_joined(survivors) == all(is_joined(graph, survivors - gone) for gone in splits)
