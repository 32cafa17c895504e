"""Conversion of dataclasses to plain data, and strict parsing of what came from the network."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from feddp_kmeans.errors import InputError

MAX_NAME = 200
"""Longest name of a party, in characters."""

MAX_ROUNDS = 1 << 16
"""Most rounds of a session."""


def encode(*parts: bytes | str | int) -> bytes:
    """Return the parts as one byte string, each after its length, so that different lists of parts give different bytes."""
    encoded = bytearray()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part.to_bytes(8, "big") if isinstance(part, int) else part
        encoded += len(raw).to_bytes(8, "big") + raw
    return bytes(encoded)


def statement(purpose: str, *parts: bytes | str | int) -> bytes:
    """Return the parts as one byte string for this purpose only, to be signed, hashed or used to derive a key."""
    return encode("feddp-kmeans secure sum 1", purpose, *parts)


class Plain:
    """A dataclass that is sent or stored as plain data, as the types of its fields describe."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values: bytes as hexadecimal digits, tuples as lists, names without a leading underscore."""
        found: dict[str, Any] = plain(self)
        return found

    @classmethod
    def from_dict(cls, given: Any) -> Self:
        """Return the object that this plain data states; refuse anything else."""
        found: Self = parsed(cls, given, cls.__name__)
        return found


def plain(value: Any) -> Any:
    """Return a value as JSON values."""
    kind: Any = type(value)
    if kind is bytes:
        return value.hex()
    if kind in (list, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Plain):
        return {key: plain(getattr(value, name)) for key, (name, _) in _fields_of(kind).items()}
    return {key: plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def parsed(kind: Any, given: Any, what: str) -> Any:
    """Return the value of this type that plain data states; refuse anything else."""
    return _parser(kind)(given, what)


_Parser = Callable[[Any, str], Any]


@cache
def _parser(kind: Any) -> _Parser:
    """Return what parses plain data as this type: a site's state has ten thousand values, and is read at every message."""
    inner, shape = get_args(kind), get_origin(kind) or kind
    if kind is Any:
        return lambda given, _: given
    if shape is UnionType:
        some = _parser(inner[0])
        return lambda given, what: None if given is None else some(given, what)
    if issubclass(shape, Plain):
        return _object_parser(shape)
    expected, is_right = {bytes: str, tuple: list}.get(shape, shape), _is_hex if shape is bytes else _is_text
    items: _Parser = _item_parser(shape, inner) if inner else lambda given, _: bytes.fromhex(given) if shape is bytes else given

    def parse(given: Any, what: str) -> Any:
        if type(given) is not expected or (expected is str and not is_right(given)):
            raise InputError(f"{what} must be {_WORDS[shape]}, got {_short(given)}.")
        return items(given, what)

    return parse


def _object_parser(shape: type) -> _Parser:
    known = {key: (name, _parser(hint)) for key, (name, hint) in _fields_of(shape).items()}

    def parse(given: Any, what: str) -> Any:
        if type(given) is not dict or given.keys() != known.keys():
            raise InputError(f"{what} must have the fields {', '.join(known)}, got {_short(given)}.")
        return shape(**{name: parser(given[key], key) for key, (name, parser) in known.items()})

    return parse


def _item_parser(shape: type, inner: tuple[Any, ...]) -> _Parser:
    """Return what parses a mapping, a list or a tuple whose entries are of these types."""
    kinds = [_parser(kind) for kind in inner if kind is not Ellipsis]
    if shape is dict:
        return lambda given, what: {kinds[0](key, what): kinds[1](item, what) for key, item in given.items()}
    if shape is list or inner[-1] is Ellipsis:
        return lambda given, what: shape([kinds[0](item, what) for item in given])

    def parse(given: Any, what: str) -> Any:
        if len(kinds) != len(given):
            raise InputError(f"{what} must be a list of {len(kinds)}, got {_short(given)}.")
        return tuple(kind(item, what) for kind, item in zip(kinds, given, strict=True))

    return parse


_WORDS = {bytes: "hexadecimal digits", str: "text", int: "a whole number", bool: "true or false", dict: "a mapping"}
_WORDS |= {tuple: "a list", list: "a list"}


@cache
def _fields_of(kind: type) -> dict[str, tuple[str, Any]]:
    """Return the name in the class and the type of each field, by its name in plain data."""
    hints = get_type_hints(kind)
    return {field.name.removeprefix("_"): (field.name, hints[field.name]) for field in dataclasses.fields(kind)}


def _is_hex(given: str) -> bool:
    """Return whether ``bytes.hex`` would write this."""
    try:
        return bytes.fromhex(given).hex() == given
    except ValueError:
        return False


def _is_text(given: str) -> bool:
    """Return whether text can be written as bytes: JSON can state halves of characters."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def name(given: Any, what: str) -> str:
    """Return the name of a party."""
    if not isinstance(given, str) or not 0 < len(given) <= MAX_NAME or not given.isprintable():
        raise InputError(f"{what} must be 1 to {MAX_NAME} printable characters, got {_short(given)}.")
    return given


def names(given: Any, what: str) -> tuple[str, ...]:
    """Return the names of parties, which must be distinct and sorted."""
    if not isinstance(given, list | tuple):
        raise InputError(f"{what} must be a list, got {_short(given)}.")
    checked = tuple(name(entry, f"a name of {what}") for entry in given)
    if any(a >= b for a, b in pairwise(checked)):
        raise InputError(f"{what} must be distinct and sorted, got {_short(given)}.")
    return checked


def integer(given: Any, what: str, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``."""
    if type(given) is not int or not low <= given <= high:
        raise InputError(f"{what} must be a whole number from {low} to {high}, got {_short(given)}.")
    return given


def sized(given: bytes, what: str, size: int) -> bytes:
    """Return bytes, which must be of this size."""
    if len(given) != size:
        raise InputError(f"{what} must be {size} bytes, got {len(given)}.")
    return given


def _short(given: Any) -> str:
    """Return a short description of a value; of text and bytes, which may be secret, only their length."""
    if isinstance(given, bytes | str):
        return f"{type(given).__name__} of {len(given)}"
    if isinstance(given, Mapping | list | tuple):
        return f"a {type(given).__name__} of {len(given)}"
    return f"{given!r}"[:40]
