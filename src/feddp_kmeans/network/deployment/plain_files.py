"""Files with the plain data of one object, and the format of the file."""

import json
from pathlib import Path
from typing import TypeVar

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_format, read_object
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.network.secure_sum.fields import Plain

FORMAT = 1
"""Of all these files."""

Kept = TypeVar("Kept", bound=Plain)


def write_plain(path: Path, made: Plain, *, mode: int = 0o644) -> None:
    """Write an object to a file, as a whole."""
    write_whole(path, (json.dumps({"format": FORMAT} | made.to_dict(), indent=2) + "\n").encode(), mode=mode)


def read_plain(path: Path, kind: type[Kept], rule: str) -> Kept:
    """Return the object in a file. A refusal says what the file must do: ``rule``, as in "hold a signature"."""
    given = read_object(path, rule)
    check_format(given, FORMAT, path.name)
    given.pop("format", None)
    try:
        return kind.from_dict(given)
    except FedDPError as error:
        raise InputError(f"{path.name} must {rule}: {error}") from None
