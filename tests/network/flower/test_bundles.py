"""Requests in bundles: the same answers in the same order as one by one, whatever their size and however the answers come."""

import asyncio
from itertools import pairwise
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("flwr")

from flwr.proto.message_pb2 import (
    ConfirmMessageReceivedRequest,
    ConfirmMessageReceivedResponse,
    PullObjectRequest,
    PullObjectResponse,
    PushObjectRequest,
    PushObjectResponse,
)
from flwr.supercore.error import ApiErrorCode, FlowerError
from google.protobuf.wrappers_pb2 import BytesValue

from feddp_kmeans.network.flower import bundles
from feddp_kmeans.network.flower.bundles import PATH, SITES, Bundles, if_known, one_by_one, together

STATE = object()


class Store:
    """A SuperLink's handlers, and a client of it: over ASGI for a bundle, called directly for one request."""

    def __init__(self):
        self.kept, self.asked = {}, 0
        self.state = SimpleNamespace(linkstate_factory=SimpleNamespace(state=lambda: STATE), runtime_handlers=self)

    def push_object(self, request, state, task):
        assert (state, task.run_id) == (STATE, request.run_id)
        self.kept[request.object_id] = request.object_content
        return PushObjectResponse(stored=True)

    def pull_object(self, request, state, task):
        content = self.kept.get(request.object_id)
        return PullObjectResponse(object_found=content is not None, object_available=bool(content), object_content=content or b"")

    def confirm_message_received(self, request, state, task):
        if request.message_object_id not in self.kept:
            raise FlowerError(ApiErrorCode.RUN_ID_NOT_FOUND, "no such message")
        del self.kept[request.message_object_id]
        return ConfirmMessageReceivedResponse()

    def PushObject(self, request):  # noqa: N802 - flwr's name
        return self.push_object(request, STATE, request)

    def PullObject(self, request):  # noqa: N802 - flwr's name
        return self.pull_object(request, STATE, request)

    def ConfirmMessageReceived(self, request):  # noqa: N802 - flwr's name
        return ConfirmMessageReceivedResponse()

    def _unary_unary(self, *, path, rpc_method, request, response_type):
        self.asked += 1
        status, content = ask(Bundles(self), path, request.SerializeToString())
        assert status == 200
        return response_type.FromString(content)

    async def __call__(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 404})
        await send({"type": "http.response.body", "body": b"passed on"})


def ask(app, path, content, pieces=3, kind="http"):
    """Return status and body of a request that arrives in pieces."""
    cuts = [len(content) * i // pieces for i in range(pieces + 1)]
    waiting = [{"type": "http.request", "body": content[a:b], "more_body": b < len(content)} for a, b in pairwise(cuts)]
    sent = []

    async def receive():
        return waiting.pop(0)

    async def send(event):
        sent.append(event)

    asyncio.run(app({"type": kind, "path": path, "headers": []}, receive, send))
    return sent[0]["status"], sent[1]["body"]


names = st.sampled_from(["a", "b", "c", "d"])
requests = st.lists(
    st.one_of(
        st.builds(PushObjectRequest, object_id=names, object_content=st.binary(max_size=200), run_id=st.just(7), session_id=st.just("s")),
        st.builds(PullObjectRequest, object_id=names, run_id=st.just(7)),
        st.builds(ConfirmMessageReceivedRequest, message_object_id=st.just("nobody's"), run_id=st.just(7)),
    ),
    max_size=20,
)


@given(asked=requests, largest=st.integers(1, 500))
def test_a_bundle_is_answered_as_its_requests_are_one_by_one(asked, largest):
    alone, bundle = Store(), Store()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "_LARGEST", largest)
        assert together(bundle)(asked) == one_by_one(alone)(asked)
    assert bundle.kept == alone.kept
    assert bundle.asked <= len(asked)


def test_many_small_requests_are_one():
    store = Store()
    assert together(store)([PullObjectRequest(object_id=str(i)) for i in range(200)]) == [PullObjectResponse()] * 200
    assert store.asked == 1


def test_no_request_is_sent_for_nothing():
    store = Store()
    assert together(store)([]) == []
    assert store.asked == 0


@pytest.mark.parametrize(("path", "kind"), [("/v1/fleet/pull-object", "http"), (f"{PATH}/", "http"), (PATH, "lifespan")])
def test_what_is_no_bundle_is_passed_on(path, kind):
    assert ask(Bundles(Store()), path, b"x", pieces=1, kind=kind) == (404, b"passed on")


class Stock(Store):
    """A SuperLink that knows no bundles, or what stands before it lets none through."""

    status = 404

    def _unary_unary(self, *, path, **_):
        self.asked += 1
        request = httpx.Request("POST", f"https://127.0.0.1{path}")
        raise httpx.HTTPStatusError("no", request=request, response=httpx.Response(self.status, request=request))


@pytest.mark.parametrize("status", [403, 404, 405])
def test_where_bundles_are_not_known_a_site_asks_one_by_one_from_then_on(status):
    store = Stock()
    store.status = status
    answers = if_known(store)
    for _ in range(3):
        assert answers([PushObjectRequest(object_id="a", object_content=b"1")]) == [PushObjectResponse(stored=True)]
    assert store.asked == 1


@pytest.mark.parametrize("status", [401, 500, 502])
def test_another_refusal_is_not_taken_for_ignorance(status):
    store = Stock()
    store.status = status
    answers = if_known(store)
    for _ in range(2):
        with pytest.raises(httpx.HTTPStatusError):
            answers([PullObjectRequest(object_id="a")])
    assert store.asked == 2


def test_of_a_site_that_has_not_signed_nothing_is_read():
    async def receive():
        raise AssertionError

    sent = []

    async def send(event):
        sent.append(event)

    asyncio.run(Bundles(Store())({"type": "http", "path": SITES, "headers": []}, receive, send))
    assert [event.get("status") for event in sent] == [401, None]


@pytest.mark.parametrize("content", [b"x", BytesValue(value=b"x").SerializeToString(), BytesValue(value=b"\xff" * 9).SerializeToString()])
def test_what_is_no_bundle_is_refused(content):
    assert ask(Bundles(Store()), PATH, content, pieces=1) == (400, b"")
