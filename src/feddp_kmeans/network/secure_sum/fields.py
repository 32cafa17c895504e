"""What crosses the network, taken apart strictly: anything malformed is refused in one line."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from feddp_kmeans.errors import InputError

MAX_NAME = 200
"""Longest name of a party, in characters."""

MAX_ROUNDS = 1 << 16
"""Most rounds of a session."""


def encode(*parts: bytes | str | int) -> bytes:
    """Return the parts as one byte string, each with its length in front, so that no two lists of parts give the same bytes."""
    encoded = bytearray()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part.to_bytes(8, "big") if isinstance(part, int) else part
        encoded += len(raw).to_bytes(8, "big") + raw
    return bytes(encoded)


def statement(purpose: str, *parts: bytes | str | int) -> bytes:
    """Return the parts as one byte string that means something for this purpose only: what is signed, hashed or derived from."""
    return encode("feddp-kmeans secure sum 1", purpose, *parts)


def fields(given: Any, what: str, names: Sequence[str]) -> Mapping[str, Any]:
    """Return a mapping that has exactly these fields."""
    if not isinstance(given, Mapping) or set(given) != set(names):
        raise InputError(f"{what} must have the fields {', '.join(names)}, got {_short(given)}.")
    return given


def table(given: Any, what: str) -> Mapping[str, Any]:
    """Return a mapping whose keys are names of parties."""
    if not isinstance(given, Mapping):
        raise InputError(f"{what} must be a mapping, got {_short(given)}.")
    for key in given:
        name(key, f"a name of {what}")
    return given


def name(given: Any, what: str) -> str:
    """Return the name of a party."""
    if not isinstance(given, str) or not 0 < len(given) <= MAX_NAME or not given.isprintable():
        raise InputError(f"{what} must be 1 to {MAX_NAME} printable characters, got {_short(given)}.")
    return given


def names(given: Any, what: str) -> tuple[str, ...]:
    """Return names of parties that are distinct and sorted."""
    checked = tuple(name(entry, f"a name of {what}") for entry in items(given, what))
    if any(a >= b for a, b in pairwise(checked)):
        raise InputError(f"{what} must be distinct and sorted, got {_short(given)}.")
    return checked


def items(given: Any, what: str, length: int | None = None) -> Sequence[Any]:
    """Return a list or tuple, of this length where one is given."""
    if not isinstance(given, list | tuple) or (length is not None and len(given) != length):
        size = "" if length is None else f" of {length}"
        raise InputError(f"{what} must be a list{size}, got {_short(given)}.")
    return given


def integer(given: Any, what: str, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``."""
    if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
        raise InputError(f"{what} must be a whole number from {low} to {high}, got {_short(given)}.")
    return given


def text(given: Any, what: str) -> str:
    """Return text of at most as many characters as a name."""
    if not isinstance(given, str) or len(given) > MAX_NAME:
        raise InputError(f"{what} must be text of at most {MAX_NAME} characters, got {_short(given)}.")
    return given


def boolean(given: Any, what: str) -> bool:
    """Return true or false."""
    if not isinstance(given, bool):
        raise InputError(f"{what} must be true or false, got {_short(given)}.")
    return given


def raw(given: Any, what: str, size: int | None = None) -> bytes:
    """Return bytes, of this size where one is given."""
    if not isinstance(given, bytes) or (size is not None and len(given) != size):
        raise InputError(f"{what} must be {'' if size is None else f'{size} '}bytes, got {_short(given)}.")
    return given


def from_hex(given: Any, what: str, size: int | None = None) -> bytes:
    """Return the bytes that lower-case hexadecimal digits state."""
    try:
        value = bytes.fromhex(given)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be hexadecimal digits, got {_short(given)}.") from None
    if value.hex() != given:
        raise InputError(f"{what} must be lower-case hexadecimal digits, got {_short(given)}.")
    return raw(value, what, size)


def _short(given: Any) -> str:
    """Return what was given in a few characters; of bytes, which may be secret, only their number."""
    if isinstance(given, bytes | bytearray):
        return f"{len(given)} bytes"
    if isinstance(given, Mapping | list | tuple | set):
        return f"a {type(given).__name__} of {len(given)}"
    if isinstance(given, str):
        return f"text of {len(given)} characters"
    return f"{given!r}"[:40]
