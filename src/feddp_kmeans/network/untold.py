"""What goes wrong once private data were touched: nobody is told what it says, only of what kind it is and where in our code it came up."""

from collections.abc import Iterator
from contextlib import contextmanager

from feddp_kmeans.errors import kind_and_place


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
    """Return the kind and the place of what went wrong; of its cause, if the data were touched."""
    while isinstance(error, DataError) and error.__cause__ is not None:
        error = error.__cause__
    return kind_and_place(error)
