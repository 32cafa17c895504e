"""The encrypted messages between parties: for one reader, of one sender, under one session."""

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum.channels import Channels

from .sessions import terms

PAIRS = [(bytes(16), b"1" * 16), (b"2" * 16, b"3" * 16)]


def channels():
    keys = {name: X25519PrivateKey.generate() for name in ("a", "b", "c")}
    publics = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    agreed = terms(2, rounds=2)
    return {name: Channels(name, agreed, key.private_bytes_raw(), publics, b"view") for name, key in keys.items()}


def test_a_message_is_read_by_its_receiver_only_and_as_of_its_sender_only():
    made = channels()
    sealed = made["a"].seal("b", PAIRS)
    assert made["b"].open("a", sealed) == PAIRS
    for reader, sender in (("c", "a"), ("b", "c"), ("a", "b")):
        with pytest.raises(FedDPError, match=f"the message of '{sender}' must be whole, for '{reader}'"):
            made[reader].open(sender, sealed)


@pytest.mark.parametrize("change", [{"view": b"another view"}, {"terms": terms(2, rounds=2)}, {"terms": terms(2, rounds=1)}])
def test_a_message_is_of_one_session_and_one_view_of_the_adverts(change):
    made = channels()
    sealed = made["a"].seal("b", PAIRS)
    with pytest.raises(FedDPError, match="must be whole"):
        replace(made["b"], **change).open("a", sealed)


def test_a_message_that_was_changed_or_cut_is_refused():
    made = channels()
    sealed = made["a"].seal("b", PAIRS)
    for spoilt in (sealed[:-1], sealed[:5], b"", sealed[:20] + bytes([sealed[20] ^ 1]) + sealed[21:]):
        with pytest.raises(FedDPError, match="must be whole"):
            made["b"].open("a", spoilt)
    assert made["a"].seal("b", PAIRS) != sealed  # a new nonce
