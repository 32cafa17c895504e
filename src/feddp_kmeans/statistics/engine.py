"""Which engine computes on points: numpy, or kernels that numba (extra ``fast``) compiles. Both give the same bits.

Numba starts in about a second, in which numpy does a hundred million numbers, so it is imported when that many have been seen and not
before. Compiling takes a quarter of a minute, once a machine: kernels are kept on disk. They release the interpreter's lock and start no
threads. Numba compiles anew when a kernel's own file changes, not when the file of a kernel that it calls does.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar

_WORTH_STARTING = 1 << 27
"""Numbers after which the rest of a process is likely to be long enough for numba's start to pay."""

_ANY_ORDER = frozenset({"contract", "nnan", "nsz", "reassoc"})
"""Liberties that change no bit of sums of whole numbers below 2**53: other orders, fused products, and NaN never occurs."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Engine(Enum):
    """Who does the arithmetic."""

    NUMPY = "numpy"
    NUMBA = "numba"


class _Choice:
    """The engine of this process: numpy until enough numbers have been seen."""

    def __init__(self) -> None:
        self.fixed: Engine | None = None
        self.seen = 0

    def compiled(self, numbers: int) -> bool:
        """Return whether to use compiled kernels for this many more numbers."""
        if self.fixed is not None:
            return self.fixed is Engine.NUMBA
        self.seen += numbers
        if self.seen >= _WORTH_STARTING:
            self.fixed = Engine.NUMBA if available() else Engine.NUMPY
        return self.fixed is Engine.NUMBA


_choice = _Choice()


def compiled(numbers: int) -> bool:
    """Return whether to use compiled kernels for this many more numbers. The answer changes at most once, from no to yes."""
    return _choice.compiled(numbers)


def available() -> bool:
    """Return whether numba can be imported."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Use this engine inside a ``with`` block, however few the numbers: for tests and measurements."""
    before, _choice.fixed = _choice.fixed, engine
    try:
        yield
    finally:
        _choice.fixed = before


def as_written(function: Function) -> Function:
    """Compile a kernel whose every operation is rounded as it is written."""
    return _jit(function, fastmath=False)


def any_order(function: Function) -> Function:
    """Compile a kernel whose sums may run in any order: sums that are exact, or of which only a bound on the error is used."""
    return _jit(function, fastmath=set(_ANY_ORDER))


def _jit(function: Function, **options: Any) -> Function:
    import numba

    options |= {"nogil": True, "error_model": "numpy"}
    try:
        made: Function = numba.njit(function, cache=True, **options)
    except RuntimeError:  # no folder to keep compiled code in
        made = numba.njit(function, **options)
    return made
