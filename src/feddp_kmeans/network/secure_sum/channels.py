"""The encrypted messages between parties: one from each to each of its neighbours, with its shares of all rounds."""

import os
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields, masks
from feddp_kmeans.network.secure_sum.masks import SEED_BYTES
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms

_NONCE_BYTES = 12

Pairs = dict[int, tuple[bytes, bytes]]
"""For each round that is still to come, a mask-key seed and a self-mask seed; or one share of each."""


@dataclass(frozen=True)
class Channels:
    """The encrypted messages of one party, which knows its own private key and everybody's public ones."""

    name: str
    terms: SessionTerms
    private: bytes
    publics: dict[str, bytes]
    view: bytes

    def seal(self, receiver: str, pairs: Pairs) -> bytes:
        """Return the message to a neighbour: its shares of all rounds."""
        nonce = os.urandom(_NONCE_BYTES)
        plain = b"".join(share for r in sorted(pairs) for share in pairs[r])
        return nonce + self._cipher(receiver, self.name, receiver).encrypt(nonce, plain, self._bound(self.name, receiver))

    def open(self, sender: str, ciphertext: bytes) -> Pairs:
        """Return the shares in a neighbour's message."""
        whole = fields.raw(ciphertext, f"the message of {sender!r}")
        try:
            cipher = self._cipher(sender, sender, self.name)
            plain = cipher.decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], self._bound(sender, self.name))
        except (InvalidTag, ValueError):
            plain = b""
        if len(plain) != 2 * SEED_BYTES * self.terms.rounds:
            raise InputError(f"the message of {sender!r} must be whole, for {self.name!r} and under the same adverts, got another.")
        shares = [plain[start : start + SEED_BYTES] for start in range(0, len(plain), SEED_BYTES)]
        return {r: (shares[2 * r], shares[2 * r + 1]) for r in range(self.terms.rounds)}

    def _cipher(self, other: str, sender: str, receiver: str) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(masks.channel_key(self.private, self.publics[other], self.view, sender, receiver))

    def _bound(self, sender: str, receiver: str) -> bytes:
        return fields.encode(self.terms.session, sender, receiver)


def pairs_to_list(pairs: Pairs) -> list[list[str]]:
    """Return the last rounds' pairs as hexadecimal digits, in order."""
    return [[part.hex() for part in pairs[r]] for r in sorted(pairs)]


def pairs_from_list(given: Any, rounds: int) -> Pairs:
    """Return the pairs of the last rounds."""
    rows = fields.items(given, "pairs of seeds")
    first = rounds - len(rows)
    if first < 0:
        raise InputError(f"pairs of seeds must be at most {rounds}, got {len(rows)}.")
    pairs: Pairs = {}
    for r, row in enumerate(rows, first):
        one, other = (fields.from_hex(part, "a seed", SEED_BYTES) for part in fields.items(row, "a pair of seeds", 2))
        pairs[r] = one, other
    return pairs
