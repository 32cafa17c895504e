"""A party's half of the secure sum: it makes keys, shares seeds, masks its values and helps to unmask the sum, each once and in order.

The state must be on disk before an answer is sent, and an older state must never be brought back: a party that forgot what it sent could
be made to send two inputs under one mask, or both shares of one seed pair.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from feddp_kmeans._typing import Array
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields, masks, sharing
from feddp_kmeans.network.secure_sum.channels import Channels, Pairs, pairs_from_list, pairs_to_list
from feddp_kmeans.network.secure_sum.graph import Graph
from feddp_kmeans.network.secure_sum.identity import Identity, PublicIdentity, parse_public, public_line, sign, verify
from feddp_kmeans.network.secure_sum.masks import KEY_BYTES, SEED_BYTES
from feddp_kmeans.network.secure_sum.messages import Advert, UnmaskReply, check_adverts, view_of
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms


@dataclass
class Party:
    """One party of a session. Every method is one stage; a stage that comes twice, too early or too late is refused."""

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
        seeds = {r: (os.urandom(SEED_BYTES), os.urandom(SEED_BYTES)) for r in range(terms.rounds)}
        return cls(name, terms, os.urandom(KEY_BYTES), seeds)

    def advert(self, identity: Identity | None = None) -> Advert:
        """Return this party's public keys, signed where it has an identity."""
        self._expect(not self._adverts, "an advert", "asked for before adverts are handed out")
        advert = self._own_advert()
        return advert if identity is None else advert.signed_by(identity, self.terms)

    def share(self, adverts: Sequence[Advert], roster: Mapping[str, PublicIdentity] | None = None) -> dict[str, bytes]:
        """Return an encrypted message with its shares for each neighbour. Without a roster signatures are not checked: laptop trials."""
        self._expect(not self._adverts, "shares", "asked for once")
        check_adverts(adverts, self.terms)
        self._check_own(adverts)
        self._check_signatures(adverts, roster)
        self._adverts = tuple(adverts)
        shared = self._split(self._graph.holders(self.name))
        self._held = {self.name: shared.pop(self.name)}
        channels = self._channels()
        return {holder: channels.seal(holder, pairs) for holder, pairs in shared.items()}

    def receive(self, sharers: Sequence[str], ciphertexts: Mapping[str, bytes]) -> None:
        """Take in who shared at all and the messages of the neighbours among them; refuse a message that is not whole and theirs."""
        self._expect(bool(self._adverts) and not self._sharers, "messages", "handed out once, after this party shared")
        known = self._known(sharers, "sharers", [advert.name for advert in self._adverts])
        senders = {name for name in self._graph.neighbours(self.name) if name in known}
        if set(fields.table(ciphertexts, "messages")) != senders:
            raise InputError(f"messages must come from this party's {len(senders)} neighbours that shared, got {len(ciphertexts)}.")
        if len(senders) + 1 < self._graph.shares_needed:
            raise InputError(f"neighbours that shared must be at least {self._graph.shares_needed - 1}, got {len(senders)}.")
        channels = self._channels()
        self._held |= {sender: channels.open(sender, ciphertexts[sender]) for sender in sorted(senders)}
        self._sharers = known
        self._encryption = b""

    def check_round(self, round_: int) -> None:
        """Refuse a round that cannot be masked now: a round is masked once, and none after a later one."""
        fields.integer(round_, "round", 0, self.terms.rounds - 1)
        self._expect(bool(self._sharers), "a masked input", "asked for after shares were handed out")
        self._expect(round_ > self._masked, f"round {round_}", f"later than the last masked one, {self._masked}")

    def mask(self, round_: int, values: Array, query: bytes = b"") -> Array:
        """Return the values, modulo 2**64, under this party's masks of a round.

        The masks cancel only among parties whose ``query`` is the same: what they were asked for.
        """
        self.check_round(round_)
        total = masks.ring_values(values)
        mask_seed, self_seed = self._seeds[round_]
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
        """Return this party's signature on a round's query and survivors: it signs one list per round. Only where the terms ask for it."""
        self._expect(self.terms.confirmed, "a confirmation", "asked for only where the terms say confirmed")
        self._expect(not self._confirmed, f"a confirmation of round {round_}", "asked for once")
        self._confirmed = self._check_survivors(round_, survivors)
        return sign(identity, self._statement(round_, survivors))

    def unmask(self, round_: int, survivors: Sequence[str], confirmations: Mapping[str, bytes] | None = None) -> UnmaskReply:
        """Return this party's share of each survivor's self-mask seed and of each dropout's mask-key seed, and forget the round."""
        listed = self._check_survivors(round_, survivors)
        if self.terms.confirmed:
            self._check_confirmed(round_, listed, fields.table(confirmations or {}, "confirmations"))
        kept = set(listed)
        self_shares = {name: pairs[round_][1] for name, pairs in self._held.items() if name in kept}
        key_shares = {name: pairs[round_][0] for name, pairs in self._held.items() if name not in kept}
        self._unmasked = round_
        self._forget_before(round_ + 1)
        return UnmaskReply(round_, self_shares, key_shares)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain data. It holds secrets: keep it where the party's data are kept."""
        return {
            "name": self.name,
            "terms": self.terms.to_dict(),
            "encryption": self._encryption.hex(),
            "seeds": pairs_to_list(self._seeds),
            "adverts": [advert.to_dict() for advert in self._adverts],
            "roster": dict(self._roster),
            "sharers": list(self._sharers),
            "held": {name: pairs_to_list(pairs) for name, pairs in self._held.items()},
            "masked": self._masked,
            "query": self._query.hex(),
            "confirmed": list(self._confirmed),
            "unmasked": self._unmasked,
        }

    @classmethod
    def from_dict(cls, given: Any) -> "Party":
        """Return the party that this plain data states; refuse anything else."""
        row = fields.fields(given, "a party", tuple(_FIELDS))
        terms = SessionTerms.from_dict(row["terms"])
        party = cls(
            fields.name(row["name"], "the name of a party"),
            terms,
            fields.from_hex(row["encryption"], "encryption"),
            pairs_from_list(row["seeds"], terms.rounds),
            tuple(Advert.from_dict(advert) for advert in fields.items(row["adverts"], "adverts")),
            {name: public_line(parse_public(line)) for name, line in fields.table(row["roster"], "roster").items()},
            fields.names(row["sharers"], "sharers"),
            {name: pairs_from_list(pairs, terms.rounds) for name, pairs in fields.table(row["held"], "held").items()},
            fields.integer(row["masked"], "masked", -1, terms.rounds - 1),
            fields.from_hex(row["query"], "query"),
            fields.names(row["confirmed"], "confirmed"),
            fields.integer(row["unmasked"], "unmasked", -1, terms.rounds - 1),
        )
        party._check_state()
        return party

    @property
    def _graph(self) -> Graph:
        return self.terms.graph(tuple(advert.name for advert in self._adverts))

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
            if not advert.is_signed_by(roster[advert.name], self.terms):
                raise InputError(f"the advert of {advert.name!r} must be signed with the key of the roster, got another signature.")
        if self.terms.confirmed:
            self._roster = {advert.name: public_line(roster[advert.name]) for advert in adverts}

    def _split(self, holders: tuple[str, ...]) -> dict[str, Pairs]:
        shared: dict[str, Pairs] = {holder: {} for holder in holders}
        for round_, seeds in self._seeds.items():
            mask_shares, self_shares = (sharing.split(seed, self._graph.shares_needed, len(holders)) for seed in seeds)
            for holder, mask_share, self_share in zip(holders, mask_shares, self_shares, strict=True):
                shared[holder][round_] = mask_share, self_share
        return shared

    def _channels(self) -> Channels:
        keys = {advert.name: advert.encryption_key for advert in self._adverts}
        return Channels(self.name, self.terms, self._encryption, keys, view_of(self._adverts, self.terms))

    def _known(self, given: Sequence[str], what: str, among: Sequence[str]) -> tuple[str, ...]:
        """Return a list of parties that has this one in it, no unknown one, and as many as the threshold."""
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
        listed = self._known(survivors, "survivors", self._sharers)
        self._graph.check_joined(listed)
        return listed

    def _statement(self, round_: int, survivors: Sequence[str]) -> bytes:
        view = view_of(self._adverts, self.terms)
        lists = fields.encode(*self._sharers), fields.encode(*survivors)
        return fields.statement("survivors", view, round_, self._query, *lists)

    def _check_confirmed(self, round_: int, survivors: tuple[str, ...], confirmations: Mapping[str, bytes]) -> None:
        if survivors != self._confirmed:
            raise InputError(f"survivors of round {round_} must be the list that {self.name!r} confirmed, got another.")
        statement = self._statement(round_, survivors)
        signers = [name for name in survivors if name in confirmations]
        valid = sum(
            verify(parse_public(self._roster[name]), fields.raw(confirmations[name], "a confirmation"), statement) for name in signers
        )
        if valid < self.terms.threshold:
            raise InputError(f"confirmations of round {round_} must be at least {self.terms.threshold}, got {valid} that are valid.")

    def _forget_before(self, round_: int) -> None:
        """Drop the secrets of all rounds before this one."""
        for pairs in (self._seeds, *self._held.values()):
            for past in [r for r in pairs if r < round_]:
                del pairs[past]

    def _check_state(self) -> None:
        """Refuse a state that no course of a session leads to."""
        names = {advert.name for advert in self._adverts}
        if self._adverts:
            check_adverts(self._adverts, self.terms)
        known = (not self._adverts or self.name in names) and set(self._sharers) <= names and set(self._confirmed) <= set(self._sharers)
        if not (known and self._in_order() and self._complete(names)):
            raise InputError("the state of a party must be one that it wrote, got another.")

    def _in_order(self) -> bool:
        """Return whether the stages that are past came in order."""
        masked = self._masked < 0 or bool(self._sharers)
        return masked and self._unmasked <= self._masked and (not self._sharers or self.name in self._sharers)

    def _complete(self, names: set[str]) -> bool:
        """Return whether all secrets of this stage are there, and no others."""
        to_come = set(range(max(self._masked, self._unmasked + 1, 0), self.terms.rounds))
        seeds = all(set(pairs) == to_come for pairs in (self._seeds, *self._held.values()))
        encryption = len(self._encryption) == (0 if self._sharers else KEY_BYTES)
        roster = set(self._roster) == (names if self.terms.confirmed else set())
        return seeds and encryption and roster and set(self._held) == (self._holding() if self._adverts else set())

    def _holding(self) -> set[str]:
        """Return whose shares this party holds at its stage."""
        neighbours = self._graph.neighbours(self.name)
        return {self.name, *(name for name in neighbours if name in self._sharers)}


_FIELDS = ("name", "terms", "encryption", "seeds", "adverts", "roster", "sharers", "held", "masked", "query", "confirmed", "unmasked")
