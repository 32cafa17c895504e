"""What a federation between machines needs of a network: who is connected, and one request and reply with each. No meaning, only bytes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Lost:
    """No reply came from a node, and why."""

    reason: str


class Transport(Protocol):
    """Carries bytes between the server and its nodes."""

    def nodes(self) -> list[int]:
        """Return who is connected now."""
        ...

    def exchange(self, requests: Mapping[int, bytes], timeout: float, patient: Collection[int]) -> dict[int, bytes | Lost]:
        """Send one request per node; return each node's reply, or ``Lost`` where none came.

        Returns when all have answered, or at the timeout (seconds). A node outside ``patient`` was missing before: it is waited for only
        while some patient node is still out, and a few seconds more.
        """
        ...
