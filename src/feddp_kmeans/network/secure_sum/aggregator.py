"""The server of the secure sum: it passes messages on, rebuilds seeds, and removes the masks from the sum, never from one input."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from feddp_kmeans._typing import Array
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields, masks, sharing
from feddp_kmeans.network.secure_sum.messages import Advert, UnmaskReply, check_adverts
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms


@dataclass(frozen=True)
class Aggregator(fields.Plain):
    """The server of one session, with the parties' adverts, sorted by name, and their messages to each other."""

    terms: SessionTerms
    adverts: tuple[Advert, ...]
    messages: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """For each party that shared, its message to each other party."""

    def __post_init__(self) -> None:
        check_adverts(self.adverts, self.terms)
        self._check_known(self.messages, "parties that shared", self._names)

    @property
    def sharers(self) -> tuple[str, ...]:
        """Return who shared, sorted."""
        return tuple(sorted(self.messages))

    def ciphertexts_for(self, name: str) -> dict[str, bytes]:
        """Return the messages to one party."""
        return {sender: sent[name] for sender, sent in self.messages.items() if name in sent}

    def without_messages(self) -> "Aggregator":
        """Return this aggregator without the messages between parties, which are not needed once they are delivered."""
        return replace(self, messages={sender: {} for sender in self.messages})

    def unmasked(
        self, round_: int, survivors: tuple[str, ...], masked: Array, replies: Mapping[str, UnmaskReply], query: bytes = b""
    ) -> Array:
        """Return the exact sum of the survivors' values modulo 2**64, from the sum of their masked values.

        If a reply is refused, call again without it.
        """
        fields.integer(round_, "round", 0, self.terms.rounds - 1)
        self._check_known(survivors, "survivors", self.sharers)
        self._check_replies(round_, survivors, replies)
        total, session = masked.copy(), self.terms.session
        adverts = {advert.name: advert for advert in self.adverts}
        for name in survivors:
            seed = self._rebuilt(name, {holder: reply.self_shares for holder, reply in replies.items()}, "self-mask")
            if masks.self_check(seed, session, round_, name) != adverts[name].self_checks[round_]:
                raise InputError(f"shares of the self-mask of {name!r} must rebuild its seed, got wrong ones.")
            total -= masks.mask(masks.self_key(seed, session, round_, name), len(total))
        for name in sorted(set(self.sharers) - set(survivors)):
            seed = self._rebuilt(name, {holder: reply.key_shares for holder, reply in replies.items()}, "mask key")
            private = masks.mask_private_key(seed, session, round_, name)
            if masks.public_key(private) != adverts[name].mask_keys[round_]:
                raise InputError(f"shares of the mask key of {name!r} must rebuild its seed, got wrong ones.")
            for other in survivors:
                key = masks.pair_key(private, adverts[other].mask_keys[round_], session, round_, query, name, other)
                masks.add_pair_mask(total, key, name, other)
        return total

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(advert.name for advert in self.adverts)

    def _check_known(self, given: Mapping[str, object] | tuple[str, ...], what: str, known: tuple[str, ...]) -> None:
        if unknown := set(given) - set(known):
            raise InputError(f"{what} must be of the session and have taken part so far, got {min(unknown)!r}.")

    def _check_replies(self, round_: int, survivors: tuple[str, ...], replies: Mapping[str, UnmaskReply]) -> None:
        self._check_known(replies, "parties that help to unmask", survivors)
        expected = set(survivors), set(self.sharers) - set(survivors)
        for name, reply in replies.items():
            if reply.round != round_ or (set(reply.self_shares), set(reply.key_shares)) != expected:
                raise InputError(f"the reply of {name!r} must hold its shares of round {round_} and these survivors, got others.")

    def _rebuilt(self, name: str, given: Mapping[str, Mapping[str, bytes]], what: str) -> bytes:
        shares = {place: given[holder][name] for place, holder in enumerate(self._names) if holder in given}
        needed = self.terms.threshold
        if len(shares) < needed:
            raise InputError(f"shares of the {what} of {name!r} must be at least {needed}, got {len(shares)}.")
        return sharing.join(dict(list(shares.items())[:needed]))
