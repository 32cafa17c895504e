"""The server's checks of answers from sites, and its state within a session."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.protocol import place_of
from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.secure_sum.fields import names, parsed
from feddp_kmeans.network.secure_sum.messages import Advert, UnmaskReply
from feddp_kmeans.network.transport import Absence, Lost
from feddp_kmeans.network.wire import Envelope, unpack


class NoAnswerError(InputError):
    """A site did not give the answer that was asked for."""

    def __init__(self, reason: str, why: Absence) -> None:
        super().__init__(reason)
        self.why = why


@dataclass
class Session:
    """What the server remembers between two messages."""

    run: str
    key: bytes
    turn: int = 0
    round: int = 0
    names: list[str] = field(default_factory=list)
    received: set[str] = field(default_factory=set)
    """Who has the messages of the other parties."""
    aggregator: Aggregator = field(init=False)

    @property
    def place(self) -> dict[str, Any]:
        """Return the session and turn that answers to the latest request must repeat."""
        return {"session": self.key, "turn": self.turn}

    def next_turn(self) -> dict[str, Any]:
        """Return the fields that identify the next request; no two requests share them."""
        self.turn += 1
        return {"run": self.run} | self.place


def advert_of(name: str, reply: Envelope) -> Advert:
    """Return a site's own advert."""
    advert = Advert.from_dict(reply.get("advert", dict))
    if advert.name != name:
        raise InputError(f"an advert must be of its sender, got one of {advert.name!r}.")
    return advert


def parties_of(reply: Envelope, threshold: int) -> tuple[str, ...]:
    """Return who was in the first session of the run according to a site; nobody if it has not shared keys yet."""
    parties = names(reply.get("parties", list), "the parties of a run")
    if parties and len(parties) < threshold:
        raise InputError(f"it says that its run has {len(parties)} parties, fewer than it agreed to")
    return parties


def unmasked_of(reply: Envelope) -> UnmaskReply:
    """Return a site's shares of a round."""
    return UnmaskReply.from_dict({name: value for name, value in reply.fields.items() if name not in place_of(reply)})


def shares_of(name: str, reply: Envelope, parties: Iterable[str]) -> dict[str, bytes]:
    """Return a site's messages to all other parties."""
    shares: dict[str, bytes] = parsed(dict[str, bytes], reply.get("shares", dict), "shares")
    if set(shares) != set(parties) - {name}:
        raise InputError("it must share with each other party, got other names")
    return shares


def vector_of(reply: Envelope, length: int, dtype: Any) -> Array:
    """Return the vector of an answer, of this length and type."""
    values = reply.fields.get("values")
    if not (isinstance(values, np.ndarray) and values.dtype == dtype and values.shape == (length,)):
        raise InputError(f"it must send {length} numbers, got something else")
    return values


def opened_reply(reply: bytes | Lost, kind: str, place: Mapping[str, Any] | None = None) -> Envelope:
    """Return the message of a reply of this kind to the request with this session and turn; refuse anything else."""
    if isinstance(reply, Lost):
        raise NoAnswerError(reply.reason, reply.why)
    told = unpack(reply)
    if told.kind in (Absence.REFUSED, Absence.FAILED):
        raise NoAnswerError(f"it {told.kind}: {told.fields.get('reason', '')!s:.300}", Absence(told.kind))
    if told.kind != kind:
        raise InputError(f"it answered {told.kind!r:.40} where {kind!r} was asked for.")
    if place is not None and place_of(told) != place:
        raise InputError("it answered an earlier request again.")
    return told
