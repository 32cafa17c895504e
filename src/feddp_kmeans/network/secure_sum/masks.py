"""Keys and masks that are derived from a seed or a key agreement. Each derived key serves one purpose, round and pair of names."""

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from feddp_kmeans._typing import Array
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields

KEY_BYTES = 32
"""Length of an X25519 key, of a ChaCha20 key and of a SHA-256 digest."""

SEED_BYTES = 16
"""Length of a seed: what one Shamir split takes."""


def derive(material: bytes, purpose: str, *context: bytes | str | int) -> bytes:
    """Return the 32-byte key of this purpose and context."""
    return HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=fields.statement(purpose, *context)).derive(material)


def mask_private_key(seed: bytes, session: bytes, round_: int, name: str) -> bytes:
    """Return the X25519 private key of a party's mask-key seed."""
    return derive(seed, "mask key", session, round_, name)


def public_key(private: bytes) -> bytes:
    """Return the public half of an X25519 private key."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def agree(private: bytes, public: bytes) -> bytes:
    """Return the X25519 secret of two parties; a public key that forces a known secret is refused."""
    try:
        return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise InputError("a public key must be a point of full order, got one that fixes the secret.") from None


def channel_key(private: bytes, public: bytes, view: bytes, sender: str, receiver: str) -> bytes:
    """Return the key of the only message from sender to receiver. Parties that saw different adverts get different keys."""
    return derive(agree(private, public), "shares", view, sender, receiver)


def pair_key(private: bytes, public: bytes, session: bytes, round_: int, query: bytes, one: str, other: str) -> bytes:
    """Return the key of the mask that two parties share in a round, if both were asked the same query."""
    return derive(agree(private, public), "pair mask", session, round_, query, *sorted((one, other)))


def self_key(seed: bytes, session: bytes, round_: int, name: str) -> bytes:
    """Return the key of a party's own mask of a round."""
    return derive(seed, "self mask", session, round_, name)


def self_check(seed: bytes, session: bytes, round_: int, name: str) -> bytes:
    """Return the public check of a self-mask seed: it detects a wrongly rebuilt seed and says nothing else of it."""
    return derive(seed, "self check", session, round_, name)


def ring_values(values: Array) -> Array:
    """Return a copy of one-dimensional 64-bit integers as integers modulo 2**64."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype not in (np.int64, np.uint64):
        raise InputError(f"values must be one row of 64-bit integers, got {array.dtype} of shape {array.shape}.")
    return array.astype(np.uint64)


def mask(key: bytes, size: int) -> Array:
    """Return ``size`` uniform integers modulo 2**64: the ChaCha20 key stream of a key without any other use."""
    stream = bytearray(8 * size)
    Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update_into(bytes(8 * size), stream)
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64, copy=False)


def add_pair_mask(total: Array, key: bytes, one: str, other: str) -> None:
    """Add, in place, what ``one`` adds for its pair with ``other``: the mask, or its negative for the later name."""
    stream = mask(key, len(total))
    if one < other:
        total += stream
    else:
        total -= stream
