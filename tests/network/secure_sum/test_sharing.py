"""Shares: any threshold of them rebuild the seed, as the library does, and fewer do not."""

import os

import numpy as np
import pytest
from Crypto.Protocol.SecretSharing import Shamir
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum.sharing import MOST_HOLDERS, join, split


@given(st.binary(min_size=16, max_size=16), st.data())
def test_any_choice_of_enough_shares_rebuilds_the_seed(seed, data):
    holders = data.draw(st.integers(1, 12))
    needed = data.draw(st.integers(1, holders))
    (shares,) = split([seed], needed, holders)
    places = data.draw(st.permutations(range(holders)))[:needed]
    assert join({place: shares[place] for place in places}) == seed


@given(st.dictionaries(st.integers(0, 300), st.binary(min_size=16, max_size=16), min_size=1, max_size=8))
def test_joining_is_what_the_library_does(shares):
    assert join(shares) == Shamir.combine([(place + 1, share) for place, share in shares.items()])


def test_too_few_or_tampered_shares_give_another_seed():
    seed = os.urandom(16)
    shares = dict(enumerate(split([seed], 3, 5)[0]))
    assert join({place: shares[place] for place in (0, 1)}) != seed
    assert join({0: shares[0], 1: shares[1], 2: os.urandom(16)}) != seed
    assert join({0: shares[0], 1: shares[1], 3: shares[2]}) != seed


@given(st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=4), st.sampled_from([1, 2, 3, 7, 130, 300]), st.data())
def test_the_library_rebuilds_what_we_split_and_seeds_do_not_mix(seeds, holders, data):
    needed = data.draw(st.integers(1, min(holders, 5)))
    places = data.draw(st.lists(st.integers(0, holders - 1), min_size=needed, max_size=needed, unique=True))
    for seed, shares in zip(seeds, split(seeds, needed, holders), strict=True):
        assert len(shares) == holders
        assert Shamir.combine([(place + 1, shares[place]) for place in places]) == seed


def test_the_largest_places_are_right():
    (shares,) = split([bytes(range(16))], 2, MOST_HOLDERS - 1)
    places = (MOST_HOLDERS - 2, 40_000)
    assert Shamir.combine([(place + 1, shares[place]) for place in places]) == bytes(range(16))


def test_fewer_shares_than_needed_say_nothing():
    """Of two shares out of three that are needed, every bit is even, whatever the seed: 4,000 splits."""
    for seed in (bytes(16), b"\xff" * 16):
        pairs = np.array([np.frombuffer(a + b, np.uint8) for a, b, _ in split([seed] * 4000, 3, 3)])
        shares_of_ones = np.unpackbits(pairs, axis=1).mean(axis=0)
        assert np.abs(shares_of_ones - 0.5).max() < 6 * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize(("needed", "holders"), [(0, 3), (4, 3), (1, MOST_HOLDERS)])
def test_numbers_that_make_no_sense_are_refused(needed, holders):
    with pytest.raises(FedDPError, match="holders must be from"):
        split([bytes(16)], needed, holders)
