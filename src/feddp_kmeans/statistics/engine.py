"""Which engine computes on points: numpy, or kernels compiled by numba (extra ``fast``). Both give the same bits.

Numba takes about a second to start, so only silos that are large enough use it; the choice depends on the silo's size and on nothing that
ran before. Compiling takes a quarter of a minute, once per machine: kernels are kept on disk. They release the interpreter's lock and
start no threads. Outside a silo (the server's few points) numpy computes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, TypeVar

_WORTH_STARTING = 1 << 22
"""Numbers of a silo from which numba is worth its start. At 4 to 10 million numbers kernels saved 0.3 to 1.8 CPU seconds of a run, and
their start took 0.6."""

_ANY_ORDER = frozenset({"contract", "nnan", "nsz", "reassoc"})
"""Freedoms that change no bit of sums of whole numbers below 2**53: other orders and fused products; NaN never occurs."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Engine(Enum):
    """What does the arithmetic."""

    NUMPY = "numpy"
    NUMBA = "numba"


_in_use: ContextVar[Engine | None] = ContextVar("engine in use", default=None)


def compiled() -> bool:
    """Return whether to use compiled kernels."""
    return _in_use.get() is Engine.NUMBA


def engine_for(numbers: int) -> Engine:
    """Return the engine for all queries of a silo that holds about this many numbers; inside ``using``, that engine."""
    chosen = _in_use.get()
    if chosen is not None:
        return chosen
    return Engine.NUMBA if numbers >= _WORTH_STARTING and available() else Engine.NUMPY


def available() -> bool:
    """Return whether numba can be imported."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Use this engine inside a ``with`` block, whatever the size of a silo."""
    before = _in_use.set(engine)
    try:
        yield
    finally:
        _in_use.reset(before)


def as_written(function: Function) -> Function:
    """Return the compiled kernel, each operation rounded as written."""
    return _jit(function, fastmath=False)


def any_order(function: Function) -> Function:
    """Return the compiled kernel, whose sums may run in any order: they are exact, or only a bound on their error is used."""
    return _jit(function, fastmath=set(_ANY_ORDER))


def _jit(function: Function, **options: Any) -> Function:
    import numba

    options |= {"nogil": True, "error_model": "numpy"}
    try:
        made: Function = numba.njit(function, cache=True, **options)
    except RuntimeError:  # no folder to keep compiled code in
        made = numba.njit(function, **options)
    return made
