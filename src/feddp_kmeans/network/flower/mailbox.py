"""Requests to a grid and the replies, each on its own: no node holds up or breaks what is another's.

Beside ``compat``, ``fleet`` and ``bundles`` the only file that uses undocumented names of Flower.

A node announces a reply and then delivers its parts. Flower's own ``Grid.pull_messages`` waits for the parts of one reply before it looks
at the next, three minutes where they never come: a site that lost its power between the two, or means harm, would use up a round's time
for all others. Here a reply whose parts are still to come is set aside until the next look.
"""

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from flwr.app import Message
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, ObjectTree, PullObjectRequest, PullObjectResponse, PushObjectRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest, PushAppMessagesRequest
from flwr.supercore.inflatable.inflatable_object import iterate_object_tree, no_object_id_recompute
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.superlink.grid import HttpGrid

from feddp_kmeans.network.flower.bundles import one_by_one, together
from feddp_kmeans.network.flower.fleet import MOST_PARTS, packed

if TYPE_CHECKING:
    from flwr.serverapp import Grid


class Mailbox:
    """Requests that are pushed to a grid, and the replies to them; ``bundles``: of a SuperLink of ours, which takes many in one."""

    def __init__(self, grid: "Grid", *, bundles: bool) -> None:
        self._grid = grid
        self._announced: dict[str, _Reply] = {}
        if isinstance(grid, HttpGrid):  # else a simulation's: messages are whole
            self._client = grid._runtime_client  # noqa: SLF001 - flwr offers no other way
            self._answers = (together if bundles else one_by_one)(self._client)

    def send(self, requests: list[Message]) -> list[str | None]:
        """Push requests; return their ids, None for one that could not be sent.

        A part that its node does not want is no error: a node that confirms a request before all of it is there would end the run with it.
        """
        if not isinstance(self._grid, HttpGrid):
            return list(self._grid.push_messages(requests))
        with no_object_id_recompute():
            announced, trees, parts = packed(requests)
            taken = self._client.PushMessages(PushAppMessagesRequest(messages_list=announced, message_object_trees=trees))
            wanted = {number: parts[number].deflate() for number in taken.objects_to_push}
        node, run, session = self._grid.node, self._grid.run.run_id, taken.session_id
        self._answers(
            [
                PushObjectRequest(node=node, run_id=run, object_id=number, object_content=content, session_id=session)
                for number, content in wanted.items()
            ]
        )
        return list(taken.message_ids)

    def look(self, requests: Iterable[str]) -> dict[str, Message | None]:
        """Return the replies that are there, by the request's id; None for one that was announced and is no message or can not come."""
        if not isinstance(self._grid, HttpGrid):
            return {message.metadata.reply_to_message_id: message for message in self._grid.pull_messages(requests)}
        self._announced = {number: self._announced[number] for number in requests if number in self._announced}
        if unheard := [number for number in requests if number not in self._announced]:
            found = self._client.PullMessages(PullAppMessagesRequest(message_ids=unheard))
            for message, tree in zip(found.messages_list, found.message_object_trees, strict=True):
                self._announced[message.metadata.reply_to_message_id] = _Reply(message.metadata.message_id, tree)
        node, run = self._grid.node, self._grid.run.run_id
        wanted = [(reply, part) for reply in self._announced.values() for part in reply.missing]
        answers = self._answers([PullObjectRequest(node=node, run_id=run, object_id=part) for _, part in wanted])
        for (reply, part), answer in zip(wanted, answers, strict=True):
            reply.take(part, answer)
        ended = {number: reply for number, reply in self._announced.items() if not reply.missing}
        self._answers([ConfirmMessageReceivedRequest(node=node, run_id=run, message_object_id=reply.number) for reply in ended.values()])
        return {number: reply.message() for number, reply in ended.items()}


class _Reply:
    """A reply that was announced, and those of its parts that have come."""

    def __init__(self, number: str, tree: ObjectTree) -> None:
        self.number = number
        self._contents: dict[str, bytes] = {}
        self.missing = {part.object_id for part in islice(iterate_object_tree(tree), MOST_PARTS)}

    def take(self, part: str, answer: PullObjectResponse) -> None:
        """Take the answer to the question for a part. A part that nobody knows will not come, and the others are of no use without it."""
        if not answer.object_found:
            self.missing.clear()
        elif answer.object_available:
            self._contents[part] = answer.object_content
            self.missing.discard(part)

    def message(self) -> Message | None:
        """Return the message that the parts make, or None."""
        try:
            message = inflate_object_from_contents(self.number, self._contents)
        except Exception:  # noqa: BLE001 - a node may deliver any bytes
            return None
        return message if isinstance(message, Message) else None
