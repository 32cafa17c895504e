"""The two structured messages: a party's advert of its keys, and its shares for an unmasking."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields
from feddp_kmeans.network.secure_sum.masks import KEY_BYTES, SEED_BYTES
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms


@dataclass(frozen=True)
class Advert(fields.Plain):
    """A party's public keys in a session: one for messages and, per round, a mask key and a check of its self-mask seed."""

    name: str
    encryption_key: bytes
    mask_keys: tuple[bytes, ...]
    self_checks: tuple[bytes, ...]
    signature: bytes = b""

    def __post_init__(self) -> None:
        fields.name(self.name, "the name of an advert")
        for key in (self.encryption_key, *self.mask_keys, *self.self_checks):
            fields.sized(key, "a key or check of an advert", KEY_BYTES)

    def content(self, terms: SessionTerms) -> bytes:
        """Return what is signed."""
        keys = fields.encode(*self.mask_keys), fields.encode(*self.self_checks)
        return fields.statement("advert", terms.content, self.name, self.encryption_key, *keys)


@dataclass(frozen=True)
class UnmaskReply(fields.Plain):
    """A party's shares for one round: of the self-masks of the survivors, and of the mask keys of the dropouts."""

    round: int
    self_shares: dict[str, bytes]
    key_shares: dict[str, bytes]

    def __post_init__(self) -> None:
        fields.integer(self.round, "round", 0, fields.MAX_ROUNDS - 1)
        for share in (*self.self_shares.values(), *self.key_shares.values()):
            fields.sized(share, "a share", SEED_BYTES)


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
