"""Requests to a grid and the replies, each on its own: no node holds up or breaks what is another's.

Beside ``compat`` and ``fleet`` the only file that uses undocumented names of Flower.

A node announces a reply and then delivers its parts. Flower's own ``Grid.pull_messages`` waits for the parts of one reply before it looks
at the next, three minutes where they never come: a site that lost its power between the two, or means harm, would use up a round's time
for all others. Here a reply whose parts are still to come is set aside until the next look.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from flwr.app import Message
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest, PushAppMessagesRequest
from flwr.supercore.inflatable.inflatable_object import iterate_object_tree, no_object_id_recompute
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_pull_object_fn_protobuf, make_push_object_fn_protobuf
from flwr.supercore.inflatable.inflatable_utils import (
    ObjectPullError,
    ObjectPushError,
    ObjectUnavailableError,
    inflate_object_from_contents,
    push_objects,
)
from flwr.superlink.grid import HttpGrid

from feddp_kmeans.network.flower.fleet import packed

if TYPE_CHECKING:
    from flwr.serverapp import Grid


class Mailbox:
    """Requests that are pushed to a grid, and the replies to them."""

    def __init__(self, grid: "Grid") -> None:
        self._grid = grid
        self._announced: dict[str, _Parts] = {}

    def send(self, requests: list[Message]) -> list[str | None]:
        """Push requests; return their ids, None for one that could not be sent.

        A part that its node does not want is no error: a node that confirms a request before all of it is there would end the run with it.
        """
        if not isinstance(self._grid, HttpGrid):
            return list(self._grid.push_messages(requests))
        client = self._grid._runtime_client  # noqa: SLF001 - flwr offers no other way
        with no_object_id_recompute():
            announced, trees, parts = packed(requests)
            taken = client.PushMessages(PushAppMessagesRequest(messages_list=announced, message_object_trees=trees))
            push = make_push_object_fn_protobuf(client.PushObject, self._grid.node, self._grid.run.run_id, taken.session_id)

            def push_one(number: str, content: bytes) -> None:
                with suppress(ObjectPushError):
                    push(number, content)

            push_objects(parts, push_one, object_ids_to_push=set(taken.objects_to_push))
        return list(taken.message_ids)

    def look(self, requests: Iterable[str]) -> dict[str, Message | None]:
        """Return the replies that are there, by the request's id; None for one that was announced and is no message or can not come."""
        if not isinstance(self._grid, HttpGrid):  # A simulation's: replies are whole.
            return {message.metadata.reply_to_message_id: message for message in self._grid.pull_messages(requests)}
        self._announced = {number: self._announced[number] for number in requests if number in self._announced}
        if unheard := [number for number in requests if number not in self._announced]:
            client = self._grid._runtime_client  # noqa: SLF001 - flwr offers no other way
            found = client.PullMessages(PullAppMessagesRequest(message_ids=unheard))
            for message, tree in zip(found.messages_list, found.message_object_trees, strict=True):
                ids = [part.object_id for part in iterate_object_tree(tree)]
                self._announced[message.metadata.reply_to_message_id] = _Parts(self._grid, message.metadata.message_id, ids)
        replies: dict[str, Message | None] = {}
        for number, parts in self._announced.items():
            try:
                replies[number] = parts.whole()
            except ObjectUnavailableError:
                continue
            except ObjectPullError:
                replies[number] = None
        return replies


class _Parts:
    """The parts of one reply."""

    def __init__(self, grid: HttpGrid, message: str, ids: list[str]) -> None:
        self._client = grid._runtime_client  # noqa: SLF001 - as above
        self._node, self._run, self._message = grid.node, grid.run.run_id, message
        self._missing = ids
        self._contents: dict[str, bytes] = {}

    def whole(self) -> Message:
        """Return the reply. Raises ``ObjectUnavailableError`` if a part is still to come, ``ObjectPullError`` if there is no reply."""
        pull = make_pull_object_fn_protobuf(self._client.PullObject, self._node, self._run)
        while self._missing:
            self._contents[self._missing[-1]] = pull(self._missing[-1])
            self._missing.pop()
        confirmed = ConfirmMessageReceivedRequest(node=self._node, run_id=self._run, message_object_id=self._message)
        self._client.ConfirmMessageReceived(confirmed)
        try:
            message = inflate_object_from_contents(self._message, self._contents)
        except Exception as error:  # noqa: BLE001 - a node may deliver any bytes
            raise ObjectPullError(self._message, str(error)) from None
        if not isinstance(message, Message):
            raise ObjectPullError(self._message, "it is no message")
        return message
