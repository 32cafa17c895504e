"""The text fields of a serialized tf.train.Example, read without tensorflow.

An Example is a map from names to features; only features that are lists of bytes are read. Numbers in comments are field numbers.
"""

from collections.abc import Iterator

from feddp_kmeans.errors import InputError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def text_features(message: bytes) -> dict[str, str]:
    """Return the first value of each bytes feature as text; numeric features are left out."""
    texts: dict[str, str] = {}
    for features in _fields(message, 1):  # Example.features
        for entry in _fields(features, 1):  # Features.feature, a map
            name = b"".join(_fields(entry, 1))  # key
            for feature in _fields(entry, 2):  # value
                for values in _fields(feature, 1):  # Feature.bytes_list
                    first = next(_fields(values, 1), b"")  # BytesList.value
                    texts[name.decode("utf-8", "replace")] = first.decode("utf-8", "replace")
    return texts


def _fields(message: bytes, number: int) -> Iterator[bytes]:
    """Yield the length-delimited fields of this number; skip all others."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == _BYTES:
            size, place = _varint(message, place)
            if place + size > len(message):
                raise InputError(f"message must hold whole fields, got {len(message) - place} bytes of {size}.")
            if tag >> 3 == number:
                yield message[place : place + size]
            place += size
        elif kind == _VARINT:
            _, place = _varint(message, place)
        elif kind in (_FIXED32, _FIXED64):
            place += 4 if kind == _FIXED32 else 8
        else:
            raise InputError(f"message must be a tf.train.Example, got a field of wire type {kind}.")


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Return the number that starts here, and the place after it."""
    value = shift = 0
    while place < len(message) and shift < 70:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
    raise InputError("message must hold whole numbers, got one that does not end.")
