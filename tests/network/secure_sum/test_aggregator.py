"""What the aggregator refuses, and that it never shows a sum that it should not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum import graph
from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.secure_sum.messages import UnmaskReply
from tests.strategies import JUNK

from .sessions import Session, exact, inputs, names, ready, terms, through_json


def played(n=5, threshold=3, dropped=("p04",)):
    """A session whose replies are all there."""
    session = ready(n, threshold)
    values = inputs(n)
    sent = session.masked(0, values, dropped)
    return session.aggregator, values, sent, session.replies(0, session.aggregator.survivors(sent))


def test_adverts_below_the_threshold_or_of_one_name_are_refused():
    session = Session(3, terms(2))
    adverts = [party.advert() for party in session.parties.values()]
    with pytest.raises(FedDPError, match="adverts must be at least 2 for the sum to be shown, got 1"):
        session.aggregator.take_adverts(adverts[:1])
    with pytest.raises(FedDPError, match="distinct and sorted"):
        session.aggregator.take_adverts([*adverts, adverts[0]])


def test_adverts_are_handed_out_sorted_whatever_the_order_of_arrival():
    session = Session(4, terms(3))
    adverts = [party.advert() for party in session.parties.values()]
    assert [advert.name for advert in session.aggregator.take_adverts(reversed(adverts))] == names(4)


def test_shares_of_strangers_or_for_too_few_are_refused():
    session = Session(3, terms(2)).keys()
    sent = {name: party.share(session.aggregator.adverts) for name, party in session.parties.items()}
    with pytest.raises(FedDPError, match="got 'p09'"):
        session.aggregator.take_shares(sent | {"p09": {}})
    with pytest.raises(FedDPError, match="messages of 'p00' must go to each of its neighbours, got 1 messages"):
        session.aggregator.take_shares(sent | {"p00": {"p01": b""}})
    with pytest.raises(FedDPError, match="parties that shared must be at least 2 for the sum to be shown, got 1"):
        session.aggregator.take_shares({"p00": sent["p00"]})


def test_too_few_inputs_or_replies_stop_the_round_with_both_numbers():
    aggregator, _, sent, replies = played()
    with pytest.raises(FedDPError, match="parties with a masked input must be at least 3 for the sum to be shown, got 2"):
        aggregator.total(0, {name: sent[name] for name in names(2)}, replies)
    with pytest.raises(FedDPError, match="parties that help to unmask must be at least 3 for the sum to be shown, got 2"):
        aggregator.total(0, sent, {name: replies[name] for name in names(2)})


def test_a_round_that_the_session_does_not_have_is_refused():
    aggregator, _, sent, replies = played()
    with pytest.raises(FedDPError, match="round must be a whole number from 0 to 0, got 1"):
        aggregator.total(1, sent, {name: replace(reply, round=1) for name, reply in replies.items()})


def test_inputs_and_replies_of_strangers_are_refused():
    aggregator, _, sent, replies = played()
    with pytest.raises(FedDPError, match="a party with a masked input must be one of the session that took part so far, got 'p09'"):
        aggregator.total(0, sent | {"p09": sent["p00"]}, replies)
    with pytest.raises(FedDPError, match=r"a party that helps to unmask must be one .* got 'p04'"):
        aggregator.total(0, sent, replies | {"p04": replies["p00"]})


@pytest.mark.parametrize("bad", [np.zeros(4, dtype=np.uint64), np.zeros(5), np.zeros((5, 1), dtype=np.uint64), [0] * 5])
def test_inputs_of_another_shape_are_refused(bad):
    aggregator, _, sent, replies = played()
    with pytest.raises(FedDPError, match="masked inputs must be rows of unsigned 64-bit integers of one length"):
        aggregator.total(0, sent | {"p01": bad}, replies)


def test_a_reply_to_another_request_is_refused():
    aggregator, _, sent, replies = played()
    reply = replies["p01"]
    both = UnmaskReply(0, reply.self_shares, reply.key_shares | {"p00": bytes(16)})
    for bad in (replace(reply, round=1), replace(reply, self_shares={}), replace(reply, key_shares={}), both):
        with pytest.raises(FedDPError, match="the reply of 'p01' must hold its shares of round 0 and these survivors"):
            aggregator.total(0, sent, replies | {"p01": bad})


@pytest.mark.parametrize(("kind", "owner", "what"), [("self_shares", "p02", "self-mask"), ("key_shares", "p04", "mask key")])
def test_a_wrong_share_is_noticed_and_does_not_give_a_wrong_sum(kind, owner, what):
    aggregator, values, sent, replies = played()
    bad = replace(replies["p00"], **{kind: getattr(replies["p00"], kind) | {owner: bytes(16)}})
    with pytest.raises(FedDPError, match=f"shares of the {what} of '{owner}' must rebuild its seed, got wrong ones"):
        aggregator.total(0, sent, replies | {"p00": bad})
    others = {name: reply for name, reply in replies.items() if name != "p00"}
    assert np.array_equal(aggregator.total(0, sent, others), exact(values, names(4)))


def test_a_seed_with_too_few_holders_left_stops_the_round(monkeypatch):
    monkeypatch.setattr(graph, "degree", lambda *_: 4)
    session = ready(12, 8)
    sent = session.masked(0, inputs(12))
    replies = session.replies(0, session.aggregator.survivors(sent))
    silent = session.aggregator._graph.holders("p00")[1:4]
    heard = {name: reply for name, reply in replies.items() if name not in silent}
    with pytest.raises(FedDPError, match=r"shares of the self-mask of '.*' in round 0 must be at least 3, got [12]"):
        session.aggregator.total(0, sent, heard)


def test_the_masked_inputs_are_not_changed():
    aggregator, _, sent, replies = played()
    before = {name: array.copy() for name, array in sent.items()}
    aggregator.total(0, sent, replies)
    assert all(np.array_equal(sent[name], before[name]) for name in sent)


STATES = [Aggregator(terms(2)).to_dict(), Session(3, terms(2)).keys().aggregator.to_dict(), ready(3, 2).aggregator.to_dict()]


def test_a_state_comes_back_whole():
    for state in STATES:
        assert Aggregator.from_dict(state).to_dict() == state
    assert through_json(ready(3, 2).aggregator).sharers == tuple(names(3))


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
