"""The server's half of the secure sum: it passes messages on, rebuilds seeds and takes the masks off the sum, never off one input."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields, masks, sharing
from feddp_kmeans.network.secure_sum.graph import Graph
from feddp_kmeans.network.secure_sum.messages import Advert, UnmaskReply, check_adverts
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms


@dataclass
class Aggregator:
    """The server of one session."""

    terms: SessionTerms
    _adverts: dict[str, Advert] = field(default_factory=dict)
    _messages: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def take_adverts(self, adverts: Iterable[Advert]) -> tuple[Advert, ...]:
        """Take the parties' adverts and return them in the order in which all parties must get them."""
        ordered = tuple(sorted(adverts, key=lambda advert: advert.name))
        self._enough(len(ordered), "adverts")
        check_adverts(ordered, self.terms)
        self._adverts = {advert.name: advert for advert in ordered}
        return ordered

    @property
    def adverts(self) -> tuple[Advert, ...]:
        """Return all adverts, sorted by name."""
        return tuple(self._adverts.values())

    def take_shares(self, messages: Mapping[str, Mapping[str, bytes]]) -> tuple[str, ...]:
        """Take, for each party that shared, its messages to its neighbours; return who shared."""
        for sender, sent in messages.items():
            self._check_known(sender, "a party that shared", self._adverts)
            if set(sent) != set(self._graph.neighbours(sender)):
                raise InputError(f"messages of {sender!r} must go to each of its neighbours, got {len(sent)} messages.")
        self._enough(len(messages), "parties that shared")
        self._messages = {sender: dict(messages[sender]) for sender in sorted(messages)}
        return self.sharers

    @property
    def sharers(self) -> tuple[str, ...]:
        """Return who shared, sorted."""
        return tuple(self._messages)

    @property
    def degree(self) -> int:
        """Return with how many others each party shares and masks."""
        return self._graph.degree

    def ciphertexts_for(self, name: str) -> dict[str, bytes]:
        """Return the messages to one party."""
        return {sender: sent[name] for sender, sent in self._messages.items() if name in sent}

    def survivors(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the list of those that sent a masked input, as all of them must get it; abort where they are too few."""
        listed = tuple(sorted(names))
        for name in listed:
            self._check_known(name, "a party with a masked input", self._messages)
        self._enough(len(listed), "parties with a masked input")
        self._graph.check_joined(listed)
        return listed

    def total(self, round_: int, masked: Mapping[str, Array], replies: Mapping[str, UnmaskReply], query: bytes = b"") -> Array:
        """Return the exact sum of the survivors' values modulo 2**64. A refused reply may be left out and the total asked again."""
        return self.unmasked(round_, self.survivors(masked), masked_sum(masked.values()), replies, query)

    def unmasked(
        self, round_: int, survivors: tuple[str, ...], masked: Array, replies: Mapping[str, UnmaskReply], query: bytes = b""
    ) -> Array:
        """Return the same from the sum of the masked values, which is all that is needed of them."""
        fields.integer(round_, "round", 0, self.terms.rounds - 1)
        total = masked.copy()
        self._check_replies(round_, survivors, replies)
        session = self.terms.session
        for name in survivors:
            seed = self._rebuild(name, round_, {holder: reply.self_shares for holder, reply in replies.items()}, "self-mask")
            if masks.self_check(seed, session, round_, name) != self._adverts[name].self_checks[round_]:
                raise InputError(f"shares of the self-mask of {name!r} must rebuild its seed, got wrong ones.")
            total -= masks.mask(masks.self_key(seed, session, round_, name), len(total))
        for name in sorted(set(self.sharers) - set(survivors)):
            self._remove_dropout(total, name, round_, query, survivors, replies)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "terms": self.terms.to_dict(),
            "adverts": [advert.to_dict() for advert in self.adverts],
            "messages": {sender: {to: message.hex() for to, message in sent.items()} for sender, sent in self._messages.items()},
        }

    @classmethod
    def from_dict(cls, given: Any) -> "Aggregator":
        """Return the aggregator that this plain data states; refuse anything else."""
        row = fields.fields(given, "an aggregator", ("terms", "adverts", "messages"))
        aggregator = cls(SessionTerms.from_dict(row["terms"]))
        adverts = [Advert.from_dict(advert) for advert in fields.items(row["adverts"], "adverts")]
        messages = {
            sender: {to: fields.from_hex(message, "a message") for to, message in fields.table(sent, "messages").items()}
            for sender, sent in fields.table(row["messages"], "messages").items()
        }
        if adverts:
            aggregator.take_adverts(adverts)
        if any(messages.values()):
            aggregator.take_shares(messages)
        for sender in messages:
            aggregator._check_known(sender, "a party that shared", aggregator._adverts)
        aggregator._messages = {sender: messages[sender] for sender in sorted(messages)}
        return aggregator

    def without_messages(self) -> "Aggregator":
        """Return the same without the messages between parties: all that is needed of it once they have them."""
        return replace(self, _messages={sender: {} for sender in self._messages})

    @property
    def _graph(self) -> Graph:
        return self.terms.graph(tuple(self._adverts))

    def _enough(self, answered: int, what: str) -> None:
        if answered < self.terms.threshold:
            raise InputError(f"{what} must be at least {self.terms.threshold} for the sum to be shown, got {answered}.")

    def _check_known(self, name: str, what: str, known: Container[str]) -> None:
        if name not in known:
            raise InputError(f"{what} must be one of the session that took part so far, got {name!r}.")

    def _check_replies(self, round_: int, survivors: tuple[str, ...], replies: Mapping[str, UnmaskReply]) -> None:
        self._enough(len(replies), "parties that help to unmask")
        kept = set(survivors)
        for name, reply in replies.items():
            self._check_known(name, "a party that helps to unmask", kept)
            held = {holder for holder in self._graph.holders(name) if holder in self._messages}
            expected = held & kept, held - kept
            if reply.round != round_ or (set(reply.self_shares), set(reply.key_shares)) != expected:
                raise InputError(f"the reply of {name!r} must hold its shares of round {round_} and these survivors, got others.")

    def _rebuild(self, name: str, round_: int, given: Mapping[str, Mapping[str, bytes]], what: str) -> bytes:
        needed = self._graph.shares_needed
        holders = self._graph.holders(name)
        shares = {place: given[holder][name] for place, holder in enumerate(holders) if holder in given}
        if len(shares) < needed:
            raise InputError(f"shares of the {what} of {name!r} in round {round_} must be at least {needed}, got {len(shares)}.")
        return sharing.join(dict(list(shares.items())[:needed]))

    def _remove_dropout(
        self, total: Array, name: str, round_: int, query: bytes, survivors: tuple[str, ...], replies: Mapping[str, UnmaskReply]
    ) -> None:
        """Take off the masks that survivors have in common with a party that shared and dropped out."""
        tied = [other for other in self._graph.neighbours(name) if other in survivors]
        if not tied:
            return
        session, own = self.terms.session, self._adverts[name]
        seed = self._rebuild(name, round_, {holder: reply.key_shares for holder, reply in replies.items()}, "mask key")
        private = masks.mask_private_key(seed, session, round_, name)
        if masks.public_key(private) != own.mask_keys[round_]:
            raise InputError(f"shares of the mask key of {name!r} must rebuild its seed, got wrong ones.")
        for other in tied:
            key = masks.pair_key(private, self._adverts[other].mask_keys[round_], session, round_, query, name, other)
            masks.add_pair_mask(total, key, name, other)


def masked_sum(masked: Iterable[Array]) -> Array:
    """Return the sum modulo 2**64 of arrays of one length."""
    arrays = list(masked)
    for array in arrays:
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != np.uint64 or len(array) != len(arrays[0]):
            raise InputError("masked inputs must be rows of unsigned 64-bit integers of one length, got others.")
    total = np.zeros(len(arrays[0]), dtype=np.uint64)
    for array in arrays:
        total += array
    return total
