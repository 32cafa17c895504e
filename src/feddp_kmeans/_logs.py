"""The log of this package for people and programs: lines with a time, or JSON lines with named fields. No field holds a value of data."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from feddp_kmeans.errors import FedDPError, InputError, without_text

PACKAGE = "feddp_kmeans"
LOG = "log.jsonl"
"""Name of a kept log."""
_MOST_BYTES, _MOST_FILES = 1 << 20, 5
_ABOUT = "feddp_about"


def about(event: str, **fields: Any) -> dict[str, Any]:
    """Return the ``extra`` of a log line: what happened, and public facts of it; facts that are None or empty are left out."""
    return {_ABOUT: {"event": event} | {name: value for name, value in fields.items() if value not in (None, "")}}


class TimedLines(logging.Formatter):
    """One line of text per record, with the local time. What cannot be printed, such as the escape codes of a terminal, is replaced."""

    def __init__(self, *, times: bool = True) -> None:
        super().__init__("%(asctime)s %(message)s" if times else None, "%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in super().format(record))


class JsonLines(logging.Formatter):
    """One JSON object per record: time in UTC, level, event, its facts, and the line that people read."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object on one line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = getattr(record, _ABOUT, {"event": "note"})
        return json.dumps({"time": when, "level": record.levelname.lower()} | facts | {"message": record.getMessage()}, default=str)


class _KeptLog(RotatingFileHandler):
    """A file of JSON lines that only its owner can read, of bounded size. It is made when its folder is there; a full disk ends no run."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=_MOST_BYTES, backupCount=_MOST_FILES - 1, encoding="utf-8", delay=True)
        self.setFormatter(JsonLines())
        self._folder = path.parent

    def _open(self) -> Any:
        return open(self.baseFilename, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if self._folder.is_dir():
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Do nothing: the line is on the terminal too."""


@contextmanager
def kept_log(path: Path, *, makes_folder: bool = False) -> Iterator[None]:
    """Keep the log of this package in a file while the block runs, and how the block ended."""
    if makes_folder:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InputError(f"{str(path.parent)!r} must be a folder that can be written, got {error.strerror}.") from None
    handler, package = _KeptLog(path), logging.getLogger(PACKAGE)
    package.addHandler(handler)
    try:
        yield
    except BaseException as error:
        _ended(handler, error)
        raise
    finally:
        package.removeHandler(handler)
        handler.close()


def _ended(handler: logging.Handler, error: BaseException) -> None:
    """Write why the block ended: the text of our own errors, which is public; of others only their kind."""
    why = str(error) if isinstance(error, FedDPError) else "interrupted" if isinstance(error, KeyboardInterrupt) else ""
    if why or isinstance(error, Exception):
        record = logging.LogRecord(PACKAGE, logging.ERROR, __file__, 0, "ended: %s", (why or without_text(error),), None)
        setattr(record, _ABOUT, {"event": "ended", "reason": why or without_text(error)})
        handler.handle(record)
