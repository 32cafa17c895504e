"""Delimited text files. Each line is one row; what it means depends only on that line and on the header, which is public.

The header decides encoding, delimiter, decimal mark and names. Lines end with a line feed. Every cell is text. A line that does not parse,
or has more or fewer cells than the header, is left out, and no other line with it; an unclosed quote ends with its line.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_numbers

MOST_LINE = 1 << 24
"""Maximum length of a line in bytes; longer lines are left out."""
_BLOCK = 1 << 19
"""Bytes read at a time; at most ``MOST_LINE``."""

Count = Callable[[int], object]
"""Receives the number of lines left out."""

DELIMITERS = ",;\t|"
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def silent(_: object) -> None:
    """Ignore the argument."""


def line_blocks(file: BinaryIO, newline: bytes = b"\n", left_out: Count = silent) -> Iterator[bytes]:
    """Yield blocks of complete lines with their newlines; a missing newline at the end of the file is added."""
    carriage = newline.replace(b"\n", b"\r")  # belongs to the newline, not to the line's length
    rest, split = b"", len(newline) - 1

    def is_long(line: bytes) -> bool:
        return len(line.removesuffix(carriage)) > MOST_LINE

    while part := file.read(_BLOCK):
        block, end, rest = (rest + part).rpartition(newline)
        block += end
        first, _, others = block.partition(newline)
        if is_long(first):  # only the first line can be: it may have begun in an earlier block
            block = others
            left_out(1)
        if block:
            yield block
        if len(rest) > MOST_LINE + len(carriage) + split:  # too long already; its last byte may be half a newline
            rest = b"x" * (MOST_LINE + 1) + rest[len(rest) - split :]
    if is_long(rest):
        left_out(1)
    elif rest:
        yield rest + newline


def read_header(path: Path) -> "CsvFile":
    """Return a delimited text file with what its first line decides about reading the others."""
    too_long: list[int] = []
    with path.open("rb") as file:
        start = file.read(3)
        mark = next((mark for mark in _MARKS if start.startswith(mark)), b"")
        encoding = _MARKS.get(mark, "utf-8")
        file.seek(len(mark))
        line, end, _ = next(line_blocks(file, _newline(encoding), too_long.append), b"").partition(_newline(encoding))
    header = line.decode(encoding).removesuffix("\r")
    delimiter = max(DELIMITERS, key="".join(header.split('"')[::2]).count)
    plain = header.encode() + b"\n"
    if too_long or not _grammar(delimiter).fullmatch(plain):
        raise InputError(f"{path.name} must start with one line that names its columns, of at most {MOST_LINE} bytes.")
    options = pa_csv.ReadOptions(block_size=len(plain) + 1, use_threads=False)
    parsed = pa_csv.read_csv(pa.py_buffer(plain), read_options=options, parse_options=pa_csv.ParseOptions(delimiter=delimiter))
    found = CsvFile(path, encoding, delimiter, parsed.column_names, len(mark + line + end))
    if _is_row(found.names, found.decimal):
        raise InputError(f"{path.name} must start with a line that names its columns, got a row of numbers.")
    return found


@dataclass(frozen=True)
class CsvFile:
    """One delimited text file with a header."""

    path: Path
    encoding: str
    """As stated by the byte order mark; UTF-8 if there is none."""
    delimiter: str
    """The most frequent candidate in the header, outside quotes; a comma if there is none."""
    names: list[str]
    start: int
    """Byte offset of the first row."""

    @property
    def decimal(self) -> str:
        """Return the decimal mark allowed besides a point: a comma, unless the comma is the delimiter."""
        return "." if self.delimiter == "," else ","

    def batches(self, columns: Sequence[str], rows: int, left_out: Count = silent) -> Iterator[pa.Table]:
        """Yield these columns as text, at most ``rows`` rows at a time; ``left_out`` receives the number of lines left out."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            for block in line_blocks(file, _newline(self.encoding), left_out):
                if lines := self._sound(block, left_out):
                    table = self._parsed(lines, columns, left_out)
                    for start in range(0, table.num_rows, rows):
                        yield table.slice(start, rows)

    def _sound(self, block: bytes, left_out: Count) -> bytes:
        """Return the lines of a block that parse, as UTF-8, each with a line feed."""
        if self.encoding != "utf-8":
            lines = block.split(_newline(self.encoding))
            whole = [line for line in lines if len(line) % 2 == 0]  # an odd length means that it was cut inside a character
            left_out(len(lines) - len(whole))
            block = "\n".join(line.decode(self.encoding, "replace") for line in whole).encode()
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if b'"' in block or b"\r" in block:
            kept, n_lines = _grammar(self.delimiter).findall(block), block.count(b"\n")
            left_out(n_lines - len(kept))
            block = b"".join(kept)
        return block if block.isascii() else block.decode("utf-8", "replace").encode()

    def _parsed(self, lines: bytes, columns: Sequence[str], left_out: Count) -> pa.Table:
        def skip(_: object) -> str:
            left_out(1)
            return "skip"

        # Arrow strips a byte order mark. We add one for it: otherwise it could strip one that belongs to the first cell of a block.
        marked = codecs.BOM_UTF8 + lines
        table = pa_csv.read_csv(
            pa.py_buffer(marked),
            read_options=pa_csv.ReadOptions(column_names=self.names, block_size=len(marked) + 1, use_threads=False),
            parse_options=pa_csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=skip),
            convert_options=pa_csv.ConvertOptions(
                include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False, check_utf8=False
            ),
        )
        return table.replace_schema_metadata({"decimal": self.decimal})


def _newline(encoding: str) -> bytes:
    return "\n".encode(encoding)


def _grammar(delimiter: str) -> re.Pattern[bytes]:
    """Return the grammar of a line: cells are unquoted, or quoted with inner quotes doubled."""
    mark = re.escape(delimiter.encode())
    cell = rb'(?:"[^"\r\n]*+(?:""[^"\r\n]*+)*+"|[^"\r\n%b][^\r\n%b]*+|)' % (mark, mark)
    return re.compile(rb"^%b(?:%b%b)*+\n" % (cell, mark, cell), re.MULTILINE)


def _is_row(names: list[str], decimal: str) -> bool:
    """Return whether the header looks like a row of data. Numbers can be names, but then they are sorted, such as years."""
    numbers = as_numbers(pa.array(names, pa.string()), decimal)
    steps = np.sign(np.diff(numbers[np.isfinite(numbers)]))
    return bool(len(steps) and (steps[0] == 0 or (steps != steps[0]).any()))
