"""A party of the secure sum: it makes keys, shares seeds, masks its values and helps to unmask the sum, each once and in order.

The caller must write the state to disk before it sends an answer, and must never restore an older state: a party that forgot what it sent
could be made to send two inputs under one mask, or both shares of one pair of seeds.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from feddp_kmeans._typing import Array
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields, masks, sharing
from feddp_kmeans.network.secure_sum.channels import Channels, Pairs
from feddp_kmeans.network.secure_sum.identity import Identity, PublicIdentity, parse_public, public_line, sign, verify
from feddp_kmeans.network.secure_sum.masks import KEY_BYTES, SEED_BYTES
from feddp_kmeans.network.secure_sum.messages import Advert, UnmaskReply, check_adverts, view_of
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms


@dataclass
class Party(fields.Plain):
    """One party of a session. Each method is one stage; a stage that comes twice, too early or too late is refused.

    Its plain data hold secrets: keep them as safe as the party's data.
    """

    name: str
    terms: SessionTerms
    _encryption: bytes
    _seeds: Pairs
    _adverts: tuple[Advert, ...] = ()
    _roster: dict[str, str] = field(default_factory=dict)
    _sharers: tuple[str, ...] = ()
    _held: dict[str, Pairs] = field(default_factory=dict)
    _masked: int = -1
    _query: bytes = b""
    _confirmed: tuple[str, ...] = ()
    _unmasked: int = -1

    @classmethod
    def new(cls, name: str, terms: SessionTerms) -> "Party":
        """Return a party with fresh secrets."""
        fields.name(name, "the name of a party")
        return cls(name, terms, os.urandom(KEY_BYTES), [(os.urandom(SEED_BYTES), os.urandom(SEED_BYTES)) for _ in range(terms.rounds)])

    def advert(self, identity: Identity | None = None) -> Advert:
        """Return this party's public keys, signed if it has an identity."""
        self._expect(not self._adverts, "an advert", "asked for before adverts are handed out")
        advert = self._own_advert()
        return advert if identity is None else replace(advert, signature=sign(identity, advert.content(self.terms)))

    def share(self, adverts: Sequence[Advert], roster: Mapping[str, PublicIdentity] | None = None) -> dict[str, bytes]:
        """Return an encrypted message with shares for each other party. Without a roster signatures are not checked: for trials."""
        self._expect(not self._adverts, "shares", "asked for once")
        check_adverts(adverts, self.terms)
        self._check_own(adverts)
        self._check_signatures(adverts, roster)
        self._adverts = tuple(adverts)
        shared = self._split([advert.name for advert in adverts])
        self._held = {self.name: shared.pop(self.name)}
        channels = self._channels()
        return {holder: channels.seal(holder, pairs) for holder, pairs in shared.items()}

    def receive(self, sharers: Sequence[str], messages: Mapping[str, bytes]) -> None:
        """Take the list of parties that shared, and their messages; refuse a message that is not whole or not theirs."""
        self._expect(bool(self._adverts) and not self._sharers, "messages", "handed out once, after this party shared")
        known = self._known(sharers, "sharers", [advert.name for advert in self._adverts])
        senders = [name for name in known if name != self.name]
        if set(messages) != set(senders):
            raise InputError(f"messages must come from the {len(senders)} other parties that shared, got {len(messages)}.")
        channels = self._channels()
        self._held |= {sender: channels.open(sender, messages[sender]) for sender in senders}
        self._sharers = known
        self._encryption = b""

    def check_round(self, round_: int) -> None:
        """Refuse a round that cannot be masked now: each round is masked once, in increasing order."""
        fields.integer(round_, "round", 0, self.terms.rounds - 1)
        self._expect(bool(self._sharers), "a masked input", "asked for after shares were handed out")
        self._expect(round_ > self._masked, f"round {round_}", f"later than the last masked one, {self._masked}")

    def mask(self, round_: int, values: Array, query: bytes = b"") -> Array:
        """Return the values, modulo 2**64, under this party's masks of a round.

        The masks cancel only among parties that were asked the same ``query``.
        """
        self.check_round(round_)
        total = masks.ring_values(values)
        mask_seed, self_seed = self._seeds[round_ - self.terms.rounds]
        self._masked, self._query = round_, query
        self._forget_before(round_)
        self._confirmed = ()
        session = self.terms.session
        total += masks.mask(masks.self_key(self_seed, session, round_, self.name), len(total))
        private = masks.mask_private_key(mask_seed, session, round_, self.name)
        for advert in self._adverts:
            if advert.name in self._held and advert.name != self.name:
                key = masks.pair_key(private, advert.mask_keys[round_], session, round_, query, self.name, advert.name)
                masks.add_pair_mask(total, key, self.name, advert.name)
        return total

    def confirm(self, round_: int, survivors: Sequence[str], identity: Identity) -> bytes:
        """Return this party's signature on the query and the survivors of a round. It signs one list per round."""
        self._expect(self.terms.confirmed, "a confirmation", "asked for only where the terms say confirmed")
        self._expect(not self._confirmed, f"a confirmation of round {round_}", "asked for once")
        self._confirmed = self._check_survivors(round_, survivors)
        return sign(identity, self._statement(round_, survivors))

    def unmask(self, round_: int, survivors: Sequence[str], confirmations: Mapping[str, bytes] | None = None) -> UnmaskReply:
        """Return this party's shares of the survivors' self-mask seeds and of the dropouts' mask-key seeds; forget the round."""
        listed = self._check_survivors(round_, survivors)
        if self.terms.confirmed:
            self._check_confirmed(round_, listed, confirmations or {})
        held = {name: pairs[round_ - self.terms.rounds] for name, pairs in self._held.items()}
        self_shares = {name: pair[1] for name, pair in held.items() if name in listed}
        key_shares = {name: pair[0] for name, pair in held.items() if name not in listed}
        self._unmasked = round_
        self._forget_before(round_ + 1)
        return UnmaskReply(round_, self_shares, key_shares)

    def _expect(self, met: bool, what: str, rule: str) -> None:
        if not met:
            raise InputError(f"{what} of {self.name!r} must be {rule}, got a request out of order.")

    def _own_advert(self) -> Advert:
        session, rounds = self.terms.session, range(self.terms.rounds)
        privates = [masks.mask_private_key(self._seeds[r][0], session, r, self.name) for r in rounds]
        checks = tuple(masks.self_check(self._seeds[r][1], session, r, self.name) for r in rounds)
        return Advert(self.name, masks.public_key(self._encryption), tuple(map(masks.public_key, privates)), checks)

    def _check_own(self, adverts: Sequence[Advert]) -> None:
        own = [advert for advert in adverts if advert.name == self.name]
        if not own or own[0].content(self.terms) != self._own_advert().content(self.terms):
            raise InputError(f"the advert of {self.name!r} must come back as it was sent, got {'another' if own else 'none'}.")

    def _check_signatures(self, adverts: Sequence[Advert], roster: Mapping[str, PublicIdentity] | None) -> None:
        if roster is None:
            self._expect(not self.terms.confirmed, "a roster", "given where the terms say confirmed")
            return
        for advert in adverts:
            if advert.name not in roster:
                raise InputError(f"a party must be in the roster, got {advert.name!r}.")
            if not verify(roster[advert.name], advert.signature, advert.content(self.terms)):
                raise InputError(f"the advert of {advert.name!r} must be signed with the key of the roster, got another signature.")
        if self.terms.confirmed:
            self._roster = {advert.name: public_line(roster[advert.name]) for advert in adverts}

    def _split(self, holders: Sequence[str]) -> dict[str, Pairs]:
        """Return the shares of each holder, for all rounds."""
        split = sharing.split([seed for pair in self._seeds for seed in pair], self.terms.threshold, len(holders))
        rounds = list(zip(split[::2], split[1::2], strict=True))
        return {name: [(of_key[place], of_self[place]) for of_key, of_self in rounds] for place, name in enumerate(holders)}

    def _channels(self) -> Channels:
        keys = {advert.name: advert.encryption_key for advert in self._adverts}
        return Channels(self.name, self.terms, self._encryption, keys, view_of(self._adverts, self.terms))

    def _known(self, given: Sequence[str], what: str, among: Sequence[str]) -> tuple[str, ...]:
        """Return a list of known parties that includes this one and is not shorter than the threshold."""
        listed = fields.names(given, what)
        unknown = set(listed) - set(among)
        if unknown:
            raise InputError(f"{what} must be parties of this session that took part so far, got {min(unknown)!r}.")
        if self.name not in listed:
            raise InputError(f"{what} must include {self.name!r} itself, got a list without it.")
        if len(listed) < self.terms.threshold:
            raise InputError(f"{what} must be at least {self.terms.threshold}, got {len(listed)}.")
        return listed

    def _check_survivors(self, round_: int, survivors: Sequence[str]) -> tuple[str, ...]:
        fields.integer(round_, "round", 0, self.terms.rounds - 1)
        self._expect(round_ == self._masked, f"round {round_}", f"the one masked last, {self._masked}")
        self._expect(round_ > self._unmasked, f"round {round_}", "unmasked once")
        return self._known(survivors, "survivors", self._sharers)

    def _statement(self, round_: int, survivors: Sequence[str]) -> bytes:
        view = view_of(self._adverts, self.terms)
        lists = fields.encode(*self._sharers), fields.encode(*survivors)
        return fields.statement("survivors", view, round_, self._query, *lists)

    def _check_confirmed(self, round_: int, survivors: tuple[str, ...], confirmations: Mapping[str, bytes]) -> None:
        if survivors != self._confirmed:
            raise InputError(f"survivors of round {round_} must be the list that {self.name!r} confirmed, got another.")
        statement = self._statement(round_, survivors)
        signers = [name for name in survivors if name in confirmations]
        valid = sum(verify(parse_public(self._roster[name]), confirmations[name], statement) for name in signers)
        if valid < self.terms.threshold:
            raise InputError(f"confirmations of round {round_} must be at least {self.terms.threshold}, got {valid} that are valid.")

    def _forget_before(self, round_: int) -> None:
        """Delete the secrets of all rounds before this one. Lists of pairs hold the last rounds, so rounds count from their end."""
        for pairs in (self._seeds, *self._held.values()):
            del pairs[: len(pairs) - (self.terms.rounds - round_)]
