"""Shamir's secret sharing of 16-byte seeds: split by pycryptodome, rebuilt here.

Splitting handles secrets and is left to the library. Rebuilding is done by the server for every party in every round, on seeds that it may
know. Most of its cost are the weights of the interpolation. They are the same whenever the same parties answer, so they are cached here.
"""

from collections.abc import Mapping
from functools import lru_cache, reduce

from feddp_kmeans.errors import InputError

_BITS = 128
_MODULUS = (1 << _BITS) + 0b10000111
"""The field of pycryptodome's shares: polynomials over bits modulo x^128 + x^7 + x^2 + x + 1."""


def split(seed: bytes, needed: int, holders: int) -> list[bytes]:
    """Return one share for each holder, in order; any ``needed`` of them rebuild the seed, and fewer say nothing about it."""
    try:
        from Crypto.Protocol.SecretSharing import Shamir
    except ImportError:
        raise InputError("the secure sum must have pycryptodome; install feddp-kmeans[flower].") from None
    return [share for _, share in Shamir.split(needed, holders, seed, ssss=False)]


def join(shares: Mapping[int, bytes]) -> bytes:
    """Return the seed of exactly as many shares as are needed, each under its holder's place, counted from 0."""
    seed = 0
    for weight, share in zip(_weights(tuple(shares)), shares.values(), strict=True):
        seed ^= _times(weight, int.from_bytes(share, "big"))
    return seed.to_bytes(_BITS // 8, "big")


@lru_cache(maxsize=1024)
def _weights(places: tuple[int, ...]) -> list[int]:
    """Return the weight of each share: Lagrange's polynomials at 0, the product of all x over x_j times the product of all x + x_j."""
    points = [place + 1 for place in places]
    everything = reduce(_times, points)
    below = [reduce(_times, [x ^ other for other in points if other != x], x) for x in points]
    return [_times(everything, _inverse(product)) for product in below]


def _inverse(element: int) -> int:
    """Return the inverse of an element of the field, by Euclid's extended algorithm on polynomials."""
    rest, other, inverse, factor = element, _MODULUS, 1, 0
    while rest != 1:
        shift = rest.bit_length() - other.bit_length()
        if shift < 0:
            rest, other, inverse, factor, shift = other, rest, factor, inverse, -shift
        rest ^= other << shift
        inverse ^= factor << shift
    return inverse


def _times(one: int, other: int) -> int:
    """Return the product of two elements of the field."""
    if one < other:
        one, other = other, one
    product = 0
    while other:
        if other & 1:
            product ^= one
        one <<= 1
        if one >> _BITS:
            one ^= _MODULUS
        other >>= 1
    return product
