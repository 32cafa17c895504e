"""Requests to a SuperLink about the parts of messages, many in one: the server's end and the SuperLink's.

Beside ``compat``, ``fleet`` and ``mailbox`` the only file that uses undocumented names of Flower. A SuperLink spends far more on receiving
a request than on answering it, and of the sixteen that an exchange with one site takes, seven are the server's own.
"""

import asyncio
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from flwr.proto.message_pb2 import (
    ConfirmMessageReceivedRequest,
    ConfirmMessageReceivedResponse,
    PullObjectRequest,
    PullObjectResponse,
    PushObjectRequest,
    PushObjectResponse,
)
from flwr.proto.task_pb2 import Task
from flwr.supercore.error import FlowerError
from flwr.supercore.runtime import RuntimeHttpClient
from google.protobuf.wrappers_pb2 import BytesValue

Answers = Callable[[Sequence[Any]], list[Any]]
"""Answers requests in their order: what is not there, or was not wanted, is answered so, and raises nothing."""

PATH = "/feddp/bundle"
"""Not one of the paths that a gate opens to sites: who asks has the secret."""

_LARGEST = 2**24
"""Bytes after which a bundle, or the answer to it, ends; what is left comes with the next."""

_KINDS = (
    *(PushObjectRequest, PullObjectRequest, ConfirmMessageReceivedRequest),
    *(PushObjectResponse, PullObjectResponse, ConfirmMessageReceivedResponse),
)
_FRAME = struct.Struct(">BQ")


def one_by_one(client: RuntimeHttpClient) -> Answers:
    """Return how requests are answered by a SuperLink that is not ours."""
    asked: dict[type, Callable[[Any], Any]] = {
        PushObjectRequest: client.PushObject,
        PullObjectRequest: client.PullObject,
        ConfirmMessageReceivedRequest: client.ConfirmMessageReceived,
    }
    return lambda requests: [asked[type(request)](request) for request in requests]


def together(client: RuntimeHttpClient) -> Answers:
    """Return how requests are answered by a SuperLink that takes bundles."""

    def answers(requests: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        while len(found) < len(requests):
            bundle = BytesValue(value=_framed(requests[len(found) :]))
            answer = client._unary_unary(path=PATH, rpc_method=PATH, request=bundle, response_type=BytesValue)  # noqa: SLF001 - its retries
            found += _unframed(answer.value)
        return found

    return answers


class Bundles:
    """An ASGI app around a SuperLink's, which answers bundles itself."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a bundle, or pass a request on."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        content, more = bytearray(), True
        while more:
            event = await receive()
            content += event.get("body", b"")
            more = event.get("more_body", False)
        answer = await asyncio.to_thread(self._answer, bytes(content))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(answer)).encode())]})
        await send({"type": "http.response.body", "body": answer})

    def _answer(self, content: bytes) -> bytes:
        state, handlers = self._app.state.linkstate_factory.state(), self._app.state.runtime_handlers
        known: dict[type, tuple[Callable[..., Any], type]] = {
            PushObjectRequest: (handlers.push_object, PushObjectResponse),
            PullObjectRequest: (handlers.pull_object, PullObjectResponse),
            ConfirmMessageReceivedRequest: (handlers.confirm_message_received, ConfirmMessageReceivedResponse),
        }

        def answers() -> Iterator[Any]:
            for request in _unframed(BytesValue.FromString(content).value):
                answer, refused = known[type(request)]
                try:
                    yield answer(request, state, Task(run_id=request.run_id))
                except FlowerError:
                    yield refused()

        answer: bytes = BytesValue(value=_framed(answers())).SerializeToString()
        return answer


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
