"""The transport on a grid that is made up: replies by message, errors, timeouts, patience."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from flwr.app import Error, Message, Metadata, RecordDict
from flwr.app.message import make_message
from flwr.common.constant import ErrorCode

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.network.flower import flower_federation as grid_module
from feddp_kmeans.network.flower.body import body_of, reply, request
from feddp_kmeans.network.flower.flower_federation import FlowerFederation, GridTransport
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.transport import Absence, Lost
from tests.network import loopback

SERVER = 1

REASONS = {
    "UNKNOWN": Absence.FAILED,
    "CLIENT_APP_RAISED_EXCEPTION": Absence.FAILED,
    "MESSAGE_UNAVAILABLE": Absence.TIMED_OUT,
    "REPLY_MESSAGE_UNAVAILABLE": Absence.TIMED_OUT,
    "NODE_UNAVAILABLE": Absence.NOT_CONNECTED,
}


class Clock:
    """A time that passes only while somebody sleeps: a busy machine changes nothing."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(grid_module, "time", SimpleNamespace(monotonic=made.monotonic, sleep=made.sleep))
    monkeypatch.setattr(FakeGrid, "clock", made)
    monkeypatch.setattr(grid_module, "_POLL", 0.01)
    monkeypatch.setattr(grid_module, "_GRACE", 0.1)
    return made


class FakeGrid:
    """Hands back what a function says of each request: a reply, an error, or nothing before a moment."""

    clock = None

    def __init__(self, answers, delays=None):
        self.answers = answers
        self.delays = delays or {}
        self.sent = {}
        self.begin = self.clock.now

    def get_node_ids(self):
        return list(self.answers)

    def push_messages(self, messages):
        ids = []
        for message in messages:
            node = message.metadata.dst_node_id
            if isinstance(self.answers[node], str):
                ids.append(None)
                continue
            message.metadata.__dict__["_message_id"] = f"message {node}"
            self.sent[f"message {node}"] = message
            ids.append(f"message {node}")
        return ids

    def pull_messages(self, message_ids):
        found = []
        for name in message_ids:
            node = self.sent[name].metadata.dst_node_id
            answer = self.answers[node]
            if answer is not None and self.clock.now - self.begin >= self.delays.get(node, 0):
                found.append(_error(answer, name) if isinstance(answer, Error) else reply(answer, to=self.sent[name]))
        return found


def _error(error, name):
    metadata = Metadata(
        run_id=1, message_id="", src_node_id=SERVER, dst_node_id=SERVER, reply_to_message_id=name, group_id="", created_at=0.0, ttl=1,
        message_type="system",
    )  # fmt: skip
    return make_message(metadata=metadata, error=error)


def exchange(grid, *, timeout=2.0, patient=None):
    nodes = list(grid.answers)
    return GridTransport(grid).exchange(dict.fromkeys(nodes, b"ask"), timeout, nodes if patient is None else patient)


def test_every_node_gets_its_request_and_its_reply_comes_back_under_its_name():
    grid = FakeGrid({7: b"seven", 5: b"five"})
    assert GridTransport(grid).nodes() == [5, 7]
    assert exchange(grid) == {7: b"seven", 5: b"five"}
    assert [body_of(message) for message in grid.sent.values()] == [b"ask", b"ask"]
    assert {message.metadata.ttl for message in grid.sent.values()} == {2.0}


def test_an_error_that_comes_from_the_servers_own_address_is_the_nodes_that_it_answers():
    replies = exchange(FakeGrid({7: Error(5, "the node is gone"), 5: b"five"}))
    assert replies == {7: Lost("the node is gone", Absence.NOT_CONNECTED), 5: b"five"}


def test_errors_of_flower_are_reasons_that_are_put_on_record():
    codes = {getattr(ErrorCode, name): why for name, why in REASONS.items()}
    replies = exchange(FakeGrid({100 + code: Error(code, "why") for code in codes}))
    assert replies == {100 + code: Lost("why", why) for code, why in codes.items()}


def test_a_node_that_does_not_answer_is_lost_at_the_timeout(clock):
    replies = exchange(FakeGrid({7: None, 5: b"five"}), timeout=0.3)
    assert clock.now == pytest.approx(100.3)
    assert replies == {7: Lost("no reply within 0.3 s"), 5: b"five"}


def test_a_node_that_was_missing_before_is_waited_for_only_with_the_others_and_a_little_longer(clock):
    replies = exchange(FakeGrid({7: None, 5: b"five"}, {5: 0.3}), timeout=60, patient=[5])
    assert clock.now == pytest.approx(100.3 + 0.1, abs=0.021)  # The delay, the grace, and a look more at the end of each.
    assert replies == {7: Lost("still away", Absence.NOT_CONNECTED), 5: b"five"}


def test_a_node_that_was_missing_before_and_is_back_is_heard():
    assert exchange(FakeGrid({7: b"back", 5: b"five"}, {7: 0.15, 5: 0.1}), timeout=60, patient=[5]) == {7: b"back", 5: b"five"}


def test_with_nobody_patient_the_grace_is_all_there_is(clock):
    assert exchange(FakeGrid({7: None}), timeout=60, patient=[]) == {7: Lost("still away", Absence.NOT_CONNECTED)}
    assert clock.now == pytest.approx(100.1, abs=0.011)


def test_a_request_that_could_not_be_sent_is_lost_and_the_others_go_on():
    assert exchange(FakeGrid({7: "unsent", 5: b"five"})) == {7: Lost("the request could not be sent", Absence.NOT_CONNECTED), 5: b"five"}


def test_a_reply_without_bytes_is_lost():
    grid = FakeGrid({5: b"five"})
    grid.pull_messages = lambda ids: [Message(RecordDict(), reply_to=grid.sent[name]) for name in ids]
    assert exchange(grid) == {5: Lost("the reply held no bytes", Absence.FAILED)}


def test_no_requests_are_no_replies():
    assert GridTransport(FakeGrid({})).exchange({}, 1.0, []) == {}


@pytest.mark.parametrize("body", [b"", b"\x00\xff" * 1000])
def test_bytes_come_through_a_message_as_they_are(body):
    assert body_of(request(3, body, 1.0)) == body


class SitesGrid:
    """A grid whose nodes are participants in this process."""

    def __init__(self, participants):
        self.participants = dict(enumerate(participants, 1))
        self.replies = {}

    def get_node_ids(self):
        return list(self.participants)

    def push_messages(self, messages):
        for number, message in enumerate(messages):
            message.metadata.__dict__["_message_id"] = f"{len(self.replies)} {number}"
            handle = self.participants[message.metadata.dst_node_id].handle
            self.replies[message.metadata.message_id] = reply(handle(body_of(message)), to=message)
        return [message.metadata.message_id for message in messages]

    def pull_messages(self, ids):
        return [self.replies[number] for number in ids]


@pytest.mark.parametrize("trust", list(Trust))
def test_the_sites_of_a_grid_are_a_federation_and_give_the_bits_of_a_run_in_memory(tmp_path, rng, trust):
    clients, server = [rng.standard_normal((20, 2)) + 4 * (i % 2) for i in range(3)], rng.standard_normal((20, 2))
    grid = SitesGrid([loopback.participant(f"site{i}", points, tmp_path) for i, points in enumerate(clients)])
    prepared = prepare(Settings(2, math.inf, method="paper", lloyd_steps=0), server, 3)
    found = run(FlowerFederation(grid, trust=trust).connect(), prepared, seed=0)
    assert np.array_equal(found.centers, run(InMemoryFederation(clients), prepared, seed=0).centers)
