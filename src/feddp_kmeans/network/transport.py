"""What a federation of machines needs from a network: who is connected, and one request and reply with each, as bytes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Absence(StrEnum):
    """Why a site is missing from a release: this is put on record, and no other word of a site."""

    NOT_CONNECTED = "not connected"
    TIMED_OUT = "timed out"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True)
class Lost:
    """Why no reply came from a node."""

    reason: str
    why: Absence = Absence.TIMED_OUT


class Transport(Protocol):
    """Carries bytes between the server and its nodes."""

    def nodes(self) -> list[int]:
        """Return the nodes that are connected now."""
        ...

    def exchange(self, requests: Mapping[int, bytes], timeout: float, patient: Collection[int]) -> dict[int, bytes | Lost]:
        """Send one request per node; return each node's reply, or ``Lost`` where none came.

        Returns when all nodes have answered, or after the timeout in seconds. Nodes outside ``patient`` were missing before: they get only
        the time that the patient nodes need, and a few seconds more.
        """
        ...
