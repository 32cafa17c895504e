"""Hand-made tf.train.Example messages."""

import struct


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(value):
    """Return a Feature: text is a bytes_list (1), a float a packed float_list (2), an integer a packed int64_list (3)."""
    if isinstance(value, str):
        return field(1, field(1, value.encode()))
    if isinstance(value, float):
        return field(2, field(1, struct.pack("<f", value)))
    return field(3, field(1, varint(value)))


def example(**values):
    entries = (field(1, name.encode()) + field(2, feature(value)) for name, value in values.items())
    return field(1, b"".join(field(1, entry) for entry in entries))
