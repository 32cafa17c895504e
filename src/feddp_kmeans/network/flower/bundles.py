"""Requests to a SuperLink about the parts of messages, many in one: the end of a server or a site, and the SuperLink's.

Beside ``compat``, ``fleet`` and ``mailbox`` the only file that uses undocumented names of Flower. A SuperLink spends far more on receiving
a request than on answering it, and an exchange with one site takes sixteen: seven of the server and nine of the site.
"""

import asyncio
import struct
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx
from flwr.proto.fleet_pb2 import PullMessagesRequest
from flwr.proto.message_pb2 import (
    ConfirmMessageReceivedRequest,
    ConfirmMessageReceivedResponse,
    PullObjectRequest,
    PullObjectResponse,
    PushObjectRequest,
    PushObjectResponse,
)
from flwr.proto.node_pb2 import Node
from flwr.supercore.constant import FLEET_HTTP_PUBLIC_KEY_HEADER
from google.protobuf.message import DecodeError
from google.protobuf.wrappers_pb2 import BytesValue

if TYPE_CHECKING:
    from flwr.supercore.runtime import RuntimeHttpClient
    from flwr.supernode.fleet_http_client import FleetHttpClient

Answers = Callable[[Sequence[Any]], list[Any]]
"""Answers requests in their order: what is not there, or was not wanted, is answered so, and raises nothing."""

PATH = "/feddp/bundle"
"""Where a server asks. Not one of the paths that a gate opens to sites: who asks has the secret."""

SITES = "/v1/fleet/bundle"
"""Where a site asks. Each request is signed by the site's key, as all others below this path are."""

_UNKNOWN = {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED}
"""What a SuperLink answers that takes no bundles, or a gate or proxy before it."""

_LARGEST = 2**24
"""Bytes after which a bundle, or the answer to it, ends; what is left comes with the next."""

_KINDS = (
    *(PushObjectRequest, PullObjectRequest, ConfirmMessageReceivedRequest),
    *(PushObjectResponse, PullObjectResponse, ConfirmMessageReceivedResponse),
)
_FRAME = struct.Struct(">BQ")


def one_by_one(client: "RuntimeHttpClient | FleetHttpClient") -> Answers:
    """Return how requests are answered by a SuperLink that is not ours."""
    asked: dict[type, Callable[[Any], Any]] = {
        PushObjectRequest: client.PushObject,
        PullObjectRequest: client.PullObject,
        ConfirmMessageReceivedRequest: client.ConfirmMessageReceived,
    }
    return lambda requests: [asked[type(request)](request) for request in requests]


def together(client: "RuntimeHttpClient | FleetHttpClient", path: str = PATH) -> Answers:
    """Return how requests are answered by a SuperLink that takes bundles."""

    def answers(requests: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        while len(found) < len(requests):
            bundle = BytesValue(value=_framed(requests[len(found) :]))
            answer = client._unary_unary(path=path, rpc_method=path, request=bundle, response_type=BytesValue)  # noqa: SLF001 - its retries
            found += _unframed(answer.value)
        return found

    return answers


def if_known(client: "FleetHttpClient") -> Answers:
    """Return how a site's requests are answered: in bundles, and one by one from the first that the SuperLink does not know on."""
    ways = [together(client, SITES), one_by_one(client)]

    def answers(requests: Sequence[Any]) -> list[Any]:
        try:
            return ways[0](requests)
        except httpx.HTTPStatusError as error:
            if len(ways) == 1 or error.response.status_code not in _UNKNOWN:
                raise
        del ways[0]
        return ways[0](requests)

    return answers


class Bundles:
    """An ASGI app around a SuperLink's, which answers bundles itself."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a bundle, or pass a request on."""
        if scope["type"] != "http" or scope["path"] not in (PATH, SITES):
            await self._app(scope, receive, send)
            return
        node = await asyncio.to_thread(self._site, scope) if scope["path"] == SITES else 0
        answer, status = b"", HTTPStatus.UNAUTHORIZED
        if node is not None:
            content, more = bytearray(), True
            while more:
                event = await receive()
                content += event.get("body", b"")
                more = event.get("more_body", False)
            try:
                answer, status = await asyncio.to_thread(self._answer, bytes(content), node), HTTPStatus.OK
            except (DecodeError, struct.error, IndexError, KeyError):
                status = HTTPStatus.BAD_REQUEST
        await send({"type": "http.response.start", "status": int(status), "headers": [(b"content-length", str(len(answer)).encode())]})
        await send({"type": "http.response.body", "body": answer})

    def _site(self, scope: Any) -> int | None:
        """Return the node that has sent a request, if its signature is right: flwr's own check, made before anything else is read."""
        from fastapi import HTTPException, Request
        from flwr.superlink.routers.fleet.node_auth import authenticate_node

        request = Request({**scope, "app": self._app, "state": {}})
        try:
            key = b64decode(request.headers[FLEET_HTTP_PUBLIC_KEY_HEADER], validate=True)
            node = self._app.state.linkstate_factory.state().get_node_id_by_public_key(key)
            request.state.protobuf_request = PullMessagesRequest(node=Node(node_id=node))
            authenticate_node(request)
        except (HTTPException, KeyError, ValueError):
            return None
        return int(node) if node else None

    def _answer(self, content: bytes, node: int) -> bytes:
        """Return the answers to a bundle of this node, which asks for itself only; 0 is the server."""
        from flwr.supercore.error import FlowerError

        known = self._of_site() if node else self._of_server()

        def answers() -> Iterator[Any]:
            for request in _unframed(BytesValue.FromString(content).value):
                answer, refused = known[type(request)]
                try:
                    yield answer(request) if not node or request.node.node_id == node else refused()
                except FlowerError:
                    yield refused()

        answer: bytes = BytesValue(value=_framed(answers())).SerializeToString()
        return answer

    def _of_server(self) -> "_Handlers":
        from flwr.proto.task_pb2 import Task

        state, handlers = self._app.state.linkstate_factory.state(), self._app.state.runtime_handlers

        def of(handler: Callable[..., Any]) -> Callable[[Any], Any]:
            return lambda request: handler(request, state, Task(run_id=request.run_id))

        return _handlers(of(handlers.push_object), of(handlers.pull_object), of(handlers.confirm_message_received))

    def _of_site(self) -> "_Handlers":
        from flwr.superlink.servicer.fleet import fleet_handlers

        state = self._app.state.linkstate_factory.state()
        push, pull = (partial(handler, state=state) for handler in (fleet_handlers.push_object, fleet_handlers.pull_object))
        return _handlers(push, pull, partial(fleet_handlers.confirm_message_received, state=state, store=state.object_store))


_Handlers = dict[type, tuple[Callable[[Any], Any], type]]


def _handlers(push: Callable[[Any], Any], pull: Callable[[Any], Any], confirm: Callable[[Any], Any]) -> _Handlers:
    """Return for each kind of request who answers it, and the answer to one that is refused."""
    return {
        PushObjectRequest: (push, PushObjectResponse),
        PullObjectRequest: (pull, PullObjectResponse),
        ConfirmMessageReceivedRequest: (confirm, ConfirmMessageReceivedResponse),
    }


def _framed(messages: Iterable[Any]) -> bytes:
    """Return the first of these messages, as many as a bundle holds."""
    bundle = bytearray()
    for message in messages:
        content = message.SerializeToString()
        bundle += _FRAME.pack(_KINDS.index(type(message)), len(content)) + content
        if len(bundle) >= _LARGEST:
            break
    return bytes(bundle)


def _unframed(content: bytes) -> Iterator[Any]:
    place = 0
    while place < len(content):
        kind, length = _FRAME.unpack_from(content, place)
        place += _FRAME.size + length
        yield _KINDS[kind].FromString(content[place - length : place])
