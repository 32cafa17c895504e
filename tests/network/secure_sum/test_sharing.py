"""Shares: any threshold of them rebuild the seed, as the library does, and fewer do not."""

import os
import sys

import pytest
from Crypto.Protocol.SecretSharing import Shamir
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum.sharing import join, split


@given(st.binary(min_size=16, max_size=16), st.data())
def test_any_choice_of_enough_shares_rebuilds_the_seed(seed, data):
    holders = data.draw(st.integers(1, 12))
    needed = data.draw(st.integers(1, holders))
    shares = split(seed, needed, holders)
    places = data.draw(st.permutations(range(holders)))[:needed]
    assert join({place: shares[place] for place in places}) == seed


@given(st.dictionaries(st.integers(0, 300), st.binary(min_size=16, max_size=16), min_size=1, max_size=8))
def test_joining_is_what_the_library_does(shares):
    assert join(shares) == Shamir.combine([(place + 1, share) for place, share in shares.items()])


def test_too_few_or_tampered_shares_give_another_seed():
    seed = os.urandom(16)
    shares = dict(enumerate(split(seed, 3, 5)))
    assert join({place: shares[place] for place in (0, 1)}) != seed
    assert join({0: shares[0], 1: shares[1], 2: os.urandom(16)}) != seed
    assert join({0: shares[0], 1: shares[1], 3: shares[2]}) != seed


def test_without_pycryptodome_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "Crypto.Protocol.SecretSharing", None)
    with pytest.raises(FedDPError, match=r"pycryptodome; install feddp-kmeans\[flower\]"):
        split(bytes(16), 1, 1)
