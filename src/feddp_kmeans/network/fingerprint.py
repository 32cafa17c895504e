"""Digests as words that people can read to each other over the phone: five letters for every 16 bits, which can be pronounced.

The words are proquints (Wilkerson, "A Proposal for Proquints", 2009): consonant, vowel, consonant, vowel, consonant.
"""

import hashlib

_CONSONANTS, _VOWELS = "bdfghjklmnprstvz", "aiou"

KEY_WORDS = 5
"""Words of one key, 80 bits: who wants to pass off another key as this one has to try about 2^80 keys."""

ROSTER_WORDS = 8
"""Words of a roster, 128 bits: a server chooses parts of it itself, and might look for any two with the same words, in about 2^64 tries."""


def in_words(content: bytes, words: int = KEY_WORDS) -> str:
    """Return the first bits of the SHA-256 digest of some content as this many words.

    >>> in_words(b"an example")
    'lasub-bodud-zidas-dipav-lufih'

    """
    digest = hashlib.sha256(content).digest()
    return "-".join(_word(int.from_bytes(digest[2 * place : 2 * place + 2])) for place in range(words))


def same_words(one: str, other: str) -> bool:
    """Return whether two people mean the same words, however they write them down."""
    return _letters(one) == _letters(other)


def _word(number: int) -> str:
    return "".join(
        (_CONSONANTS[number >> shift & 15] if shift in {12, 6, 0} else _VOWELS[number >> shift & 3]) for shift in (12, 10, 6, 4, 0)
    )


def _letters(words: str) -> str:
    return "".join(letter for letter in words.lower() if letter.isalnum())
