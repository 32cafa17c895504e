"""Shamir's secret sharing of 16-byte seeds, by pycryptodome."""

from collections.abc import Mapping
from typing import Any

from feddp_kmeans._errors import FedDPError


def split(seed: bytes, needed: int, holders: int) -> list[bytes]:
    """Return one share for each holder, in order; any ``needed`` of them rebuild the seed and fewer tell nothing of it."""
    return [share for _, share in _shamir().split(needed, holders, seed)]


def join(shares: Mapping[int, bytes]) -> bytes:
    """Return the seed of exactly as many shares as are needed, each under its holder's place, counted from 0."""
    seed: bytes = _shamir().combine([(place + 1, share) for place, share in shares.items()])
    return seed


def _shamir() -> Any:
    try:
        from Crypto.Protocol.SecretSharing import Shamir
    except ImportError:
        raise FedDPError("the secure sum must have pycryptodome; install feddp-kmeans[flower].") from None
    return Shamir
