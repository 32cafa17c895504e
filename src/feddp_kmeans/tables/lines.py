"""Lines of a text file, in blocks of whole lines and in bounded memory. Where a line ends depends on its own bytes only."""

from collections.abc import Callable, Iterator
from typing import BinaryIO

MOST_LINE = 1 << 24
"""Bytes of the longest line that is read; a longer one is left out."""
_BLOCK = 1 << 19
"""Bytes that are read at once; at most ``MOST_LINE``."""

Count = Callable[[int], object]
"""Takes how many lines were left out."""


def silent(_: object) -> None:
    """Take something and do nothing with it."""


def line_blocks(file: BinaryIO, newline: bytes = b"\n", left_out: Count = silent) -> Iterator[bytes]:
    """Yield blocks of whole lines, each with its end; one end is added where the last line has none."""
    rest, too_long, split = b"", False, len(newline) - 1
    carriage = newline.replace(b"\n", b"\r")  # part of the end of a line, where it stands there
    while part := file.read(_BLOCK):
        rest += part
        if too_long:
            end = rest.find(newline)
            too_long = end < 0
            rest = rest[len(rest) - split :] if too_long else rest[end + len(newline) :]
            if too_long:
                continue
        cut = rest.rfind(newline) + len(newline) if newline in rest else 0
        block, rest = rest[:cut], rest[cut:]
        # The first line began in an earlier block: no other line of this one can be too long.
        if len(block[: max(0, block.find(newline))].removesuffix(carriage)) > MOST_LINE:
            block = block[block.find(newline) + len(newline) :]
            left_out(1)
        if len(rest) > MOST_LINE + len(carriage) + split:  # not a byte earlier: the end of the line may have come in part
            too_long, rest = True, rest[len(rest) - split :]
            left_out(1)
        if block:
            yield block
    if rest and not too_long:
        if len(rest.removesuffix(carriage)) > MOST_LINE:
            left_out(1)
        else:
            yield rest + newline
