"""How text files and workbooks are read: public options, the same for all files of a command. The file decides what they leave open."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feddp_kmeans.errors import InputError

_NAMES = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
"""What people type for characters that a shell does not pass on easily."""
_BY_MARK = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Encodings whose byte order mark is looked for in any case; without one they are read as these."""


@dataclass(frozen=True)
class Reading:
    """The public options of reading tables. None: as the file says."""

    delimiter: str | None = None
    """One character between cells, or its name."""
    encoding: str | None = None
    """Name of a text encoding, as Python spells it; a byte order mark in a file goes first."""
    sheet: str | None = None
    """Name of the sheet of Excel workbooks that have several."""

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", _delimiter(self.delimiter))
        if self.encoding is not None:
            object.__setattr__(self, "encoding", _encoding(self.encoding))
        if self.sheet is not None and not (isinstance(self.sheet, str) and self.sheet):
            raise InputError(f"sheet must be the name of a sheet, got {self.sheet!r:.80}.")

    @classmethod
    def of(cls, given: "Reading | Mapping[str, Any]") -> "Reading":
        """Return the options that plain data state; options stay as they are."""
        return given if isinstance(given, cls) else cls(**dict(given))  # type: ignore[arg-type]


AS_THE_HEADER_SAYS = Reading()


def _delimiter(given: Any) -> str:
    mark = _NAMES.get(given, given) if isinstance(given, str) else ""
    if len(mark) != 1 or mark.isalnum() or mark in '"\r\n\0' or not (mark.isascii() or mark.isprintable()):
        rule = "one character that is no letter, digit, double quote or line break"
        raise InputError(f"delimiter must be {rule}, or a name such as tab, got {given!r:.80}.")
    return mark


def _encoding(given: Any) -> str:
    """Return an encoding that works line by line: a line feed is as long as a letter, and the same bytes wherever it stands."""
    try:
        name = codecs.lookup(given).name
        name = _BY_MARK.get(name, name)
        letter, end = "a".encode(name), "\n".encode(name)
        if len(letter) == len(end) and "a\n".encode(name) == letter + end and end.decode(name, "replace") == "\n":
            return name
    except (LookupError, UnicodeError, TypeError, ValueError):
        pass
    raise InputError(f"encoding must be the name of a text encoding, such as utf-8, latin-1, cp1252 or utf-16, got {given!r:.80}.")
