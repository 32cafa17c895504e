"""The client's loop against a runtime that is made up."""

import re
import threading
from collections import deque

import httpx
from flwr.app import RecordDict
from flwr.app.message import Message

from feddp_kmeans.network.flower.body import body_of, request
from feddp_kmeans.network.flower.executor import execute


class FakeTask:
    def __init__(self, message, log):
        self.message, self.log = message, log

    def pull(self):
        return self.message

    def push(self, reply):
        self.log.append(reply)

    def close(self, error=""):
        self.log.append(error)


class FakeRuntime:
    """Hands out these messages (or raises these errors), then stops the loop."""

    def __init__(self, *events):
        self.events = deque(events)
        self.stop = threading.Event()
        self.log = []

    def acquire(self):
        if not self.events:
            self.stop.set()
            return None
        event = self.events.popleft()
        if isinstance(event, Exception):
            raise event
        return None if event is None else FakeTask(event, self.log)


def ask(body):
    message = request(3, body, 10.0)
    message.metadata.__dict__["_message_id"] = "m"
    return message


def run(runtime, handle):
    execute(runtime, handle, runtime.stop, poll=0.0)


def test_messages_are_answered_in_turn_by_the_handler_alone(site_log):
    runtime = FakeRuntime(ask(b"one"), None, ask(b"two"))
    run(runtime, bytes.upper)
    assert site_log() == []
    assert [entry if isinstance(entry, str) else body_of(entry) for entry in runtime.log] == [b"ONE", "", b"TWO", ""]
    assert runtime.log[0].metadata.reply_to_message_id == "m"


def test_a_supernode_that_is_away_is_asked_again(site_log):
    runtime = FakeRuntime(httpx.ConnectError("away"), ask(b"one"))
    run(runtime, bytes.upper)
    assert site_log() == []
    assert body_of(runtime.log[0]) == b"ONE"


def test_what_goes_wrong_is_told_here_and_not_to_the_server(site_log, caplog):
    def handle(body):
        if body == b"bad":
            raise ZeroDivisionError("the value 37.2 of Mrs Schmidt")
        return body

    runtime = FakeRuntime(ask(b"bad"), ask(b"good"))
    run(runtime, handle)
    (line,) = site_log()
    assert re.fullmatch(r"a message was not answered: ZeroDivisionError in network/flower/body\.py, line \d+", line)
    assert "Schmidt" not in caplog.text
    error, closed, reply, done = runtime.log
    assert error.has_error()
    assert "Schmidt" not in f"{error.error.reason}{closed}"
    assert closed
    assert body_of(reply) == b"good"
    assert done == ""


def test_a_message_that_holds_no_bytes_is_refused_and_the_next_is_answered(site_log):
    empty = Message(RecordDict(), dst_node_id=3, message_type="query", ttl=10.0)
    empty.metadata.__dict__["_message_id"] = "m"
    runtime = FakeRuntime(empty, ask(b"one"))
    run(runtime, bytes.upper)
    assert site_log() == ["a message was not answered: a message must hold one record of bytes, got something else."]
    assert runtime.log[0].has_error()
    assert body_of(runtime.log[2]) == b"ONE"
