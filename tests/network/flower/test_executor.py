"""The client's loop against a server that is made up: one who answers for Flower's Fleet API."""

import re
from collections import deque

import httpx
import pytest
from flwr.app import RecordDict
from flwr.app.message import Message

from feddp_kmeans.network.flower import executor
from feddp_kmeans.network.flower.body import body_of, request
from feddp_kmeans.network.flower.executor import execute
from feddp_kmeans.network.flower.fleet import Fleet


class FakeFleet(Fleet):
    """Hands out these messages (or raises these errors) in the place of a server's, then is gone."""

    def __init__(self, *events):
        self.events = deque(events)
        self.sent = []

    def answer_next(self, answer):
        event = self.events.popleft() if self.events else httpx.ConnectError("gone")
        if isinstance(event, Exception):
            raise event
        if event is None:
            return False
        try:
            self.sent.append(answer(event))
        except Exception:
            self.sent.append(None)
            raise
        return True


def ask(body):
    message = request(3, body, 10.0)
    message.metadata.__dict__["_message_id"] = "m"
    return message


def refused(status):
    answer = httpx.Response(status, request=httpx.Request("POST", "http://127.0.0.1:1/"))
    return httpx.HTTPStatusError("no", request=answer.request, response=answer)


@pytest.fixture
def answered(monkeypatch):
    """Return what runs the loop on these events, and then returns why it ended and the bodies of the replies."""
    monkeypatch.setattr(executor.time, "sleep", lambda _: None)

    def run(handle, *events):
        made = FakeFleet(*events)
        why = execute(made, handle)
        return why, [reply and body_of(reply) for reply in made.sent]

    return run


AWAY = "the server has not answered for a minute"


def test_messages_are_answered_in_turn_by_the_handler_alone(answered, site_log):
    assert answered(bytes.upper, ask(b"one"), None, ask(b"two")) == (AWAY, [b"ONE", b"TWO"])
    assert site_log() == []


def test_a_server_that_has_forgotten_us_ends_the_connection(answered):
    why, replies = answered(bytes.upper, ask(b"one"), refused(401), ask(b"two"))
    assert why.startswith("the server does not know us any more")
    assert replies == [b"ONE"]


def test_a_message_that_the_server_takes_back_is_passed_over(answered, site_log):
    assert answered(bytes.upper, refused(403), ask(b"one")) == (AWAY, [b"ONE"])
    assert site_log() == ["a message was not answered: the server refused to go on with it (status 403)."]


def test_what_goes_wrong_is_told_here_without_its_text(answered, site_log, caplog):
    def handle(body):
        if body == b"bad":
            raise ZeroDivisionError("the value 37.2 of Mrs Schmidt")
        return body

    assert answered(handle, ask(b"bad"), ask(b"good")) == (AWAY, [None, b"good"])
    (line,) = site_log()
    assert re.fullmatch(r"a message was not answered: ZeroDivisionError in network/flower/body\.py, line \d+", line)
    assert "Schmidt" not in caplog.text


def test_a_message_that_holds_no_bytes_is_refused_and_the_next_is_answered(answered, site_log):
    empty = Message(RecordDict(), dst_node_id=3, message_type="query", ttl=10.0)
    assert answered(bytes.upper, empty, ask(b"one")) == (AWAY, [None, b"ONE"])
    assert site_log() == ["a message was not answered: a message must hold one record of bytes, got something else."]


def test_a_server_that_is_slow_is_asked_less_often(monkeypatch):
    clock, naps = [0.0], []

    def look(_):
        clock[0] += 0.2
        if len(naps) == 2:
            raise httpx.ConnectError("gone")
        return False

    made = FakeFleet()
    made.answer_next = look
    monkeypatch.setattr(executor.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(executor.time, "sleep", naps.append)
    assert execute(made, bytes.upper) == AWAY
    assert naps == pytest.approx([2.0, 2.0])
