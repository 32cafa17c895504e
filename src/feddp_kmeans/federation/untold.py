"""What goes wrong once private data were touched: nobody is told what it says, only of what kind it is and where in our code it came up."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


class DataError(Exception):
    """Something went wrong once the data were touched. What it was is this error's cause, and is shown to nobody."""


@contextmanager
def touching_data() -> Iterator[None]:
    """Make whatever goes wrong in the block a failure that says nothing: from here on a message could quote the data."""
    try:
        yield
    except Exception as error:
        raise DataError from error


def where_of(error: BaseException) -> str:
    """Return the kind of an error and where in this package it came up, and nothing of what it says: that may quote the data."""
    while isinstance(error, DataError) and error.__cause__ is not None:
        error = error.__cause__
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_PACKAGE)]
    place = f" in {Path(ours[-1].filename).relative_to(_PACKAGE)}, line {ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}{place}"
