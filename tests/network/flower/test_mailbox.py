"""Replies on a real SuperLink: whole ones come at once, whatever else was announced and does not come, or comes and is no message."""

import threading
import time

import pytest

pytest.importorskip("flwr")

from flwr.app import RecordDict
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, PushObjectRequest, PushObjectResponse

from feddp_kmeans.network.deployment.apps import APP_FOLDER
from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.serve import superlink
from feddp_kmeans.network.flower import fleet
from feddp_kmeans.network.flower.body import body_of, reply
from feddp_kmeans.network.flower.fleet import Fleet
from feddp_kmeans.network.flower.flower_federation import GridTransport
from feddp_kmeans.network.transport import Absence, Lost

pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")  # flwr's, when it packs an app

TIMEOUT = 10.0


class Site:
    """A node that answers each message with its own words, until it is closed."""

    def __init__(self, address, words):
        self.fleet = Fleet(address, None, None)
        self.fleet.enter()
        self.node = self.fleet._node.node_id
        self.words, self.asked, self.closed = words, threading.Event(), False
        self.thread = threading.Thread(target=self.answers)

    def answers(self):
        while not self.closed:
            if not self.fleet.answer_next(self.answer):
                time.sleep(0.05)

    def answer(self, message):
        self.asked.set()
        return reply(self.words + body_of(message), to=message)

    def close(self):
        self.closed = True
        self.thread.join(60)
        self.fleet.close()


def announces_only(site, monkeypatch):
    """Make a site lose its power between the announcement of a reply and its parts."""
    answers = site.fleet._answers

    def unheard(requests):
        if any(isinstance(request, PushObjectRequest) for request in requests):
            return [PushObjectResponse(stored=True) for _ in requests]
        return answers(requests)

    monkeypatch.setattr(site.fleet, "_answers", unheard)


@pytest.fixture(params=[True, pytest.param(False, marks=pytest.mark.slow)], ids=["bundles", "one by one"])
def transport(request):
    """A transport, and a function that adds a site."""
    port, sites = free_port(), []

    def add(words):
        sites.append(Site(f"127.0.0.1:{port}", words))
        return sites[-1]

    with superlink(port) as (_, control), control.run(APP_FOLDER) as grid:
        try:
            yield GridTransport(grid, bundles=request.param), add
        finally:
            for site in sites:
                site.close()


def ask(transport, sites, *, patient=None):
    nodes = [site.node for site in sites]
    replies = transport.exchange(dict.fromkeys(nodes, b"?"), TIMEOUT, nodes if patient is None else patient)
    return [replies[node] for node in nodes]


@pytest.mark.slow  # waits for a reply that does not come
def test_a_reply_that_is_announced_and_does_not_come_holds_nobody_up(transport, monkeypatch):
    transport, add = transport
    quiet, *honest = [add(name) for name in (b"quiet", b"anna", b"ben")]
    sites = [honest[0], quiet, honest[1]]
    announces_only(quiet, monkeypatch)
    quiet.thread.start()
    began = time.monotonic()
    later = threading.Thread(target=lambda: (quiet.asked.wait(60), [site.thread.start() for site in honest]))
    later.start()  # So the silent one's reply is the first that the server hears of.
    found = ask(transport, sites)
    assert found == [b"anna?", Lost(f"no reply within {TIMEOUT:g} s"), b"ben?"]
    assert time.monotonic() - began < 3 * TIMEOUT  # flwr's own way takes 180 s.
    assert ask(transport, honest) == [b"anna?", b"ben?"]
    later.join(60)


@pytest.mark.slow  # waits for a site that never answers, four times
def test_a_site_that_confirms_before_it_was_sent_everything_harms_only_itself(transport):
    transport, add = transport
    hasty, *honest = [add(name) for name in (b"hasty", b"anna", b"ben")]
    client, node = hasty.fleet._client, hasty.fleet._node

    def confirm():
        while not hasty.closed:
            waiting = client.PullMessages(fleet.PullMessagesRequest(node=node))
            for message, tree in zip(waiting.messages_list, waiting.message_object_trees, strict=True):
                confirmed = ConfirmMessageReceivedRequest(node=node, run_id=message.metadata.run_id, message_object_id=tree.object_id)
                client.ConfirmMessageReceived(confirmed)

    hasty.thread = threading.Thread(target=confirm)
    hasty.thread.start()
    for site in honest:
        site.thread.start()
    for _ in range(4):
        found = ask(transport, [hasty, *honest], patient=[site.node for site in honest])
        assert found[1:] == [b"anna?", b"ben?"]
        assert isinstance(found[0], Lost)


def test_what_is_no_message_is_lost_and_the_rest_goes_on(transport, monkeypatch):
    transport, add = transport
    odd, honest = add(b"odd"), add(b"anna")
    plain = fleet.get_object_tree

    def other_tree(message):
        """Announce another object in the message's place."""
        tree = plain(message)
        if threading.current_thread() is odd.thread:
            tree.CopyFrom(plain(RecordDict()))
        return tree

    monkeypatch.setattr(fleet, "get_object_tree", other_tree)
    odd.thread.start()
    honest.thread.start()
    found = ask(transport, [odd, honest], patient=[honest.node])
    assert found[1] == b"anna?"
    assert isinstance(found[0], Lost)
    assert found[0].why in Absence
