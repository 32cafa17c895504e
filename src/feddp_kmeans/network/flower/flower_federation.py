"""The sites of a Flower grid as a federation, for a ServerApp; requests are pushed, and replies polled a few times per second."""

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from feddp_kmeans.network.flower.body import body_of, request
from feddp_kmeans.network.flower.mailbox import Mailbox
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.transport import Absence, Lost

if TYPE_CHECKING:
    from flwr.app import Message
    from flwr.serverapp import Grid

_POLL = 0.25
"""Seconds between two looks for replies."""

_GRACE = 3.0
"""Seconds to wait for a node that was missing before, once all others have answered."""

_ERRORS = {3: Absence.TIMED_OUT, 4: Absence.TIMED_OUT, 5: Absence.NOT_CONNECTED}
"""What Flower's error codes mean for us: a message or its reply expired, or the node is gone. Any other is a failure."""


class GridTransport:
    """Carries bytes over a grid: one that Flower hands to a ServerApp, or one of a SuperLink of ours, which takes ``bundles``."""

    def __init__(self, grid: "Grid", *, bundles: bool = False) -> None:
        self._grid = grid
        self._mailbox = Mailbox(grid, bundles=bundles)

    def nodes(self) -> list[int]:
        """Return who is connected now."""
        return sorted(self._grid.get_node_ids())

    def exchange(self, requests: Mapping[int, bytes], timeout: float, patient: Collection[int]) -> dict[int, bytes | Lost]:
        """Send one request per node; return each node's reply, or ``Lost`` if none came; see ``Transport``."""
        end = time.monotonic() + timeout
        ids = self._mailbox.send([request(node, body, timeout) for node, body in requests.items()])
        sent = {number: node for node, number in zip(requests, ids, strict=False) if number}
        unsent = Lost("the request could not be sent", Absence.NOT_CONNECTED)
        replies: dict[int, bytes | Lost] = dict.fromkeys(requests.keys() - sent.values(), unsent)
        grace_ends: float | None = None
        while sent:
            for number, message in self._mailbox.look(list(sent)).items():
                node = sent.pop(number, None)
                if node is not None:
                    replies[node] = _reply_of(message)
            now = time.monotonic()
            if grace_ends is None and not any(node in patient for node in sent.values()):
                grace_ends = now + _GRACE
            if not sent or now >= end or (grace_ends is not None and now >= grace_ends):
                break
            time.sleep(min(_POLL, max(0.0, end - now)))
        away = Lost("still away", Absence.NOT_CONNECTED)
        replies |= {node: Lost(f"no reply within {timeout:g} s") if node in patient else away for node in sent.values()}
        return {node: replies[node] for node in requests}


def _reply_of(message: "Message | None") -> bytes | Lost:
    """Return a reply's bytes. An error is sent by the server itself in a node's place, so the sender's address is not used."""
    if message is None:
        return Lost("a reply was announced, and none came")
    if message.has_error():
        why = _ERRORS.get(message.error.code, Absence.FAILED)
        return Lost(str(message.error.reason or f"error {message.error.code}"), why)
    body = body_of(message)
    return Lost("the reply held no bytes", Absence.FAILED) if body is None else body


class FlowerFederation(RemoteFederation):
    """Sites that are reached through Flower; options are those of ``RemoteFederation``."""

    def __init__(self, grid: "Grid", **options: Any) -> None:
        super().__init__(GridTransport(grid), **options)
