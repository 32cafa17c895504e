"""Delimited text files. A row is a line, and what it says depends on that line and on the header, which is public.

The header decides encoding, delimiter, decimal mark and names. Lines end in a line feed. Every cell is text. A line that does not parse,
or that has another number of cells than the header, is left out by itself; a quote that is never closed ends with its line.
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
"""Bytes of the longest line that is read; a longer one is left out."""
_BLOCK = 1 << 19
"""Bytes that are read at once; at most ``MOST_LINE``."""

Count = Callable[[int], object]
"""Takes how many lines were left out."""

DELIMITERS = ",;\t|"
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def silent(_: object) -> None:
    """Take something and do nothing with it."""


def line_blocks(file: BinaryIO, newline: bytes = b"\n", left_out: Count = silent) -> Iterator[bytes]:
    """Yield blocks of whole lines, each with its end; one end is added where the last line has none."""
    carriage = newline.replace(b"\n", b"\r")  # part of the end of a line, where it stands there
    rest, split = b"", len(newline) - 1

    def is_long(line: bytes) -> bool:
        return len(line.removesuffix(carriage)) > MOST_LINE

    while part := file.read(_BLOCK):
        block, end, rest = (rest + part).rpartition(newline)
        block += end
        first, _, others = block.partition(newline)
        if is_long(first):  # it began in an earlier block: no other line of this one can be too long
            block = others
            left_out(1)
        if block:
            yield block
        if len(rest) > MOST_LINE + len(carriage) + split:  # too long whatever comes; its last bytes may begin a newline
            rest = b"x" * (MOST_LINE + 1) + rest[len(rest) - split :]
    if is_long(rest):
        left_out(1)
    elif rest:
        yield rest + newline


def read_header(path: Path) -> "CsvFile":
    """Return a delimited text file after a look at its first line, which decides how the others are read."""
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
    """What the file's mark states, UTF-8 where it has none."""
    delimiter: str
    """What the header has most of, outside quotes; a comma where it has none."""
    names: list[str]
    start: int
    """Where in the file the rows start."""

    @property
    def decimal(self) -> str:
        """Return the mark that a number may have for its decimal point: a comma too where a comma is not the delimiter."""
        return "." if self.delimiter == "," else ","

    def batches(self, columns: Sequence[str], rows: int, left_out: Count = silent) -> Iterator[pa.Table]:
        """Yield these columns as text, at most ``rows`` rows at a time; ``left_out`` takes how many lines were left out."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            for block in line_blocks(file, _newline(self.encoding), left_out):
                if lines := self._sound(block, left_out):
                    table = self._parsed(lines, columns, left_out)
                    for start in range(0, table.num_rows, rows):
                        yield table.slice(start, rows)

    def _sound(self, block: bytes, left_out: Count) -> bytes:
        """Return the lines of a block that parse, as UTF-8 with a line feed at the end of each."""
        if self.encoding != "utf-8":
            lines = block.split(_newline(self.encoding))
            whole = [line for line in lines if len(line) % 2 == 0]  # else it was cut inside a character
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

        # Arrow takes a mark off what it is given: off its own, lest it take off one that the first line of some block begins with.
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
    """Return how a line looks: cells that do not start with a quote, or are quoted with their quotes doubled."""
    mark = re.escape(delimiter.encode())
    cell = rb'(?:"[^"\r\n]*+(?:""[^"\r\n]*+)*+"|[^"\r\n%b][^\r\n%b]*+|)' % (mark, mark)
    return re.compile(rb"^%b(?:%b%b)*+\n" % (cell, mark, cell), re.MULTILINE)


def _is_row(names: list[str], decimal: str) -> bool:
    """Return whether a line of names looks like a row of a file without a header: numbers as names are counted or measured, in order."""
    numbers = as_numbers(pa.array(names, pa.string()), decimal)
    steps = np.sign(np.diff(numbers[np.isfinite(numbers)]))
    return bool(len(steps) and (steps[0] == 0 or (steps != steps[0]).any()))
