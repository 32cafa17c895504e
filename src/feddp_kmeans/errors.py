"""The exceptions of this package. Each message names the thing, the rule and the value, and never a private cell.

::

    FedDPError                      all of them: the command line shows one in one line
      InputError (ValueError)       an argument, option, setting or file that breaks a rule; nothing was spent
        UnreadableFileError         a file that cannot be read as what its name says
        EmptyMessageError           a message between machines without one record of bytes
      BudgetError (RuntimeError)    a release or a run beyond its plan or its limit
      CudaError (RuntimeError)      a kernel that the graphics card of this machine cannot run

``network``'s DataError is not in the tree: it hides errors that private data caused, and never leaves the site.
"""

import os
import traceback
from pathlib import Path


class FedDPError(Exception):
    """Anything that this package refuses or gives up on."""


class InputError(FedDPError, ValueError):
    """Input that was refused before any data was touched or any budget spent."""


class UnreadableFileError(InputError):
    """A file that cannot be read as what its name says."""


class EmptyMessageError(InputError):
    """A message that does not hold one record of bytes."""


class BudgetError(FedDPError, RuntimeError):
    """A release that the plan does not hold, or a run that the limit does not allow."""


class CudaError(FedDPError, RuntimeError):
    """A kernel could not be compiled or launched."""


def kind_and_place(error: BaseException) -> str:
    """Return the kind of an error and where in this package it was raised. Its text is left out, since it may quote data."""
    here = Path(__file__).parent
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    ours = [f" in {Path(name).relative_to(here)}, line {line}" for name, line in frames if Path(name).is_relative_to(here)]
    return type(error).__name__ + (ours[-1] if ours else "")


def without_text(error: BaseException) -> str:
    """Return what is known of an unexpected error without its text: the system's message and the file, or the error's kind and place."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno) + (f": {error.filename}" if isinstance(error.filename, str) else "")
    return kind_and_place(error)
