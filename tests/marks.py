"""Tables full of marked cells, ways to break them, and a search for the marks in all that comes out."""

import io
import re
import struct
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import dump_svmlight_file

# In two parts, so that a traceback's line of this file is no mark.
WORD, NUMBER = "ZQX" + "MARK", float("9135" + "71824.640625")
# However it is printed; long enough that a noisy number in a file is not one by chance (six digits were, once in some ten runs).
_NUMBERS = (str(NUMBER)[:9], f"{NUMBER:.0f}", f"{NUMBER:,.0f}"[:10], f"{NUMBER:.9e}"[:9], f"{NUMBER:g}")
MARKS = re.compile(
    b"|".join(
        re.escape(mark)
        for text in (WORD, *_NUMBERS)
        for mark in (text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be"), text.encode().hex().encode())
    )
    + b"|"
    + b"|".join(re.escape(struct.pack(kind, NUMBER)) for kind in ("<d", ">d"))
)
ROWS = 40
FORMATS = ("csv", "tsv", "parquet", "arrow", "npy", "npz", "svm")
"""tsv is UTF-16."""


def marked(suffix, columns=("a", "b", "w")):
    """Return the content of a marked table; formats without names hold the numbers only."""
    numbers = np.full((ROWS, 2), NUMBER)
    words = [f"{WORD}{i}" for i in range(ROWS)]
    table = pa.table({columns[0]: numbers[:, 0], columns[1]: numbers[:, 1], columns[2]: words})
    buffer = io.BytesIO()
    if suffix in {"csv", "tsv"}:
        mark = "," if suffix == "csv" else "\t"
        lines = [mark.join(columns), *(mark.join((str(NUMBER), str(NUMBER), word)) for word in words)]
        return "\n".join(lines).encode("utf-8" if suffix == "csv" else "utf-16")
    if suffix == "parquet":
        pq.write_table(table, buffer)
    elif suffix == "arrow":
        with pa.ipc.new_file(buffer, table.schema) as file:
            file.write_table(table)
            file.close()
            return buffer.getvalue()
    elif suffix == "npy":
        np.save(buffer, numbers)
    elif suffix == "npz":
        np.savez(buffer, numbers)
    else:
        dump_svmlight_file(numbers, np.full(ROWS, NUMBER), buffer, zero_based=False)
    return buffer.getvalue()


def write(path):
    """Write a marked table of the format that the name says."""
    remove(path)
    path.write_bytes(marked(path.suffix[1:]))


def remove(path):
    """Remove a file, or a folder in its place."""
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)


def _changed(change):
    def break_it(path):
        content = change(path.read_bytes(), path)
        path.unlink()  # not in place: a file that is mapped must not change under its reader
        path.write_bytes(content)

    return break_it


def _folder(path):
    """Put a folder in the place of a file: unlike one without permission, nobody can read it, not even root."""
    path.unlink()
    path.mkdir()


def _words(content, path):
    if path.suffix in {".csv", ".tsv"}:
        return ("a,b,w\n" + f"{WORD},{WORD},{WORD}\n" * ROWS).encode()
    return (f"{WORD} {NUMBER}:{WORD}\n" * ROWS).encode()


def _ragged(content, path):
    if path.suffix in {".csv", ".tsv"}:
        encoding = "utf-8" if path.suffix == ".csv" else "utf-16-le"
        extra = f'\n{WORD},{NUMBER},{WORD},{NUMBER}\n"{WORD}\n{NUMBER}\n'
        return content + extra.encode(encoding) + b"\xff\n"
    return content + f"\n{WORD} {NUMBER}".encode()


def _columns(content, path):
    return marked(path.suffix[1:], columns=("a", "q", "w"))


def _headless(content, path):
    end = "\n".encode("utf-16-le" if path.suffix == ".tsv" else "utf-8")
    mark = b"\xff\xfe" if path.suffix == ".tsv" else b""
    return mark + content.split(end, 1)[-1]


BREAKS = {
    "truncated": _changed(lambda content, _: content[: len(content) // 2]),
    "truncated in a row": _changed(lambda content, _: content[:-7]),
    "emptied": _changed(lambda *_: b""),
    "deleted": lambda path: path.unlink(),
    "a folder": _folder,
    "words": _changed(_words),
    "ragged": _changed(_ragged),
    "other columns": _changed(_columns),
    "no header": _changed(_headless),
    "noise": _changed(lambda content, _: content[:60] + content[60:][::-1]),
}


def caught(call, seen):
    """Run a call; what it raises is printed as Python prints it, with its arguments, and goes to ``seen``."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - whatever it is
        seen.append("".join(traceback.format_exception(error)))
        seen.append(repr(error.args))
        return None


def search(seen, folder=None, spared=()):
    """Return the marks in texts, bytes and the files of a folder, but in these."""
    found = []
    for text in seen:
        content = text if isinstance(text, bytes) else str(text).encode("utf-8", "replace")
        if MARKS.search(content):
            found.append(text)
    files = [] if folder is None else [path for path in folder.rglob("*") if path.is_file()]
    kept = [path for path in files if not any(path.is_relative_to(one) for one in spared)]
    return [*found, *(path for path in kept if MARKS.search(path.read_bytes()))]
