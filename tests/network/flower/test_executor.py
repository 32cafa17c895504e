"""The client's loop against a SuperNode that is made up."""

import re
from collections import deque

import httpx
import pytest
from flwr.app import RecordDict
from flwr.app.message import Message

from feddp_kmeans.network.flower import compat, executor
from feddp_kmeans.network.flower.body import body_of, request
from feddp_kmeans.network.flower.compat import HttpRuntime
from feddp_kmeans.network.flower.executor import execute


class FakeSuperNode:
    """Hands out these messages (or raises these errors) in the place of flwr's functions, then stops the loop."""

    def __init__(self, monkeypatch, *events):
        self.events = deque(events)
        self.stopped = False
        self.log = []
        monkeypatch.setattr(compat, "_waiting_task", lambda *_: self.waiting_task())
        monkeypatch.setattr(compat, "pull_task_input", lambda _: (self.next, "context", None, None))
        monkeypatch.setattr(compat, "push_message", lambda _, reply, context: self.log.append(reply))
        monkeypatch.setattr(compat, "push_task_output", lambda _, context, status, error: self.log.append((status, error)))
        monkeypatch.setattr(compat.RuntimeHttpClient, "SendTaskHeartbeat", lambda *_: None)

    def waiting_task(self):
        if not self.events:
            self.stopped = True
            return None
        event = self.events.popleft()
        if isinstance(event, Exception):
            raise event
        self.next = event
        return None if event is None else "token"


def ask(body):
    message = request(3, body, 10.0)
    message.metadata.__dict__["_message_id"] = "m"
    return message


@pytest.fixture
def answered(monkeypatch):
    """Return what runs the loop on these events, and then returns what the SuperNode got: replies and the ends of tasks."""

    monkeypatch.setattr(executor, "_POLL", 0.0)

    def run(handle, *events):
        node = FakeSuperNode(monkeypatch, *events)
        runtime = HttpRuntime("127.0.0.1:1", "secret")
        execute(runtime, handle, lambda: not node.stopped)
        runtime.close()
        return node.log

    return run


DONE = ("completed", "")


def test_messages_are_answered_in_turn_by_the_handler_alone(answered, site_log):
    log = answered(bytes.upper, ask(b"one"), None, ask(b"two"))
    assert site_log() == []
    assert [entry if isinstance(entry, tuple) else body_of(entry) for entry in log] == [b"ONE", DONE, b"TWO", DONE]
    assert log[0].metadata.reply_to_message_id == "m"


def test_a_supernode_that_is_away_is_asked_again(answered, site_log):
    log = answered(bytes.upper, httpx.ConnectError("away"), ask(b"one"))
    assert site_log() == []
    assert body_of(log[0]) == b"ONE"


def test_what_goes_wrong_is_told_here_and_not_to_the_server(answered, site_log, caplog):
    def handle(body):
        if body == b"bad":
            raise ZeroDivisionError("the value 37.2 of Mrs Schmidt")
        return body

    error, closed, reply, done = answered(handle, ask(b"bad"), ask(b"good"))
    (line,) = site_log()
    assert re.fullmatch(r"a message was not answered: ZeroDivisionError in network/flower/body\.py, line \d+", line)
    assert "Schmidt" not in caplog.text
    assert error.has_error()
    assert error.error.reason == "the client could not answer"
    assert closed == ("failed", "the client could not answer")
    assert body_of(reply) == b"good"
    assert done == DONE


def test_a_message_that_holds_no_bytes_is_refused_and_the_next_is_answered(answered, site_log):
    empty = Message(RecordDict(), dst_node_id=3, message_type="query", ttl=10.0)
    empty.metadata.__dict__["_message_id"] = "m"
    log = answered(bytes.upper, empty, ask(b"one"))
    assert site_log() == ["a message was not answered: a message must hold one record of bytes, got something else."]
    assert log[0].has_error()
    assert body_of(log[2]) == b"ONE"
