"""Delimited text files. Each line is one row; what it means depends only on that line and on the header, which is public.

Public options and the header decide encoding, delimiter, decimal mark and names. Lines end with a line feed. Every cell is text. A line
that does not parse, or has more or fewer cells than the header, is left out, and no other line with it; an unclosed quote ends with its
line.
Packed files are unpacked while they are read: no more than a block is held.
"""

import codecs
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from feddp_kmeans.errors import InputError, UnreadableFileError
from feddp_kmeans.tables.cells import NUMBERED, is_row
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading

PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Endings of packed text files, and what Arrow calls their packing."""

MOST_LINE = 1 << 24
"""Maximum length of a line in bytes; longer lines are left out."""
_BLOCK = 1 << 19
"""Bytes read at a time; at most ``MOST_LINE``."""

Count = Callable[[int], object]
"""Receives the number of lines left out."""

DELIMITERS = ",;\t|"
_STAND_IN = "\x1f"
"""Arrow splits at ASCII characters only: another delimiter is replaced by this separator of units, and this one by a blank."""
_HINT = re.compile(r'"?sep=(.)"?\r?')
"""A line before the header that tells Excel the delimiter."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before that of UTF-16, with which it starts
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


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


def read_header(path: Path, reading: Reading = AS_THE_HEADER_SAYS) -> "CsvFile":
    """Return a delimited text file with what its first line, and the public options, decide about reading the others."""
    with _opened(path) as file:
        head = file.read(4)
        mark = next((mark for mark in _MARKS if head.startswith(mark)), b"")
        encoding = _MARKS.get(mark) or reading.encoding or "utf-8"
        newline, start = _newline(encoding), len(mark)
        line, end, rest = _next_line(file, head[start:], newline)
        if hint := _HINT.fullmatch(line.decode(encoding, "replace")):
            start += len(line + end)
            line, end, _ = _next_line(file, rest, newline)
    try:
        header = line.decode(encoding).removesuffix("\r")
    except UnicodeDecodeError:
        header = "\0"
    if "\0" in header:
        other = "utf-16" if b"\0" in line else "cp1252 or latin-1"
        how = f"it is not {encoding}; name its encoding, such as --encoding {other}"
        raise UnreadableFileError(f"{path.name} must start with a line of text that names its columns: {how}.")
    hinted = Reading(hint[1]).delimiter if hint else None
    delimiter = reading.delimiter or hinted or max(DELIMITERS, key="".join(header.split('"')[::2]).count)
    found = CsvFile(path, encoding, delimiter, [], start + len(line + end))
    plain = found.split(header.encode() + b"\n")
    if len(header.encode(encoding)) > MOST_LINE or not _grammar(found.separator).fullmatch(plain):
        raise InputError(f"{path.name} must start with one line that names its columns, of at most {MOST_LINE} bytes.")
    options = pa_csv.ReadOptions(block_size=len(plain) + 1, use_threads=False)
    parsed = pa_csv.read_csv(pa.py_buffer(plain), read_options=options, parse_options=pa_csv.ParseOptions(delimiter=found.separator))
    found.names.extend(name.replace(_STAND_IN, delimiter).strip() for name in parsed.column_names)
    if is_row(found.names, found.decimal):
        raise InputError(f"{path.name} must start with a line that names its columns, got a row with numbers: {NUMBERED}.")
    return found


def _next_line(file: Any, head: bytes, newline: bytes) -> tuple[bytes, bytes, bytes]:
    """Return a line, its newline and what was read beyond it; ``head`` was read already."""
    while newline not in head and len(head) <= MOST_LINE + len(newline) and (part := file.read(_BLOCK)):
        head += part
    return head.partition(newline)


def _opened(path: Path) -> Any:
    """Return the bytes of a file, unpacked as they are read."""
    packing = PACKED.get(path.suffix.lower())
    return path.open("rb") if packing is None else pa.CompressedInputStream(pa.OSFile(str(path)), packing)


@dataclass(frozen=True)
class CsvFile:
    """One delimited text file with a header."""

    path: Path
    encoding: str
    """As stated by the byte order mark, or else by the options; otherwise UTF-8."""
    delimiter: str
    """As stated by the options, or else the most frequent candidate in the header, outside quotes; a comma if there is none."""
    names: list[str]
    """Without white space around them; empty for a column without a name."""
    start: int
    """Byte offset of the first row."""

    @property
    def decimal(self) -> str:
        """Return the decimal mark allowed besides a point: a comma, unless the comma is the delimiter."""
        return "." if self.delimiter == "," else ","

    @property
    def separator(self) -> str:
        """Return the ASCII character at which lines are split: the delimiter, or what stands for it."""
        return self.delimiter if self.delimiter.isascii() else _STAND_IN

    def split(self, lines: bytes) -> bytes:
        """Return lines of UTF-8 with the separator in place of the delimiter."""
        if self.delimiter.isascii():
            return lines
        return lines.replace(_STAND_IN.encode(), b" ").replace(self.delimiter.encode(), _STAND_IN.encode())

    def batches(self, columns: Sequence[str], rows: int, left_out: Count = silent) -> Iterator[pa.Table]:
        """Yield these columns as text, at most ``rows`` rows at a time; ``left_out`` receives the number of lines left out."""
        with _opened(self.path) as file:
            file.read(self.start)
            for block in line_blocks(file, _newline(self.encoding), left_out):
                if lines := self._sound(block, left_out):
                    table = self._parsed(lines, columns, left_out)
                    for start in range(0, table.num_rows, rows):
                        yield table.slice(start, rows)

    def _sound(self, block: bytes, left_out: Count) -> bytes:
        """Return the lines of a block that parse, as UTF-8, each with a line feed."""
        if self.encoding != "utf-8":
            block = self._decoded(block, left_out)
        block = self.split(block)
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if b'"' in block or b"\r" in block:
            kept, n_lines = _grammar(self.separator).findall(block), block.count(b"\n")
            left_out(n_lines - len(kept))
            block = b"".join(kept)
        return block if block.isascii() else block.decode("utf-8", "replace").encode()

    def _decoded(self, block: bytes, left_out: Count) -> bytes:
        """Return the lines of a block as UTF-8. Each is decoded by itself, so that no state of a decoder reaches the next one.

        A line that was cut inside a character is left out, and so is one with a line feed that is spelt in another way.
        """
        newline = _newline(self.encoding)
        if _is_charmap(self.encoding):  # the same, faster: every byte is a character by itself
            text = block.decode(self.encoding, "replace")
            if text.count("\n") == block.count(newline):
                return text.encode()
        lines = block.removesuffix(newline).split(newline)
        texts = [line.decode(self.encoding, "replace") for line in lines if len(line) % len(newline) == 0]
        kept = [text for text in texts if "\n" not in text]
        left_out(len(lines) - len(kept))
        return "".join(f"{text}\n" for text in kept).encode("utf-8", "replace")

    def _parsed(self, lines: bytes, columns: Sequence[str], left_out: Count) -> pa.Table:
        def skip(_: object) -> str:
            left_out(1)
            return "skip"

        # Arrow strips a byte order mark. We add one for it: otherwise it could strip one that belongs to the first cell of a block.
        marked = codecs.BOM_UTF8 + lines
        table = pa_csv.read_csv(
            pa.py_buffer(marked),
            read_options=pa_csv.ReadOptions(column_names=self.names, block_size=len(marked) + 1, use_threads=False),
            parse_options=pa_csv.ParseOptions(delimiter=self.separator, invalid_row_handler=skip),
            convert_options=pa_csv.ConvertOptions(
                include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False, check_utf8=False
            ),
        )
        if not self.delimiter.isascii():  # inside quotes it was no delimiter
            restored = [pc.replace_substring(column, _STAND_IN, self.delimiter) for column in table.columns]
            table = pa.Table.from_arrays(restored, names=table.column_names)
        return table.replace_schema_metadata({"decimal": self.decimal})


def _newline(encoding: str) -> bytes:
    return "\n".encode(encoding)


def _is_charmap(encoding: str) -> bool:
    """Return whether an encoding is a table of 256 characters."""
    maker = codecs.lookup(encoding).incrementaldecoder
    return encoding in {"ascii", "iso8859-1"} or (maker is not None and hasattr(sys.modules[maker.__module__], "decoding_table"))


def _grammar(delimiter: str) -> re.Pattern[bytes]:
    """Return the grammar of a line: cells are unquoted, or quoted with inner quotes doubled."""
    mark = re.escape(delimiter.encode())
    cell = rb'(?:"[^"\r\n]*+(?:""[^"\r\n]*+)*+"|[^"\r\n%b][^\r\n%b]*+|)' % (mark, mark)
    return re.compile(rb"^%b(?:%b%b)*+\n" % (cell, mark, cell), re.MULTILINE)
