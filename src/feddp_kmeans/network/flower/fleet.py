"""A site's connection to a SuperLink: Flower's Fleet API, spoken by the process that holds the data.

Beside ``compat``, ``mailbox`` and ``bundles`` the only file that uses undocumented names of Flower. A site asks for messages and sends
answers; the app that the server offers along with them is not even asked for.
"""

import threading
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import httpx
from flwr.app import Error, Message
from flwr.app.message import remove_content_from_message
from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL, SYSTEM_TIME_TOLERANCE, TIMESTAMP_HEADER, TIMESTAMP_TOLERANCE, ErrorCode
from flwr.common.serde import message_to_proto
from flwr.proto.fleet_pb2 import (
    ActivateNodeRequest,
    DeactivateNodeRequest,
    PullMessagesRequest,
    PushMessagesRequest,
    RegisterNodeFleetRequest,
    UnregisterNodeFleetRequest,
)
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, ObjectTree, PullObjectRequest, PushObjectRequest
from flwr.proto.message_pb2 import Message as Announced
from flwr.proto.node_pb2 import Node
from flwr.supercore.constant import (
    FLEET_HTTP_PUBLIC_KEY_HEADER,
    FLEET_HTTP_SIGNATURE_HEADER,
    FLWR_COMPONENT_NAME_METADATA_KEY,
    FLWR_PACKAGE_NAME_METADATA_KEY,
    FLWR_PACKAGE_VERSION_METADATA_KEY,
)
from flwr.supercore.inflatable.inflatable_object import (
    InflatableObject,
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
    no_object_id_recompute,
)
from flwr.supercore.inflatable.inflatable_utils import ObjectPullError, ObjectPushError, inflate_object_from_contents
from flwr.supercore.primitives.asymmetric import generate_key_pairs, public_key_to_bytes, sign_message
from flwr.supercore.protobuf.client import ProtobufCall, ProtobufClient, ProtobufClientInterceptor, ProtobufRequestContext
from flwr.supercore.version import package_name, package_version
from flwr.supernode.fleet_http_client import FleetHttpClient

from feddp_kmeans.network.flower.bundles import if_known

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

Result = TypeVar("Result")

AHEAD, BEHIND = SYSTEM_TIME_TOLERANCE, TIMESTAMP_TOLERANCE
"""Seconds that a site's clock may be ahead of the server's and behind it, at most."""

RETRY = 0.05
"""Seconds after which a part of a message that is still on its way is asked for again; flwr's first retry is after 1 s."""

MOST_PARTS = 16
"""Parts of a message that are asked for; ours have three: the message, its records, and the record with our bytes."""

UNKNOWN_KEY = "unknown key"
"""What our SuperLink adds to its refusal of a key that is not registered (``compat.run_superlink``)."""

NOT_ADMITTED, OTHER_VERSION = 2004, 1001
"""flwr's codes (its own list of them takes 15 MB to import)."""

_PATIENCE = 60.0
"""Seconds for which a request is made again while the server does not answer; after them it takes us for gone."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_FAREWELL = 3.0
"""Seconds for each of our last words: a site that is told to end does so, whether the server listens or not."""
_BEAT = 0.7 * HEARTBEAT_DEFAULT_INTERVAL
_COULD_NOT = "the client could not answer"


def go_straight(client: ProtobufClient) -> None:
    """Make a client connect directly: flwr's would use whatever proxy the environment names, and follow redirections."""
    http = client._client  # noqa: SLF001 - flwr offers no other way
    http.follow_redirects = False
    http._mounts.clear()  # noqa: SLF001 - the proxies


def packed(messages: Sequence[Message]) -> tuple[list[Announced], list[ObjectTree], dict[str, InflatableObject]]:
    """Return messages as they are announced, the trees of their parts, and the parts. They get their ids."""
    parts: dict[str, InflatableObject] = {}
    for message in messages:
        message.metadata.__dict__["_message_id"] = message.object_id
        parts |= get_all_nested_objects(message)
    return [message_to_proto(remove_content_from_message(message)) for message in messages], [*map(get_object_tree, messages)], parts


class Fleet:
    """A site's connection to a SuperLink, in the name of the site's key; without one, of a key that is made up and registers itself."""

    def __init__(self, address: str, authority: bytes | None, key: "EllipticCurvePrivateKey | None") -> None:
        self._registers = key is None
        private = generate_key_pairs()[0] if key is None else key
        self._key = public_key_to_bytes(private.public_key())
        self._retries = _Retries()
        interceptors: list[ProtobufClientInterceptor] = [_Signed(private)]
        self._client = FleetHttpClient.from_server_address(
            address,
            authority is None,
            authority,
            interceptors,
            # flwr's own ends the whole process where the server refuses us.
            retry_invoker=self._retries,  # type: ignore[arg-type]
        )
        go_straight(self._client)
        self._answers = if_known(self._client)
        self._closed = threading.Event()
        self._node = Node()

    def enter(self) -> None:
        """Take our place among the server's sites. Raises ``httpx.HTTPError``; ``refusal_of`` says why."""
        if self._registers:
            self._client.RegisterNode(RegisterNodeFleetRequest(public_key=self._key))
        interval = HEARTBEAT_DEFAULT_INTERVAL
        entered = self._client.ActivateNode(ActivateNodeRequest(public_key=self._key, heartbeat_interval=interval))
        self._node = Node(node_id=entered.node_id)
        self._retries.patience = _PATIENCE
        threading.Thread(target=self._beat, daemon=True).start()

    def answer_next(self, answer: Callable[[Message], Message]) -> bool:
        """Answer a message that waits for us; return whether there was one.

        An error of ``answer`` is raised here; the server learns only that there was one.
        """
        waiting = self._client.PullMessages(PullMessagesRequest(node=self._node))
        if not waiting.messages_list:
            return False
        tree, run = waiting.message_object_trees[0], waiting.messages_list[0].metadata.run_id
        message = self._pulled(tree, run)
        try:
            reply = answer(message)
        except Exception:
            self._push(Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, _COULD_NOT), reply_to=message), tree.object_id, run)
            raise
        self._push(reply, tree.object_id, run)
        return True

    def close(self) -> None:
        """Leave our place, so that the server does not wait for us."""
        self._retries.patience = 0.0
        self._closed.set()
        self._client._client.timeout = _FAREWELL  # noqa: SLF001 - flwr offers no other way
        if self._node.node_id:
            try:
                self._client.DeactivateNode(DeactivateNodeRequest(node_id=self._node.node_id))
                if self._registers:
                    self._client.UnregisterNode(UnregisterNodeFleetRequest(node_id=self._node.node_id))
            except httpx.HTTPError:
                pass
        self._client.close()

    def _pulled(self, tree: ObjectTree, run: int) -> Message:
        """Return a message that waits for us, once all its parts are there."""
        contents: dict[str, bytes] = {}
        missing = list(dict.fromkeys(part.object_id for part in islice(iterate_object_tree(tree), MOST_PARTS)))
        end = time.monotonic() + _PATIENCE
        while True:
            answers = self._answers([PullObjectRequest(node=self._node, run_id=run, object_id=part) for part in missing])
            for part, answer in zip(missing, answers, strict=True):
                if not answer.object_found or time.monotonic() > end:
                    raise ObjectPullError(part, "it is not there")
                if answer.object_available:
                    contents[part] = answer.object_content
            if not (missing := [part for part in missing if part not in contents]):
                break
            time.sleep(RETRY)
        message = inflate_object_from_contents(tree.object_id, contents)
        if not isinstance(message, Message):
            raise TypeError(tree.object_id)
        message.metadata.__dict__["_message_id"] = tree.object_id
        return message

    def _push(self, message: Message, answered: str, run: int) -> None:
        """Send a message, and confirm the one that it answers. How long it took to make is not said."""
        with no_object_id_recompute():
            announced, trees, parts = packed([message])
            request = PushMessagesRequest(
                node=self._node, messages_list=announced, message_object_trees=trees, clientapp_runtime_list=[0.0]
            )
            taken = self._client.PushMessages(request)
            contents = {number: parts[number].deflate() for number in taken.objects_to_push if number in parts}
        session = taken.session_id
        pushed = [
            PushObjectRequest(node=self._node, run_id=run, object_id=number, object_content=content, session_id=session)
            for number, content in contents.items()
        ]
        confirmed = ConfirmMessageReceivedRequest(node=self._node, run_id=run, message_object_id=answered)
        _, *answers = self._answers([confirmed, *pushed])
        for number, answer in zip(contents, answers, strict=True):
            if not answer.stored:
                raise ObjectPushError(number, run, session)

    def _beat(self) -> None:
        """Say from time to time that we are there. That the server does not know us any more is noticed by the next look for messages."""
        while not self._closed.wait(_BEAT):
            with suppress(httpx.HTTPError, RuntimeError):  # the second: the client was closed meanwhile
                self._client.SendNodeHeartbeat(SendNodeHeartbeatRequest(node=self._node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL))


class _Retries:
    """Makes a request again, after pauses that grow, until the server answers or ``patience`` seconds are over."""

    def __init__(self) -> None:
        self.patience = 0.0

    def invoke(self, request: Callable[[], Result]) -> Result:
        """Return the result of a request."""
        began, pause = time.monotonic(), _FIRST_PAUSE
        while True:
            try:
                return request()
            except httpx.TransportError:
                if time.monotonic() + pause - began > self.patience:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


class _Signed:
    """Signs each request with the site's key, and states our version of flwr, as a SuperNode does.

    flwr's own interceptors import a web server, which takes 11 MB at every site, and end the whole process where versions differ.
    """

    def __init__(self, key: "EllipticCurvePrivateKey") -> None:
        self._key = key
        self._stated = {
            FLWR_PACKAGE_NAME_METADATA_KEY: package_name,
            FLWR_PACKAGE_VERSION_METADATA_KEY: package_version,
            FLWR_COMPONENT_NAME_METADATA_KEY: "SuperNode",
            FLEET_HTTP_PUBLIC_KEY_HEADER: b64encode(public_key_to_bytes(key.public_key())).decode(),
        }

    def intercept(self, context: ProtobufRequestContext, call_next: ProtobufCall) -> httpx.Response:
        """Add the headers."""
        now = datetime.now(UTC).isoformat()
        signature = b64encode(sign_message(self._key, now.encode())).decode()
        context.request.headers.update(self._stated | {TIMESTAMP_HEADER: now, FLEET_HTTP_SIGNATURE_HEADER: signature})
        return call_next(context)


class Refusal(StrEnum):
    """Why a server does not admit a site."""

    UNKNOWN = "unknown"
    """It does not know our key."""
    IN_USE = "in use"
    """Another process has our place, or ours has ended without a word."""
    VERSION = "version"
    """It has another version of flwr."""
    OTHER = "other"


def refusal_of(response: httpx.Response) -> Refusal:
    """Return why the server refused. Between unknown keys and those in use only our own SuperLink distinguishes (``compat``)."""
    try:
        stated = response.json()
    except ValueError:
        return Refusal.OTHER
    code = stated.get("code") if isinstance(stated, dict) else None
    if code == NOT_ADMITTED:
        return Refusal.UNKNOWN if stated.get("extra") == UNKNOWN_KEY else Refusal.IN_USE
    return Refusal.VERSION if code == OTHER_VERSION else Refusal.OTHER
