"""SessionTerms: safe thresholds, and how small a sum a lying server can get."""

import itertools
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms

from .sessions import terms


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"session": b"short"}, "session's id must be 32 bytes, got 5"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"rounds": True}, "rounds must be a whole number"),
        ({"threshold": 0}, "threshold must be a whole number"),
        ({"threshold": 2.0}, "threshold must be a whole number"),
        ({"colluders": -1}, "colluders must be a whole number"),
        ({"colluders": 2}, "colluders must be a whole number from 0 to 1, got 2"),
    ],
)
def test_terms_that_make_no_sense_are_refused(change, match):
    with pytest.raises(FedDPError, match=match):
        SessionTerms(**({"session": os.urandom(32), "rounds": 1, "threshold": 2} | change))


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 20))
def test_the_threshold_exceeds_half_of_parties_plus_colluders(n, threshold, colluders):
    if colluders >= threshold:
        return
    agreed = terms(threshold, colluders=colluders)
    safe = threshold <= n and 2 * threshold > n + colluders
    if safe:
        agreed.check_parties(n)
    else:
        with pytest.raises(FedDPError, match="must"):
            agreed.check_parties(n)


def smallest_sum(n, threshold):
    """The fewest parties whose sum a server can get from honest parties on a complete graph by telling each its own list: all tried."""
    everyone = range(n)
    options = [[set(s) for size in range(threshold, n + 1) for s in itertools.combinations(everyone, size) if me in s] for me in everyone]
    best = n
    for lists in itertools.product(*options):
        votes = [sum(party in told for told in lists) for party in everyone]
        kept = [votes[p] >= threshold for p in everyone]
        lost = [n - votes[p] >= threshold for p in everyone]
        if any(kept) and all(k or d for k, d in zip(kept, lost, strict=True)):
            best = min(best, sum(kept))
    return best


def honest_floor(n, t, c=0):
    """The bound of docs/secure_sum.md, where lists are not confirmed."""
    return max(1, t - c - (n - c) * (n - t) // (t - c))


@pytest.mark.parametrize(("n", "threshold"), [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 4)])
def test_no_server_gets_a_smaller_sum_than_the_floor(n, threshold):
    assert honest_floor(n, threshold) <= smallest_sum(n, threshold)


def test_a_lying_server_does_get_less_than_the_threshold_where_lists_are_not_confirmed():
    lists = [{0, 1, 2}, {0, 1, 3}, {0, 1, 2}, {0, 1, 3}, {0, 1, 4}]
    votes = [sum(party in told for told in lists) for party in range(5)]
    assert votes == [5, 5, 2, 2, 1]
    assert honest_floor(5, 3) <= 2


def test_terms_come_back_whole_and_anything_else_is_refused():
    agreed = terms(4, 3, 1, confirmed=True)
    assert SessionTerms.from_dict(agreed.to_dict()) == agreed
    for bad in (
        None,
        {},
        agreed.to_dict() | {"more": 1},
        agreed.to_dict() | {"session": "zz"},
        agreed.to_dict() | {"rounds": "1"},
        agreed.to_dict() | {"confirmed": 1},
    ):
        with pytest.raises(FedDPError, match="must"):
            SessionTerms.from_dict(bad)
