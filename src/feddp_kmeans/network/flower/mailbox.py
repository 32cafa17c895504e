"""Replies from a grid, each as soon as it is whole. Beside ``compat`` and ``fleet`` the only file that uses undocumented names of Flower.

A node announces a reply and then delivers its parts. Flower's own ``Grid.pull_messages`` waits for the parts of one reply before it looks
at the next, three minutes where they never come: a site that lost its power between the two, or means harm, would use up a round's time
for all others. Here a reply whose parts are still to come is set aside until the next look.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import httpx
from flwr.app import Message
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, ObjectTree
from flwr.proto.message_pb2 import Message as Announced
from flwr.proto.runtime_pb2 import PullAppMessagesRequest
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_pull_object_fn_protobuf
from flwr.supercore.inflatable.inflatable_utils import ObjectUnavailableError
from flwr.superlink.grid import HttpGrid

from feddp_kmeans.network.flower.fleet import read_message

if TYPE_CHECKING:
    from flwr.serverapp import Grid


class Mailbox:
    """The replies to requests that were pushed to a grid."""

    def __init__(self, grid: "Grid") -> None:
        self._grid = grid
        self._announced: dict[str, tuple[Announced, ObjectTree]] = {}

    def look(self, requests: Iterable[str]) -> dict[str, Message | None]:
        """Return the replies that are there, by the request's id; None for one that was announced and is no message or can not come."""
        grid = self._grid
        if not isinstance(grid, HttpGrid):  # A simulation's: replies are whole.
            return {message.metadata.reply_to_message_id: message for message in grid.pull_messages(requests)}
        client = grid._runtime_client  # noqa: SLF001 - flwr offers no other way
        self._announced = {number: self._announced[number] for number in requests if number in self._announced}
        if unheard := [number for number in requests if number not in self._announced]:
            found = client.PullMessages(PullAppMessagesRequest(message_ids=unheard))
            for message, tree in zip(found.messages_list, found.message_object_trees, strict=True):
                self._announced[message.metadata.reply_to_message_id] = message, tree
        replies: dict[str, Message | None] = {}
        pull = make_pull_object_fn_protobuf(client.PullObject, grid.node, grid.run.run_id)
        for number, (message, tree) in self._announced.items():
            try:
                replies[number] = read_message(message, tree, pull)
            except ObjectUnavailableError:
                continue
            except httpx.TransportError:
                raise
            except Exception:  # noqa: BLE001 - a node may deliver any bytes
                replies[number] = None
            done = ConfirmMessageReceivedRequest(node=grid.node, run_id=grid.run.run_id, message_object_id=tree.object_id)
            client.ConfirmMessageReceived(done)
        return replies
