"""The log of the package as tests read it."""

import logging
from contextlib import contextmanager


@contextmanager
def logged(lines=None, level=logging.INFO):
    """Yield a list that takes what the package logs meanwhile."""
    lines = [] if lines is None else lines
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    package = logging.getLogger("feddp_kmeans")
    before = package.level
    package.setLevel(level)
    package.addHandler(handler)
    try:
        yield lines
    finally:
        package.removeHandler(handler)
        package.setLevel(before)
