"""What the aggregator refuses, and that it never shows a sum that it should not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.secure_sum.messages import UnmaskReply
from tests.strategies import JUNK

from .sessions import Session, exact, inputs, names, opened, ready, terms, through_json


def played(n=5, threshold=3, dropped=("p04",)):
    """A session whose replies are all there."""
    session = ready(n, threshold)
    values = inputs(n)
    sent = session.masked(0, values, dropped)
    return session.aggregator, values, sent, session.replies(0, sorted(sent))


def test_adverts_that_are_too_few_or_not_sorted_are_refused():
    session = Session(3, terms(2))
    adverts = tuple(party.advert() for party in session.parties.values())
    with pytest.raises(FedDPError, match="parties must be at least 2, the threshold, got 1"):
        Aggregator(session.agreed, adverts[:1])
    for wrong in ((*adverts, adverts[0]), adverts[::-1]):
        with pytest.raises(FedDPError, match="distinct and sorted"):
            Aggregator(session.agreed, wrong)


def test_shares_of_strangers_are_refused():
    session = Session(3, terms(2)).keys()
    with pytest.raises(FedDPError, match="parties that shared must be of the session and have taken part so far, got 'p09'"):
        session.hand_over({"p09": {}})


def test_too_few_replies_stop_the_round_with_both_numbers():
    aggregator, _, sent, replies = played()
    with pytest.raises(FedDPError, match="shares of the self-mask of 'p00' must be at least 3, got 2"):
        opened(aggregator, 0, sent, {name: replies[name] for name in names(2)})


def test_a_round_that_the_session_does_not_have_is_refused():
    aggregator, _, sent, replies = played()
    with pytest.raises(FedDPError, match="round must be a whole number from 0 to 0, got 1"):
        opened(aggregator, 1, sent, {name: replace(reply, round=1) for name, reply in replies.items()})


def test_inputs_and_replies_of_strangers_are_refused():
    aggregator, _, sent, replies = played()
    with pytest.raises(FedDPError, match="survivors must be of the session and have taken part so far, got 'p09'"):
        opened(aggregator, 0, sent | {"p09": sent["p00"]}, replies)
    with pytest.raises(FedDPError, match=r"parties that help to unmask must be .* got 'p04'"):
        opened(aggregator, 0, sent, replies | {"p04": replies["p00"]})


def test_a_reply_to_another_request_is_refused():
    aggregator, _, sent, replies = played()
    reply = replies["p01"]
    both = UnmaskReply(0, reply.self_shares, reply.key_shares | {"p00": bytes(16)})
    for bad in (replace(reply, round=1), replace(reply, self_shares={}), replace(reply, key_shares={}), both):
        with pytest.raises(FedDPError, match="the reply of 'p01' must hold its shares of round 0 and these survivors"):
            opened(aggregator, 0, sent, replies | {"p01": bad})


@pytest.mark.parametrize(("kind", "owner", "what"), [("self_shares", "p02", "self-mask"), ("key_shares", "p04", "mask key")])
def test_a_wrong_share_is_noticed_and_does_not_give_a_wrong_sum(kind, owner, what):
    aggregator, values, sent, replies = played()
    bad = replace(replies["p00"], **{kind: getattr(replies["p00"], kind) | {owner: bytes(16)}})
    with pytest.raises(FedDPError, match=f"shares of the {what} of '{owner}' must rebuild its seed, got wrong ones"):
        opened(aggregator, 0, sent, replies | {"p00": bad})
    others = {name: reply for name, reply in replies.items() if name != "p00"}
    assert np.array_equal(opened(aggregator, 0, sent, others), exact(values, names(4)))


def test_the_masked_inputs_are_not_changed():
    aggregator, _, sent, replies = played()
    before = {name: array.copy() for name, array in sent.items()}
    opened(aggregator, 0, sent, replies)
    assert all(np.array_equal(sent[name], before[name]) for name in sent)


STATES = [Session(3, terms(2)).keys().aggregator.to_dict(), ready(3, 2).aggregator.to_dict()]


def test_a_state_comes_back_whole():
    for state in STATES:
        assert Aggregator.from_dict(state).to_dict() == state
    assert through_json(ready(3, 2).aggregator).sharers == tuple(names(3))


@pytest.mark.slow  # hundreds of damaged states
@settings(max_examples=100)
@given(st.sampled_from(STATES), st.data())
def test_a_damaged_state_is_refused_or_harmless(state, data):
    damaged = dict(state)
    damaged[data.draw(st.sampled_from(sorted(state)))] = data.draw(JUNK | st.sampled_from([v for s in STATES for v in s.values()]))
    try:
        aggregator = Aggregator.from_dict(damaged)
    except FedDPError:
        return
    assert Aggregator.from_dict(aggregator.to_dict()).to_dict() == aggregator.to_dict()
