"""Encrypted messages between parties: one from each party to each other party, with its shares for all rounds."""

import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields, masks
from feddp_kmeans.network.secure_sum.masks import SEED_BYTES
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms

_NONCE_BYTES = 12

Pairs = list[tuple[bytes, bytes]]
"""A mask-key seed and a self-mask seed, or one share of each, for each of the session's last rounds, which are still to come."""


@dataclass(frozen=True)
class Channels:
    """The encrypted messages of one party, which knows its own private key and all public keys."""

    name: str
    terms: SessionTerms
    private: bytes
    publics: dict[str, bytes]
    view: bytes

    def seal(self, receiver: str, pairs: Pairs) -> bytes:
        """Return the message to another party, with its shares for all rounds."""
        nonce = os.urandom(_NONCE_BYTES)
        plain = b"".join(share for pair in pairs for share in pair)
        cipher, bound = self._cipher(receiver, self.name, receiver)
        return nonce + cipher.encrypt(nonce, plain, bound)

    def open(self, sender: str, message: bytes) -> Pairs:
        """Return the shares in another party's message."""
        cipher, bound = self._cipher(sender, sender, self.name)
        try:
            plain = cipher.decrypt(message[:_NONCE_BYTES], message[_NONCE_BYTES:], bound)
        except (InvalidTag, ValueError):
            plain = b""
        if len(plain) != 2 * SEED_BYTES * self.terms.rounds:
            raise InputError(f"the message of {sender!r} must be whole, for {self.name!r} and under the same adverts, got another.")
        shares = [plain[start : start + SEED_BYTES] for start in range(0, len(plain), SEED_BYTES)]
        return list(zip(shares[::2], shares[1::2], strict=True))

    def _cipher(self, other: str, sender: str, receiver: str) -> tuple[ChaCha20Poly1305, bytes]:
        """Return the cipher of one message and its associated data."""
        key = masks.channel_key(self.private, self.publics[other], self.view, sender, receiver)
        return ChaCha20Poly1305(key), fields.encode(self.terms.session, sender, receiver)
