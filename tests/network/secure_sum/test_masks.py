"""Keys and masks: both ends agree, and no two purposes, rounds or names share a key."""

import os

import numpy as np
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum import fields, masks

SESSION = bytes(range(32))


def test_both_ends_of_a_pair_derive_the_same_key_and_cancel():
    one, other = os.urandom(32), os.urandom(32)
    ours = masks.pair_key(one, masks.public_key(other), SESSION, 3, b"q", "a", "b")
    theirs = masks.pair_key(other, masks.public_key(one), SESSION, 3, b"q", "b", "a")
    assert ours == theirs
    total = np.zeros(9, dtype=np.uint64)
    masks.add_pair_mask(total, ours, "a", "b")
    assert total.all()
    masks.add_pair_mask(total, theirs, "b", "a")
    assert not total.any()


def test_every_purpose_round_and_name_has_its_own_key():
    seed, public = os.urandom(16), masks.public_key(os.urandom(32))
    private = os.urandom(32)
    keys = [
        derived(seed, s, r, n)
        for derived in (masks.mask_private_key, masks.self_key, masks.self_check)
        for s in (SESSION, bytes(32))
        for r in (0, 1)
        for n in "ab"
    ]
    keys += [
        masks.pair_key(private, public, s, r, q, "a", n) for s in (SESSION, bytes(32)) for r in (0, 1) for q in (b"", b"q") for n in "bc"
    ]
    keys += [masks.channel_key(private, public, SESSION, a, b) for a, b in ("ab", "ba", "ac")]
    assert len(set(keys)) == len(keys)


def test_the_mask_is_the_chacha20_key_stream():
    # The first block of RFC 8439's key stream for the all-zero key and nonce (its appendix A.1, vector 1).
    assert masks.mask(bytes(32), 2).tobytes().hex() == "76b8e0ada0f13d90405d6ae55386bd28"
    assert np.array_equal(masks.mask(SESSION, 1000)[:10], masks.mask(SESSION, 10))


def test_a_public_key_of_small_order_is_refused():
    with pytest.raises(FedDPError, match="point of full order"):
        masks.agree(os.urandom(32), bytes(32))


def test_no_two_lists_of_parts_have_the_same_encoding():
    assert (
        len(
            {fields.encode(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), (fields.encode("ab", "c"),))}
        )
        == 6
    )
