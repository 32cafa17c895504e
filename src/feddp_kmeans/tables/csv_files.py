"""Delimited text files. A row is a line, and what it says depends on that line and on the header, which is public.

The header decides encoding, delimiter, decimal mark and names. Lines end in a line feed. Every cell is text. A line that does not parse,
or that has another number of cells than the header, is left out by itself; a quote that is never closed ends with its line.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_numbers, check_distinct

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


@dataclass(frozen=True)
class CsvFile:
    """One delimited text file with a header."""

    path: Path

    @property
    def encoding(self) -> str:
        """Return the encoding that the file's mark states, UTF-8 where it has none."""
        return "utf-16" if self._header.encoding.startswith("utf-16") else "utf-8"

    @property
    def delimiter(self) -> str:
        """Return the delimiter that the header has most of, outside quotes; a comma where it has none."""
        return max(DELIMITERS, key="".join(self._header.text.split('"')[::2]).count)

    @property
    def decimal(self) -> str:
        """Return the mark that a number may have for its decimal point: a comma too where a comma is not the delimiter."""
        return "." if self.delimiter == "," else ","

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        header = self._header.text.encode() + b"\n"
        if not self._line.fullmatch(header):
            raise InputError(f"{self.path.name} must start with one line that names its columns.")
        options = pa_csv.ReadOptions(block_size=len(header) + 1, use_threads=False)
        names: list[str] = pa_csv.read_csv(
            pa.py_buffer(header), read_options=options, parse_options=pa_csv.ParseOptions(delimiter=self.delimiter)
        ).column_names
        if _is_row(names, self.decimal):
            raise InputError(f"{self.path.name} must start with a line that names its columns, got a row of numbers.")
        check_distinct(names, self.path.name)
        return names

    def batches(self, columns: Sequence[str], rows: int, left_out: Count = silent) -> Iterator[pa.Table]:
        """Yield these columns as text, at most ``rows`` rows at a time; ``left_out`` takes how many lines were left out."""
        with self.path.open("rb") as file:
            file.seek(self._header.end)
            for block in line_blocks(file, _newline(self._header.encoding), left_out):
                if lines := self._sound(block, left_out):
                    table = self._parsed(lines, columns, left_out)
                    for start in range(0, table.num_rows, rows):
                        yield table.slice(start, rows)

    @cached_property
    def _header(self) -> "_Header":
        with self.path.open("rb") as file:
            start = file.read(3)
            mark = next((mark for mark in _MARKS if start.startswith(mark)), b"")
            encoding = _MARKS.get(mark, "utf-8")
            file.seek(len(mark))
            too_long: list[int] = []
            first = next(line_blocks(file, _newline(encoding), too_long.append), b"")
        line, newline, _ = first.partition(_newline(encoding))
        if too_long:
            raise InputError(f"{self.path.name} must start with one line that names its columns, got more than {MOST_LINE} bytes.")
        return _Header(encoding, line.decode(encoding).removesuffix("\r"), len(mark + line + newline))

    @cached_property
    def _line(self) -> re.Pattern[bytes]:
        """Return the grammar of a line: cells that do not start with a quote, or are quoted with their quotes doubled."""
        mark = re.escape(self.delimiter.encode())
        cell = rb'(?:"[^"\r\n]*+(?:""[^"\r\n]*+)*+"|[^"\r\n%b][^\r\n%b]*+|)' % (mark, mark)
        return re.compile(rb"^%b(?:%b%b)*+\n" % (cell, mark, cell), re.MULTILINE)

    def _sound(self, block: bytes, left_out: Count) -> bytes:
        """Return the lines of a block that parse, as UTF-8 with a line feed at the end of each."""
        encoding = self._header.encoding
        if encoding != "utf-8":
            lines = block.split(_newline(encoding))
            whole = [line for line in lines if len(line) % 2 == 0]  # else it was cut inside a character
            left_out(len(lines) - len(whole))
            block = "\n".join(line.decode(encoding, "replace") for line in whole).encode()
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if b'"' in block or b"\r" in block:
            kept, n_lines = self._line.findall(block), block.count(b"\n")
            if len(kept) < n_lines:
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


@dataclass(frozen=True)
class _Header:
    """The first line of a file, and what it decides."""

    encoding: str
    text: str
    end: int
    """Where in the file the rows start."""


def _newline(encoding: str) -> bytes:
    return "\n".encode(encoding)


def _is_row(names: list[str], decimal: str) -> bool:
    """Return whether a line of names looks like a row of a file without a header: numbers as names are counted or measured, in order."""
    numbers = as_numbers(pa.array(names, pa.string()), decimal)
    steps = np.sign(np.diff(numbers[np.isfinite(numbers)]))
    return bool(len(steps) and (steps[0] == 0 or (steps != steps[0]).any()))
