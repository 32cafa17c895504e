"""The two messages with a shape: a party's advert of its keys, and its shares for an unmasking."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields
from feddp_kmeans.network.secure_sum.identity import Identity, PublicIdentity, sign, verify
from feddp_kmeans.network.secure_sum.masks import KEY_BYTES, SEED_BYTES
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms


@dataclass(frozen=True)
class Advert:
    """A party's public keys of a session: one for messages and, for each round, a mask key and a check of its self-mask seed."""

    name: str
    encryption_key: bytes
    mask_keys: tuple[bytes, ...]
    self_checks: tuple[bytes, ...]
    signature: bytes = b""

    def signed_by(self, identity: Identity, terms: SessionTerms) -> "Advert":
        """Return the same advert with a signature."""
        return replace(self, signature=sign(identity, self.content(terms)))

    def is_signed_by(self, public: PublicIdentity, terms: SessionTerms) -> bool:
        """Return whether the signature is this identity's, on this very advert and session."""
        return verify(public, self.signature, self.content(terms))

    def content(self, terms: SessionTerms) -> bytes:
        """Return what is signed."""
        keys = fields.encode(*self.mask_keys), fields.encode(*self.self_checks)
        return fields.statement("advert", terms.content, self.name, self.encryption_key, *keys)

    def to_dict(self) -> dict[str, Any]:
        """Return the advert as plain data."""
        return {
            "name": self.name,
            "encryption_key": self.encryption_key.hex(),
            "mask_keys": [key.hex() for key in self.mask_keys],
            "self_checks": [check.hex() for check in self.self_checks],
            "signature": self.signature.hex(),
        }

    @classmethod
    def from_dict(cls, given: Any) -> "Advert":
        """Return the advert that this plain data states; refuse anything else."""
        row = fields.fields(given, "an advert", ("name", "encryption_key", "mask_keys", "self_checks", "signature"))
        mask_keys = fields.items(row["mask_keys"], "mask_keys")
        self_checks = fields.items(row["self_checks"], "self_checks", len(mask_keys))
        return cls(
            fields.name(row["name"], "the name of an advert"),
            fields.from_hex(row["encryption_key"], "encryption_key", KEY_BYTES),
            tuple(fields.from_hex(key, "a mask key", KEY_BYTES) for key in mask_keys),
            tuple(fields.from_hex(check, "a self check", KEY_BYTES) for check in self_checks),
            fields.from_hex(row["signature"], "signature"),
        )


@dataclass(frozen=True)
class UnmaskReply:
    """A party's shares of one round: of the self-masks of those that survived, of the mask keys of those that dropped out."""

    round: int
    self_shares: Mapping[str, bytes]
    key_shares: Mapping[str, bytes]

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as plain data."""
        return {
            "round": self.round,
            "self_shares": {name: share.hex() for name, share in self.self_shares.items()},
            "key_shares": {name: share.hex() for name, share in self.key_shares.items()},
        }

    @classmethod
    def from_dict(cls, given: Any) -> "UnmaskReply":
        """Return the reply that this plain data states; refuse anything else."""
        row = fields.fields(given, "an unmask reply", ("round", "self_shares", "key_shares"))
        self_shares, key_shares = (
            {name: fields.from_hex(share, "a share", SEED_BYTES) for name, share in fields.table(row[kind], kind).items()}
            for kind in ("self_shares", "key_shares")
        )
        return cls(fields.integer(row["round"], "round", 0, fields.MAX_ROUNDS - 1), self_shares, key_shares)


def check_adverts(adverts: Sequence[Advert], terms: SessionTerms) -> None:
    """Refuse adverts that are not of this session: names distinct and sorted, one key per round, enough parties."""
    fields.names([advert.name for advert in adverts], "the names of adverts")
    terms.check_parties(len(adverts))
    for advert in adverts:
        if not len(advert.mask_keys) == len(advert.self_checks) == terms.rounds:
            raise InputError(f"the advert of {advert.name!r} must have {terms.rounds} mask keys, got {len(advert.mask_keys)}.")


def view_of(adverts: Sequence[Advert], terms: SessionTerms) -> bytes:
    """Return the digest of all adverts and terms: parties that were shown different ones cannot read each other's shares."""
    return hashlib.sha256(fields.statement("view", *(advert.content(terms) for advert in adverts))).digest()
