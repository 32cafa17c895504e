"""Which engine computes on points: compiled kernels where the package has them, else numpy. Both give the same bits."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

from feddp_kmeans.statistics import kernels


class Engine(Enum):
    """What does the arithmetic."""

    NUMPY = "numpy"
    COMPILED = "compiled"


_in_use: ContextVar[Engine | None] = ContextVar("engine in use", default=None)


def compiled() -> bool:
    """Return whether to use compiled kernels: if there are any, unless an engine is in use."""
    chosen = _in_use.get()
    return available() if chosen is None else chosen is Engine.COMPILED


def available() -> bool:
    """Return whether the package has compiled kernels for this machine."""
    return kernels.library() is not None


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Use this engine inside a ``with`` block."""
    before = _in_use.set(engine)
    try:
        yield
    finally:
        _in_use.reset(before)
