"""The exceptions of this package, and its warning. Each message names the thing, the rule and the value, and never a private cell.

::

    FedDPError                      all of them: the command line shows one in one line
      InputError (ValueError)       an argument, option, setting or file that breaks a rule; nothing was spent
        UnreadableFileError         a file that cannot be read as what its name says
        EmptyMessageError           a message between machines without one record of bytes
        NoNumberError (TypeError)   cells that hold neither numbers nor text
      BudgetError (RuntimeError)    a release or a run beyond its plan or its limit
      CudaError (RuntimeError)      a kernel that the graphics card of this machine cannot run

    FedDPWarning (UserWarning)      what a reader must know before believing a result: ``fit`` warns once per remark

``network``'s DataError is not in the tree: it hides errors that private data caused, and never leaves the site.
"""

import os
import traceback
from pathlib import Path


class FedDPError(Exception):
    """Anything that this package refuses or gives up on.

    Examples
    --------
    >>> from feddp_kmeans import FedDPError, FedDPKMeans
    >>> try:
    ...     FedDPKMeans(epsilon=-1.0).fit([[0.0, 1.0]])
    ... except FedDPError as error:
    ...     print(error)
    epsilon must be positive, got -1.0.

    """


class InputError(FedDPError, ValueError):
    """Input that was refused before any data was touched or any budget spent.

    Examples
    --------
    >>> from feddp_kmeans import FedDPKMeans
    >>> FedDPKMeans(n_clusters=0).fit([[0.0, 1.0]])
    Traceback (most recent call last):
    feddp_kmeans.errors.InputError: n_clusters must be a whole number of at least 1 or 'auto', got 0.

    """


class UnreadableFileError(InputError):
    """A file that cannot be read as what its name says."""


class EmptyMessageError(InputError):
    """A message that does not hold one record of bytes."""


class NoNumberError(InputError, TypeError):
    """Cells that hold neither numbers nor text: for these scikit-learn's estimators raise a TypeError."""


class BudgetError(FedDPError, RuntimeError):
    """A release that the plan does not hold, or a run that the limit does not allow.

    Examples
    --------
    All runs on the same table, booked in one file, may spend 1.5 together: the second one of epsilon 1 is refused.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from feddp_kmeans import BudgetError, FedDPKMeans
    >>> table = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = FedDPKMeans(2, epsilon=1.0, odometer=Path(folder) / "budget.jsonl", limit=1.5).fit(table)
    ...     try:
    ...         model.fit(table)
    ...     except BudgetError:
    ...         print("refused: nothing was released")
    refused: nothing was released

    """


class CudaError(FedDPError, RuntimeError):
    """A kernel could not be compiled or launched."""


class FedDPWarning(UserWarning):
    """A result that was made in full, and of which something must be known before it is believed: it may be noise only.

    Decided from released numbers and public facts. ``clustering_.useless`` says whether the whole result says nothing.

    Examples
    --------
    Twenty people are too few: all that is seen is noise.

    >>> import warnings
    >>> import numpy as np
    >>> from feddp_kmeans import FedDPKMeans, FedDPWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = FedDPKMeans(2, epsilon=0.1, random_state=0).fit(np.arange(40.0).reshape(20, 2))
    >>> issubclass(caught[0].category, FedDPWarning), model.clustering_.useless is not None
    (True, True)

    """


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
