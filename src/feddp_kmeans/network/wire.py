"""Messages between server and clients as bytes: a kind, plain values, and arrays of numbers. They hold data and no code.

Layout: a magic word, the length of a JSON header, the header, then the raw little-endian numbers of all arrays. The length of a message
depends on the shapes of its arrays, but not on their numbers.
"""

import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans._typing import Array
from feddp_kmeans.errors import InputError

PROTOCOL = 5
"""Version of the messages; server and sites must have the same one."""

_MAGIC = b"feddp%d\n" % PROTOCOL
_ANY_MAGIC = re.compile(rb"feddp([0-9]{1,9})\n")
_LENGTH = struct.Struct("<Q")
_DTYPES = {"<f8", "<i8", "<u8"}
_BYTES = "bytes"
_LARGEST = 1 << 31
"""Bytes of the largest message."""


@dataclass(frozen=True)
class Envelope:
    """One message."""

    kind: str
    fields: Mapping[str, Any]

    def get(self, name: str, kind: type) -> Any:
        """Return a field of this type; refuse anything else."""
        value = self.fields.get(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise InputError(f"field {name!r} of a {self.kind!r} message must be {kind.__name__}, got {type(value).__name__}.")
        return value


def pack(kind: str, **fields: Any) -> bytes:
    """Return the message as bytes. Values are JSON values, bytes, and arrays of float64, int64 or uint64."""
    plain: dict[str, Any] = {}
    blobs: list[tuple[str, str, list[int]]] = []
    parts: list[bytes] = []
    for name, value in fields.items():
        if isinstance(value, bytes):
            blobs.append((name, _BYTES, [len(value)]))
            parts.append(value)
        elif isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
            if array.dtype.str not in _DTYPES:
                raise InputError(f"array {name!r} of a message must be of 64-bit numbers, got {array.dtype}.")
            blobs.append((name, array.dtype.str, list(value.shape)))
            parts.append(array.tobytes())
        else:
            plain[name] = value.item() if isinstance(value, np.generic) else value
    header = json.dumps({"kind": kind, "plain": plain, "blobs": blobs}, allow_nan=False).encode()
    return b"".join([_MAGIC, _LENGTH.pack(len(header)), header, *parts])


def unpack(data: bytes) -> Envelope:
    """Return the message in these bytes; refuse anything else."""
    other = _ANY_MAGIC.match(data)
    if other and int(other[1]) != PROTOCOL:
        raise InputError(f"a message must be one of protocol {PROTOCOL}, got {int(other[1])}: server and site need the same feddp.")
    try:
        return _unpack(data)
    except (ValueError, TypeError, KeyError, struct.error, RecursionError, OverflowError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(f"a message must be one of protocol {PROTOCOL}, got one that cannot be read: {reason}.") from None


def _unpack(data: bytes) -> Envelope:
    start = len(_MAGIC) + _LENGTH.size
    if len(data) > _LARGEST or data[: len(_MAGIC)] != _MAGIC:
        raise ValueError("its first bytes are wrong, or it is too long")
    (length,) = _LENGTH.unpack(data[len(_MAGIC) : start])
    if start + length > len(data):
        raise ValueError("its header is cut off")
    header = json.loads(data[start : start + length])
    fields: dict[str, Any] = dict(header["plain"])
    place = start + length
    for name, kind, shape in header["blobs"]:
        if name in fields or not all(type(n) is int and 0 <= n <= _LARGEST for n in shape):
            raise ValueError("a name comes twice, or a shape is invalid")
        fields[str(name)], place = _blob(data, place, kind, shape)
    if place != len(data) or not isinstance(header["kind"], str):
        raise ValueError("its kind or its length is wrong")
    return Envelope(header["kind"], fields)


def _blob(data: bytes, place: int, kind: str, shape: list[int]) -> tuple[bytes | Array, int]:
    """Return the bytes or the array at a place, and the place after it."""
    if kind not in _DTYPES and (kind != _BYTES or len(shape) != 1):
        raise ValueError("an array is not of 64-bit numbers")
    end = place + math.prod(shape) * (1 if kind == _BYTES else 8)
    if end > len(data):
        raise ValueError("an array is cut off")
    content = data[place:end]
    return content if kind == _BYTES else np.frombuffer(content, dtype=kind).reshape(shape).copy(), end
