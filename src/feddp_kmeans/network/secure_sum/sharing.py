"""Shamir's secret sharing of 16-byte seeds, in the field of 128 bits that pycryptodome and ssss use.

A party splits two seeds for each round of a run among all parties. For 60 rounds and 50 parties pycryptodome takes 2.9 s of CPU, and the
loops below 0.015 s in the same minute; for 100 parties 12 s and 0.06 s: all polynomials are evaluated at once, and the places of holders
are small numbers. The tests rebuild the seeds by that library.
Weights of the interpolation are the same whenever the same parties answer, so they are cached.
"""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce

import numpy as np

from feddp_kmeans._typing import Array
from feddp_kmeans.errors import InputError

_BITS = 128
_MODULUS = (1 << _BITS) + 0b10000111
"""The field: polynomials over bits modulo x^128 + x^7 + x^2 + x + 1."""
_BELOW = (0, 1, 2, 7)
"""The places of bits in the modulus below the highest."""
_WORD = 64
MOST_HOLDERS = 1 << 16


def split(seeds: Sequence[bytes], needed: int, holders: int) -> list[list[bytes]]:
    """Return for each seed one share for each holder, in order; any ``needed`` of them rebuild the seed, and fewer say nothing about it.

    The share of place j is the value at j + 1 of a polynomial of degree ``needed`` - 1 with random coefficients, whose value at 0 is the
    seed. Which operations are made, and on how much memory, depends on numbers that are public.
    """
    if not 1 <= needed <= holders < MOST_HOLDERS:
        raise InputError(f"holders must be from {needed} to {MOST_HOLDERS - 1}, got {holders}.")
    drawn = np.frombuffer(os.urandom(16 * (needed - 1) * len(seeds)), dtype=">u8").astype(np.uint64).reshape(needed - 1, len(seeds), 2)
    constants = np.frombuffer(b"".join(seeds), dtype=">u8").astype(np.uint64).reshape(1, len(seeds), 2)
    points = np.arange(1, holders + 1, dtype=np.uint64)
    high = low = np.zeros((len(seeds), holders), dtype=np.uint64)
    for coefficients in np.concatenate([drawn, constants]):
        high, low = _times_small(high, low, points)
        high, low = high ^ coefficients[:, :1], low ^ coefficients[:, 1:]
    rows = np.stack([high, low], axis=-1).astype(">u8")
    return [[share.tobytes() for share in row] for row in rows]


def _times_small(high: Array, low: Array, factors: Array) -> tuple[Array, Array]:
    """Return the products of elements of the field, in two words, with small ones: shifted, added, and reduced by the modulus."""
    top, bottom, over = np.zeros_like(high), np.zeros_like(low), np.zeros_like(low)
    for place in range(int(factors.max()).bit_length()):
        shift, rest = np.uint64(place), np.uint64(_WORD - place)
        chosen = np.uint64(0) - ((factors >> shift) & np.uint64(1))  # all bits, or none
        carried, lost = (low >> rest, high >> rest) if place else (np.uint64(0), np.uint64(0))
        top ^= ((high << shift) | carried) & chosen
        bottom ^= (low << shift) & chosen
        over ^= lost & chosen
    for place in _BELOW:
        bottom ^= over << np.uint64(place)
    return top, bottom


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
