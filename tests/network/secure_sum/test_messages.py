"""Messages from the network: what is whole comes back the same, and anything else is refused in one line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum.fields import parsed
from feddp_kmeans.network.secure_sum.messages import Advert, UnmaskReply
from feddp_kmeans.network.secure_sum.party import Party
from tests.strategies import JUNK

from .sessions import IDENTITIES, terms

ADVERT = Party.new("p00", terms(1, rounds=2)).advert(IDENTITIES["p00"])
REPLY = UnmaskReply(1, {"p00": bytes(16)}, {"p01": bytes(range(16))})


@pytest.mark.parametrize("message", [ADVERT, REPLY])
def test_a_message_comes_back_whole(message):
    assert type(message).from_dict(message.to_dict()) == message


@settings(max_examples=200)
@given(st.sampled_from([ADVERT, REPLY]), st.data())
def test_a_malformed_message_is_refused_and_nothing_else_is_raised(message, data):
    row = message.to_dict()
    row[data.draw(st.sampled_from(sorted(row)))] = data.draw(JUNK)
    try:
        read = type(message).from_dict(row)
    except FedDPError:
        return
    assert read.to_dict() == row


@pytest.mark.parametrize("kind", [Advert, UnmaskReply])
@given(JUNK)
def test_anything_else_is_no_message(kind, junk):
    with pytest.raises(FedDPError, match="must have the fields"):
        kind.from_dict(junk)


@pytest.mark.parametrize(
    "change",
    [
        {"encryption_key": "00" * 31},
        {"encryption_key": "0 " * 32},
        {"encryption_key": "AA" * 32},
        {"mask_keys": ["00" * 31]},
        {"mask_keys": "00" * 32},
        {"self_checks": [0, 1]},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 201},
        {"signature": "xyz"},
        {"extra": 1},
    ],
)
def test_an_advert_of_wrong_lengths_or_types_is_refused(change):
    with pytest.raises(FedDPError, match="must"):
        Advert.from_dict(ADVERT.to_dict() | change)


@pytest.mark.parametrize(
    "change",
    [
        {"round": -1},
        {"round": True},
        {"round": 1 << 16},
        {"self_shares": {"p00": "00" * 15}},
        {"self_shares": [1]},
        {"key_shares": {1: "00" * 16}},
    ],
)
def test_a_reply_of_wrong_lengths_or_types_is_refused(change):
    with pytest.raises(FedDPError, match="must"):
        UnmaskReply.from_dict(REPLY.to_dict() | change)


def test_half_a_character_is_no_text():
    with pytest.raises(FedDPError, match="must be text, got str of 1"):
        parsed(str, "\ud800", "host")
    assert parsed(str, "Köln 東京", "host") == "Köln 東京"
