"""Answers of sites: of the kind that was asked for, at the place that was asked at, and of the right shape."""

import numpy as np
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.replies import Session, opened_reply, shares_of, vector_of
from feddp_kmeans.network.transport import Lost
from feddp_kmeans.network.wire import pack, unpack

PLACE = {"session": b"s", "turn": 3}


def test_a_turn_is_used_once():
    session = Session("r1", b"key")
    turns = [session.next_turn()["turn"] for _ in range(3)]
    assert turns == [1, 2, 3]
    assert session.place == {"session": b"key", "turn": 3}


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Lost("it did not answer in time"), "it did not answer in time"),
        (pack("refused", reason="too late"), "it refused: too late"),
        (pack("failed", reason="x" * 999), "it failed: " + "x" * 300),
        (pack("masked", **PLACE), "it answered 'masked' where 'summed' was asked for."),
        (pack("summed", session=b"s", turn=2), "it answered an earlier request again."),
        (pack("summed", session=b"t", turn=3), "it answered an earlier request again."),
    ],
)
def test_an_answer_that_is_not_the_one_asked_for_is_an_error(reply, message):
    with pytest.raises(FedDPError) as refused:
        opened_reply(reply, "summed", PLACE)
    assert str(refused.value) == message


def test_an_answer_to_the_request_is_opened():
    assert opened_reply(pack("summed", **PLACE, values=np.arange(2)), "summed", PLACE).fields["values"].tolist() == [0, 1]


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros(2, dtype=np.int64), np.zeros((2, 1)), "two"])
def test_numbers_of_another_length_or_type_are_refused(values):
    with pytest.raises(FedDPError, match="2 numbers"):
        vector_of(unpack(pack("summed", values=values)), 2, np.float64)


def test_a_site_shares_with_each_other_party_and_nobody_else():
    reply = unpack(pack("shared", shares={"a": "00", "b": "ff"}))
    assert shares_of("c", reply, ["a", "b", "c"]) == {"a": b"\x00", "b": b"\xff"}
    for parties in (["a", "c"], ["a", "b", "c", "d"]):
        with pytest.raises(FedDPError, match="must share with each other party"):
            shares_of("c", reply, parties)
